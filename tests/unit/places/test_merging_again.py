"""What was learned is merged, merged again, taken back and carried to another map: each lesson counts once."""

import numpy as np
import pytest

from tmapr.config import changed
from tmapr.places.carrying import carry
from tmapr.places.classifier import Classifier, merge
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.places.settings import Places

SETTINGS = Places(cell=10.0, ridge=0.1, projection=Projection(dimension=24), mixture=Mixture(dimension=4))


def drive(rng, start):
    """Twenty views along a road."""
    positions = np.column_stack([start + 2.0 * np.arange(20), np.zeros(20)])
    looks = np.cos(positions[:, :1] * np.linspace(0.01, 0.1, 12)) + 0.3 * rng.normal(size=(20, 12))
    return looks / np.linalg.norm(looks, axis=1, keepdims=True), positions


@pytest.fixture
def base(rng):
    frames = drive(rng, 0.0)
    classifier = Classifier.fit(SETTINGS, *frames)
    return teach(classifier, frames)


def teach(classifier, frames):
    for frame in zip(*frames, strict=True):
        classifier.learn(*frame)
    return classifier


def copy(classifier):
    return classifier.continue_from(classifier.arrays())


def assert_knows_the_same(one, other):
    np.testing.assert_allclose(one.ridge.weights, other.ridge.weights, atol=1e-8)
    np.testing.assert_allclose(one.ridge.covariance, other.ridge.covariance, atol=1e-8)
    assert sorted(one.ledger.names.tolist()) == sorted(other.ledger.names.tolist())


def test_one_robot_and_its_base_are_that_robot(base, rng):
    robot = teach(copy(base), drive(rng, 30.0))
    merged, learned = merge([robot], base), robot.arrays()
    assert_knows_the_same(merged, robot)
    for name in ("variation.direction", "mixtures.counts", "mixtures.means", "mixtures.variances", "mixtures.shared"):
        np.testing.assert_allclose(merged.arrays()[name], learned[name], atol=1e-9, err_msg=name)


def test_what_the_base_holds_of_a_robot_already_is_not_added_again(base, rng):
    before = teach(copy(base), drive(rng, 30.0))
    after = teach(copy(before), drive(rng, 60.0))
    fleet = merge([before], base)
    assert_knows_the_same(merge([after], fleet, [before]), after)


def test_a_lesson_taken_back_is_gone_and_the_others_stand(base, rng):
    lessons = [base.learn(*frame) for frame in zip(*drive(rng, 10.0), strict=True)]
    names = base.ledger.names.tolist()
    base.unlearn(lessons[3])
    assert base.ledger.names.tolist() == [name for name in names if name != lessons[3].name]


def test_what_was_learned_on_a_map_is_carried_to_a_longer_one_as_if_it_had_been_learned_there(rng):
    settings = changed(SETTINGS, {"use": []})
    first, second, own = (drive(rng, start) for start in (0.0, 30.0, 80.0))
    old = teach(Classifier.fit(settings, *first), first)
    new, robot = teach(copy(old), second), teach(copy(old), own)
    carried = carry(settings, old.projection_arrays(), robot.arrays(), old.arrays(), new.arrays())
    expected = teach(copy(new), own)
    np.testing.assert_allclose(carried.ridge.covariance, expected.ridge.covariance, atol=1e-8)
    np.testing.assert_allclose(carried.ridge.weights, expected.ridge.weights, atol=1e-8)
