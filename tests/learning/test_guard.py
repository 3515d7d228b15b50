"""Which classifier answers, and when that changes."""

import numpy as np
import pytest

from tmapr.learning.guard import Guard, Tally
from tmapr.places.classifier import Classifier, Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection

DIM = 8
PLACES = Places(cell=10.0, projection=Projection(dimension=16), mixture=Mixture(dimension=4))


@pytest.fixture
def learned(rng):
    descriptors = rng.normal(size=(12, DIM))
    descriptors /= np.linalg.norm(descriptors, axis=1, keepdims=True)
    positions = np.column_stack([np.arange(12) * 4.0, np.zeros(12)])
    classifier = Classifier.fit(PLACES, descriptors, positions)
    for descriptor, position in zip(descriptors, positions, strict=True):
        classifier.learn(descriptor, position)
    return classifier


@pytest.fixture
def guard(learned):
    guarding = Guard()
    guarding.begin(learned)
    return guarding


def judge(guard, differences):
    for difference in differences:
        guard.judge(difference)
    return guard.passed


def look(rng):
    descriptor = rng.normal(size=DIM)
    return descriptor / np.linalg.norm(descriptor)


@pytest.mark.parametrize("count", [1, 7, 60])
def test_a_tally_of_so_many_has_their_mean_and_variance(count, rng):
    values, tally = rng.normal(size=count), Tally()
    for value in values:
        tally.add(value)
    assert tally.mean == pytest.approx(values.mean())
    assert tally.variance == pytest.approx(values.var())


def test_a_long_tally_forgets():
    tally = Tally()
    for value in [10.0] * 100 + [0.0] * 600:
        tally.add(value)
    assert abs(tally.mean) < 0.01


def test_before_anything_taught_itself_there_is_one_classifier(learned):
    assert Guard().choose(learned, 0.0) is learned


def test_what_was_not_examined_does_not_answer(guard, learned):
    assert guard.choose(learned, 1.0) is guard.base


def test_a_few_good_answers_are_luck(guard):
    assert not judge(guard, [1.0] * 9)


def test_answers_that_are_better_beyond_luck_pass(guard, learned):
    assert judge(guard, [0.5, 0.7] * 6)
    assert guard.choose(learned, 0.9) is learned


def test_answers_that_differ_by_chance_never_pass(guard):
    assert not judge(guard, [1.0, -1.0] * 100)


def test_the_base_answers_where_the_learned_one_has_no_lessons(guard, learned):
    judge(guard, [0.5, 0.7] * 6)
    assert guard.choose(learned, 0.1) is guard.base


def test_what_has_passed_is_not_withdrawn_by_chance(guard):
    judge(guard, [0.5, 0.7] * 6)
    assert judge(guard, [1.0, -1.0] * 50)


def test_what_turns_out_worse_is_withdrawn(guard, learned):
    judge(guard, [0.5, 0.7] * 6)
    assert not judge(guard, [-0.5] * 60)
    assert guard.choose(learned, 1.0) is guard.base


def test_the_base_keeps_what_was_known_before(guard, learned, rng):
    descriptor = look(rng)
    before = learned.predict(descriptor)
    learned.learn(look(rng), np.array([3.0, 0.0]))
    np.testing.assert_array_equal(guard.base.predict(descriptor).scores, before.scores)
    assert not np.array_equal(learned.predict(descriptor).scores, before.scores)


def test_what_somebody_teaches_both_know_and_both_forget(guard, learned, rng):
    descriptor, seen = look(rng), look(rng)
    before = guard.base.predict(descriptor).scores
    lesson = learned.learn(seen, np.array([100.0, 0.0]))
    guard.adopt(lesson, seen)
    np.testing.assert_allclose(guard.base.predict(seen).scores, learned.predict(seen).scores)
    learned.unlearn(lesson)
    guard.unlearn(lesson)
    # U's direction keeps its summary of the lesson, so K and W are compared.
    np.testing.assert_allclose(guard.base.ridge.weights, learned.ridge.weights, atol=1e-12)
    np.testing.assert_allclose(guard.base.ridge.covariance, learned.ridge.covariance, atol=1e-12)
    assert len(before) == len(guard.base.predict(descriptor).scores) - 1


def test_what_it_taught_itself_is_unlearned_alone(guard, learned, rng):
    lesson = learned.learn(look(rng), np.array([3.0, 0.0]))
    before = guard.base.ridge.weights.copy()
    learned.unlearn(lesson)
    guard.unlearn(lesson)
    np.testing.assert_array_equal(guard.base.ridge.weights, before)
    np.testing.assert_allclose(learned.ridge.weights, before, atol=1e-10)


def test_which_one_answers_survives_a_restart(guard, learned, rng):
    judge(guard, [0.5, 0.7] * 6)
    learned.learn(look(rng), np.array([3.0, 0.0]))
    again, descriptor = Guard(), look(rng)
    again.restore(guard.arrays(), learned)
    assert again.choose(learned, 1.0) is learned
    np.testing.assert_array_equal(again.base.predict(descriptor).scores, guard.base.predict(descriptor).scores)
    assert [again.passed, again.tally.count, again.tally.mean] == [True, guard.tally.count, guard.tally.mean]
