"""Classifiers that are merged, and lessons that are unlearned: what is left equals the batch solution of the rest."""

import numpy as np
import pytest

from ridges import relative
from roads import (
    MINIMAX,
    PLACES,
    assert_same_bits,
    batch_weights,
    chosen,
    copied,
    drive,
    every_subset,
    fresh,
    mapped,
    teach,
)
from tmapr.exceptions import InputError, StateError
from tmapr.places.classifier import Classifier, merge
from tmapr.places.projection import Projection


@every_subset
def test_unlearning_a_lesson_restores_covariance_and_weights(use, rng):
    classifier = mapped(chosen(use))
    before = classifier.ridge.covariance, classifier.ridge.weights.copy()
    for lesson in teach(classifier, drive(rng, 60)):
        classifier.unlearn(lesson)
    # Places beyond the map's were added; unlearned, their columns are empty again.
    assert relative(classifier.ridge.covariance, before[0]) < 1e-9
    assert relative(classifier.ridge.weights[:, :PLACES], before[1]) < 1e-9
    np.testing.assert_allclose(classifier.ridge.weights[:, PLACES:], 0.0, atol=1e-9 * np.abs(before[1]).max())


def two_robots(settings, rng):
    """A mapped base, what two robots made of it on roads that partly overlap, and every lesson with its position."""
    base, frames = mapped(settings), drive(np.random.default_rng(1), 40)
    taught = list(zip(teach(fresh(settings), frames), frames[1], strict=True))
    robots = [copied(base, settings) for _ in range(2)]
    east, north = drive(rng, 30, start=(60.0, 0.0)), drive(rng, 30, start=(100.0, -20.0), heading=(0.0, 1.0))
    for robot, own in zip(robots, (east, north), strict=True):
        for road in (own, drive(rng, 10, start=(90.0, 0.0))):
            taught += zip(teach(robot, road), road[1], strict=True)
    return base, robots, taught


def assert_batch(merged, taught, settings):
    places = [merged.grid.find(position) for _, position in taught]
    expected = batch_weights([lesson for lesson, _ in taught], places, len(merged.grid), settings.ridge)
    assert relative(merged.ridge.weights, expected) <= 1e-8


@every_subset
def test_merging_equals_batch_ridge_over_the_base_and_both_streams_and_learns_on(use, rng):
    settings = chosen(use)
    base, robots, taught = two_robots(settings, rng)
    merged = merge(robots, base)
    assert_batch(merged, taught, settings)
    road = drive(rng, 10, start=(130.0, 0.0))
    taught += zip(teach(merged, road), road[1], strict=True)
    assert_batch(merged, taught, settings)


@every_subset
def test_merging_unites_places_by_their_cell_and_leaves_the_states_alone(use, rng):
    base, robots, _ = two_robots(chosen(use), rng)
    before = [each.arrays() for each in (base, *robots)]
    merged = merge(robots, base)
    cells = [tuple(cell) for cell in merged.grid.cells.tolist()]
    assert len(cells) == len(set(cells)) < sum(len(robot.grid) for robot in robots) - len(base.grid)
    assert set(cells) == {tuple(cell) for robot in robots for cell in robot.grid.cells.tolist()}
    np.testing.assert_array_equal(merged.grid.cells[: len(base.grid)], base.grid.cells)
    for each, arrays in zip((base, *robots), before, strict=True):
        assert_same_bits(each.arrays(), arrays)


@every_subset
def test_a_merged_classifier_knows_what_either_robot_saw(use, rng):
    base, robots, _ = two_robots(chosen(use), rng)
    merged = merge(robots, base)
    for start, heading in (((90.0, 0.0), (1.0, 0.0)), ((100.0, 0.0), (0.0, 1.0))):
        descriptors, positions = drive(rng, 15, start, heading)
        found = [merged.predict(descriptor).best(1)[0] for descriptor in descriptors]
        assert np.mean(np.equal(found, [merged.grid.find(position) for position in positions])) > 0.6


def reversed_drive(_, base):
    other = fresh(chosen())
    teach(other, [part[::-1] for part in drive(np.random.default_rng(1), 40)])
    return [base, other]


def stranger(rng, base):
    """The base's places, and none of its lessons."""
    robot, other = copied(base, chosen()), fresh(chosen())
    for each in (robot, other):
        teach(each, drive(rng, 40))
    return [robot, other]


def forgetful(rng, base):
    (shared,) = teach(base, drive(rng, 1))
    robot = copied(base, chosen())
    robot.unlearn(shared)
    return [robot]


UNMERGED = {
    "nothing": (lambda rng, base: [], "no state to merge"),
    "other settings": (lambda rng, base: [mapped(chosen(ridge=0.02))], "settings"),
    "another map": (lambda rng, base: [Classifier.fit(chosen(), *drive(rng, 40))], "different maps"),
    "places in another order": (reversed_drive, "this base"),
    "none of its lessons": (stranger, "lacks"),
    "one of its lessons unlearned": (forgetful, "lacks"),
}


