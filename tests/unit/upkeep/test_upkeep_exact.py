"""Extending, joining and dropping give the map of the same grid, projections, lessons and weights, learned anew."""

from dataclasses import replace

import numpy as np
import pytest

from kept_up import (
    CLOSE,
    SYSTEM,
    assert_learned,
    assert_same_memory,
    held,
    mapped,
    plainly,
    traverse,
    views_of,
)
from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.places.mapped import learn_each
from tmapr.system import make_map
from tmapr.traverses import gather
from tmapr.upkeep.changing import drop, extend, join

SUBSETS = [(), ("unscented",), ("unscented", "mixture", "attenuation")]


def using(*extensions):
    return changed(SYSTEM, {"places.use": list(extensions)})


def west(environment):
    return environment.memory.positions[:, 0] < 40.0


def test_a_map_knows_the_order_and_the_weights_of_its_lessons():
    made = mapped("noon", "dusk")
    views = views_of(made)
    assert [name for name, _, _ in views] == sorted((name for name, _, _ in views), key=["noon", "dusk"].index)
    assert_learned(made, plainly(made, views))


@pytest.mark.parametrize("use", SUBSETS)
def test_an_extended_map_is_what_mapping_both_at_once_gives_with_its_projections(use):
    system = using(*use)
    old, both = held("noon", system=system), gather([traverse("noon"), traverse("dusk")])
    made = extend(system, old, [traverse("dusk")]).environment
    first = gather([traverse("noon")])
    classifier = type(old.environment.classifier()).fit(system.places, first.descriptors, first.positions)
    learned = learn_each(classifier, both.descriptors, both.positions, iter)
    for name, array in classifier.arrays().items():
        if not name.startswith("ledger."):
            np.testing.assert_array_equal(made.initial[name], array, err_msg=name)
    np.testing.assert_array_equal(made.lessons.weights[np.argsort(made.lessons.numbers)], learned.weights)
    assert_same_memory(made, mapped("noon", "dusk", system=system))


def test_an_extended_map_is_the_plain_recursion_of_its_lessons():
    made = extend(SYSTEM, held("noon"), [traverse("dusk")]).environment
    assert_learned(made, plainly(mapped("noon"), views_of(made)))


@pytest.mark.parametrize("use", SUBSETS)
def test_a_map_without_a_region_is_the_plain_recursion_of_what_is_left(use):
    system = using(*use)
    old = held("noon", "dusk", system=system)
    gone = west(old.environment)
    made = drop(system, old, gone, "the west")
    lost = {(name, frame) for name, frame in _list_rows(old.environment, gone)}
    left = [view for view in views_of(old.environment) if (str(view[0]), int(view[1])) not in lost]
    assert made.told == ()
    assert len(made.environment.memory) == len(left) == int((~gone).sum())
    assert_learned(made.environment, plainly(old.environment, left, system))


def _list_rows(environment, rows):
    memory = environment.memory
    return zip(memory.sequences[rows].tolist(), memory.frames[rows].tolist(), strict=True)


def test_dropping_a_traverse_undoes_the_extension_by_it():
    old = held("noon")
    longer = extend(SYSTEM, old, [traverse("dusk")]).environment
    names = ("noon", "dusk")
    both = replace(held(*names), environment=longer)
    again = drop(SYSTEM, both, longer.memory.sequences == "dusk", "dusk").environment
    assert_same_memory(again, old.environment)
    ours, theirs = again.classifier().ridge, old.environment.classifier().ridge
    np.testing.assert_allclose(ours.covariance, theirs.covariance, **CLOSE)
    np.testing.assert_allclose(ours.weights[:, : theirs.classes], theirs.weights, **CLOSE)
    np.testing.assert_allclose(ours.weights[:, theirs.classes :], 0.0, atol=1e-12)
    np.testing.assert_array_equal(again.initial["variation.direction"], old.environment.initial["variation.direction"])
    count = theirs.classes
    for name in ("counts", "means", "variances"):
        np.testing.assert_array_equal(
            again.initial[f"mixtures.{name}"][:count], old.environment.initial[f"mixtures.{name}"]
        )


def test_maps_with_one_grid_and_projections_are_joined_with_the_weights_they_have():
    base = held("noon")
    dusk, rain = (
        replace(held("noon", name), environment=extend(SYSTEM, base, [traverse(name)]).environment)
        for name in ("dusk", "rain")
    )
    made = join(SYSTEM, dusk, rain)
    views = views_of(dusk.environment) + [view for view in views_of(rain.environment) if view[0] == "rain"]
    assert [line for line in made.told if "learned again" in line] == []
    assert_learned(made.environment, plainly(base.environment, views))
    assert len(made.environment.memory) == len(views)


