"""K and W from sums over parts: those of the recursion given the same rows and weights; U and G as in turn."""

import numpy as np
import pytest

from ridges import relative
from tmapr.exceptions import InputError
from tmapr.places.analytic import Ridge
from tmapr.places.attenuation import Attenuation
from tmapr.places.classifier import Classifier, Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.places.sums import Part, make_rows, solve, sum_part

WIDTH, COUNT, FRAMES = 24, 90, 32
EVERYTHING = ("unscented", "mixture", "attenuation")


def settings(*use, kind="lift"):
    return Places(use=use, projection=Projection(kind=kind, dimension=64), mixture=Mixture(dimension=8))


@pytest.fixture
def drive(rng):
    """Two laps along a street of ten places."""
    metres = np.linspace(0.0, 2 * 150.0, COUNT) % 150.0
    sights = rng.normal(size=(11, WIDTH))
    share = (metres / 15.0 % 1)[:, None]
    views = (1 - share) * sights[(metres // 15).astype(int)] + share * sights[(metres // 15).astype(int) + 1]
    views += 0.2 * rng.normal(size=views.shape)
    return views / np.linalg.norm(views, axis=1)[:, None], np.column_stack([metres, np.zeros(COUNT)])


def learn_in_turn(places, descriptors, positions):
    classifier = Classifier.fit(places, descriptors, positions)
    return classifier, [classifier.learn(*each) for each in zip(descriptors, positions, strict=True)]


def learn_in_parts(places, descriptors, positions, frames=FRAMES):
    """The classifier, the parts and their sums."""
    classifier, parts = Classifier.fit(places, descriptors, positions), []
    for begin in range(0, len(positions), frames):
        some = slice(begin, begin + frames)
        found = [classifier.follow(*each) for each in zip(descriptors[some], positions[some], strict=True)]
        steps = [step for _, step in found]
        held = None if steps[0] is None else np.array(steps)
        parts.append(Part(descriptors[some], held, np.array([place for place, _ in found])))
    projector = places.projection.load(classifier.projection_arrays())
    sums = [sum_part(places, projector, part) for part in parts]
    classifier.complete(sums)
    return classifier, parts, sums


@pytest.mark.parametrize("use", [(), ("unscented",), ("attenuation",), EVERYTHING])
@pytest.mark.parametrize("kind", ["lift", "pca", "identity"])
def test_k_and_w_are_those_of_the_recursion_with_the_recorded_weights(drive, use, kind):
    places = settings(*use, kind=kind)
    classifier, parts, sums = learn_in_parts(places, *drive)
    projector = places.projection.load(classifier.projection_arrays())
    recursion = Ridge(projector.dimension, places.ridge, len(classifier.grid))
    for part, found in zip(parts, sums, strict=True):
        for rows, weights, place in zip(make_rows(places, projector, part), found.weights, part.places, strict=True):
            targets = np.tile(np.eye(len(classifier.grid))[place], (len(rows), 1))
            recursion.learn(rows, targets, weights)
    assert relative(classifier.ridge.covariance, recursion.covariance) < 1e-8
    assert relative(classifier.ridge.weights, recursion.weights) < 1e-8


def test_u_and_g_are_those_of_learning_in_turn_bit_for_bit(drive):
    places = settings(*EVERYTHING)
    in_turn, _ = learn_in_turn(places, *drive)
    in_parts, *_ = learn_in_parts(places, *drive)
    wanted, found = in_turn.arrays(), in_parts.arrays()
    for name in wanted:
        if name.startswith(("grid.", "variation.", "mixtures.")):
            np.testing.assert_array_equal(found[name], wanted[name], err_msg=name)


def test_rows_and_places_are_those_of_learning_in_turn(drive):
    places = settings(*EVERYTHING)
    _, lessons = learn_in_turn(places, *drive)
    classifier, parts, _ = learn_in_parts(places, *drive)
    projector = places.projection.load(classifier.projection_arrays())
    rows = np.concatenate([make_rows(places, projector, part) for part in parts])
    np.testing.assert_array_equal(rows, [lesson.rows for lesson in lessons])
    assert [place for part in parts for place in part.places] == [lesson.place for lesson in lessons]


def test_one_part_has_the_weights_of_learning_in_turn(drive):
    places = settings(*EVERYTHING)
    in_turn, lessons = learn_in_turn(places, *drive)
    in_parts, _, (sums,) = learn_in_parts(places, *drive, frames=COUNT)
    np.testing.assert_allclose(sums.weights, [lesson.weights for lesson in lessons], rtol=1e-12)
    assert relative(in_parts.ridge.weights, in_turn.ridge.weights) < 1e-8


def test_weights_of_parts_lie_within_what_attenuation_allows(drive):
    """‖y − zW‖ of an empty state is 1, so that no weight differs by more than 1 − γ/(γ + η) for it."""
    places, attenuation = settings("attenuation"), Attenuation()
    _, lessons = learn_in_turn(places, *drive)
    _, _, sums = learn_in_parts(places, *drive)
    difference = np.concatenate([each.weights for each in sums]) - [lesson.weights for lesson in lessons]
    assert 0 < np.abs(difference).max() < places.weight * (1 - attenuation.weight(np.array([1.5])))


def test_without_attenuation_the_map_is_that_of_learning_in_turn(drive):
    places = settings("unscented", "mixture")
    in_turn, _ = learn_in_turn(places, *drive)
    in_parts, *_ = learn_in_parts(places, *drive)
    assert relative(in_parts.ridge.covariance, in_turn.ridge.covariance) < 1e-8
    assert relative(in_parts.ridge.weights, in_turn.ridge.weights) < 1e-8


def test_sums_of_other_features_are_refused(drive):
    _, _, sums = learn_in_parts(settings("unscented"), *drive)
    with pytest.raises(ValueError, match="sums over 64 features, wanted 32"):
        solve(0.1, 32, sums, 20)


def test_the_minimax_recursion_is_not_learned_in_parts(drive):
    places = Places(use=("attenuation",), attenuation=Attenuation(mode="minimax"))
    classifier = Classifier.fit(places, *drive)
    with pytest.raises(InputError, match="learning in parts needs a ridge solution"):
        classifier.complete([])