@pytest.mark.parametrize("what", UNMERGED)
def test_what_was_not_grown_from_the_base_is_not_merged(what, rng):
    base, (make, reason) = mapped(chosen()), UNMERGED[what]
    states = make(rng, base)
    with pytest.raises((InputError, StateError), match=reason):
        merge(states, base)


def test_minimax_states_are_neither_merged_nor_unlearned(rng):
    base = mapped(chosen(attenuation=MINIMAX))
    with pytest.raises(InputError, match="merging needs a ridge solution"):
        merge([base], base)
    with pytest.raises(InputError, match="unlearning needs a ridge solution"):
        base.unlearn(teach(base, drive(rng, 1))[0])


def test_a_minimax_setting_that_is_not_in_use_does_not_hinder_unlearning(rng):
    classifier = mapped(chosen(("unscented",), attenuation=MINIMAX))
    before = classifier.ridge.weights.copy()
    classifier.unlearn(teach(classifier, drive(rng, 1))[0])
    assert relative(classifier.ridge.weights, before) < 1e-9


def test_unlearning_a_lesson_twice_is_refused(rng):
    classifier, (descriptors, positions) = mapped(chosen()), drive(rng, 1, start=(500.0, 500.0))
    lesson = classifier.learn(descriptors[0], positions[0])
    classifier.unlearn(lesson)
    before = classifier.arrays()
    with pytest.raises(InputError, match="unlearned already; each is unlearned once"):
        classifier.unlearn(lesson)
    assert_same_bits(classifier.arrays(), before)


@pytest.mark.parametrize(
    "elsewhere",
    [(chosen(), (500.0, 500.0)), (chosen(projection=Projection(dimension=32)), (0.0, 0.0))],
    ids=["another place", "other features"],
)
def test_a_lesson_learned_elsewhere_is_not_unlearned(elsewhere, rng):
    settings, start = elsewhere
    lesson = teach(mapped(settings), drive(rng, 1, start))[0]
    with pytest.raises(InputError, match="was not learned here"):
        mapped(chosen()).unlearn(lesson)


def test_a_lesson_is_unlearned_only_where_it_was_learned_although_it_would_fit(rng):
    """Two robots from one state: features, places and all are alike, and what was learned is not."""
    base = mapped(chosen())
    robots, frames = [copied(base, chosen()) for _ in range(2)], [drive(rng, 3) for _ in range(2)]
    lessons = [teach(robot, seen) for robot, seen in zip(robots, frames, strict=True)]
    for robot, others in zip(robots, reversed(lessons), strict=True):
        before = robot.arrays()
        for lesson in others:
            with pytest.raises(InputError, match="was not learned here"):
                robot.unlearn(lesson)
        assert_same_bits(robot.arrays(), before)


def test_a_lesson_of_a_state_is_unlearned_in_its_copy_and_no_more_in_the_copys_copy(rng):
    classifier = mapped(chosen())
    (lesson,) = teach(classifier, drive(rng, 1))
    saved = copied(classifier, chosen())
    saved.unlearn(lesson)
    with pytest.raises(InputError, match="unlearned already"):
        copied(saved, chosen()).unlearn(lesson)


@every_subset
def test_after_a_merge_each_robots_lessons_are_unlearned_once(use, rng):
    base = mapped(chosen(use))
    (shared,) = teach(base, drive(rng, 1))
    robots = [copied(base, chosen(use)) for _ in range(3)]
    # Each finds places of its own, which get other numbers in the merged state.
    lessons = [teach(robot, drive(rng, 10, start=(80.0, 30.0 * number))) for number, robot in enumerate(robots)]
    merged = merge(robots, base)
    for lesson in (shared, *(lesson for each in lessons for lesson in each)):
        merged.unlearn(lesson)
        with pytest.raises(InputError, match="unlearned already"):
            merged.unlearn(lesson)
    base.unlearn(shared)
    assert relative(merged.ridge.covariance, base.ridge.covariance) < 1e-8
    assert relative(merged.ridge.weights[:, :PLACES], base.ridge.weights) < 1e-8
    assert len(merged.grid) > PLACES
    np.testing.assert_allclose(merged.ridge.weights[:, PLACES:], 0.0, atol=1e-8)


def test_what_two_robots_learned_alike_is_unlearned_twice(rng):
    """They learned it twice: the merged state holds both."""
    base, frames = mapped(chosen()), drive(rng, 1)
    robots = [copied(base, chosen()) for _ in range(2)]
    lessons = [teach(robot, frames)[0] for robot in robots]
    merged = merge(robots, base)
    for lesson in lessons:
        merged.unlearn(lesson)
    assert relative(merged.ridge.covariance, base.ridge.covariance) < 1e-8
    with pytest.raises(InputError, match="unlearned already"):
        merged.unlearn(lessons[0])


@every_subset
def test_merging_robots_that_learned_nothing_gives_the_base(use, rng):
    base = mapped(chosen(use))
    merged = merge([copied(base, chosen(use)) for _ in range(3)], base)
    descriptor = drive(rng, 1)[0][0]
    expected, found = base.predict(descriptor), merged.predict(descriptor)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9, atol=1e-12)
    if "mixture" in use:
        np.testing.assert_allclose(found.log_likelihoods, expected.log_likelihoods, rtol=1e-9)