def test_a_map_of_another_grid_is_learned_again_with_the_grid_of_the_first():
    made = join(SYSTEM, held("noon"), held("rain"))
    assert any("learned again with those of runs/noon" in line for line in made.told)
    again = extend(SYSTEM, held("noon"), [traverse("rain")]).environment
    for name, array in again.initial.items():
        np.testing.assert_array_equal(made.environment.initial[name], array, err_msg=name)
    assert_same_memory(made.environment, again)


def test_without_percepts_what_is_learned_again_is_learned_from_the_maps_float32_and_that_is_told():
    old = held("noon", "dusk", there=False)
    gone = west(old.environment)
    made = drop(SYSTEM, old, gone, "the west")
    exact = drop(SYSTEM, held("noon", "dusk"), gone, "the west").environment
    assert ["float32" in line for line in made.told] == [True]
    ours, theirs = made.environment.classifier().ridge, exact.classifier().ridge
    np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-6)
    assert np.abs(ours.weights - theirs.weights).max() > 1e-9
    assert_same_memory(made.environment, exact)


def test_the_minimax_recursion_is_learned_again_one_by_one():
    system = changed(SYSTEM, {"places.attenuation.mode": "minimax"})
    old = held("noon", "dusk", system=system)
    made = drop(system, old, old.environment.memory.sequences == "dusk", "dusk").environment
    alone = make_map(system, traverse("noon"))
    count = len(alone.initial["grid.cells"])
    np.testing.assert_allclose(made.classifier().ridge.weights[:, :count], alone.classifier().ridge.weights, **CLOSE)


def test_places_keep_their_numbers_and_new_ones_come_behind():
    old = mapped("noon").initial["grid.cells"]
    longer = extend(SYSTEM, held("noon"), [traverse("rain")]).environment
    cells = longer.initial["grid.cells"]
    assert len(cells) > len(old)
    np.testing.assert_array_equal(cells[: len(old)], old)
    shorter = drop(SYSTEM, held("noon"), west(mapped("noon")), "the west").environment
    np.testing.assert_array_equal(shorter.initial["grid.cells"], old)


def test_a_new_map_names_its_parents_and_what_was_done():
    first = extend(SYSTEM, held("noon"), [traverse("dusk")]).environment
    second = join(SYSTEM, replace(held("noon", "dusk"), environment=first), held("rain")).environment
    assert [step.action for step in second.past] == ["extend", "join"]
    assert second.past[0].parents == (mapped("noon").digest,)
    assert second.past[1].parents == (first.digest, mapped("rain").digest)
    assert len({second.digest, first.digest, mapped("noon").digest}) == 3
    assert sorted(second.made_from) == ["dusk", "noon", "rain"]


REFUSED = {
    "a traverse twice": (lambda: extend(SYSTEM, held("noon"), [traverse("noon")]), "noon: is in runs/noon already"),
    "a map twice": (lambda: join(SYSTEM, held("noon"), held("noon")), "nothing to join"),
    "nothing": (lambda: drop(SYSTEM, held("noon"), np.full(len(mapped("noon").memory), False), "x"), "none of its"),
    "everything": (lambda: drop(SYSTEM, held("noon"), np.full(len(mapped("noon").memory), True), "x"), "all of its"),
    "other places": (
        lambda: join(SYSTEM, held("noon"), held("rain", system=using("mixture"))),
        "runs/rain: was mapped with places.use",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_in_a_line(case):
    attempt, words = REFUSED[case]
    with pytest.raises(InputError, match=words):
        attempt()


def test_a_name_means_one_traverse_in_both_maps():
    other = traverse("noon", seed=2)
    second = replace(held("noon"), name="runs/other", environment=make_map(SYSTEM, other))
    with pytest.raises(InputError, match=r"runs/other: frame .* of noon is another one than in runs/noon"):
        join(SYSTEM, held("noon"), second)


def test_maps_in_other_frames_are_not_joined():
    elsewhere = replace(mapped("rain"), frame=replace(mapped("rain").frame, kind="utm", zone="52N", origin=(3e5, 4e6)))
    with pytest.raises(InputError, match=r"runs/rain: has positions in UTM 52N .*, runs/noon in a local frame"):
        join(SYSTEM, held("noon"), replace(held("rain"), environment=elsewhere))
