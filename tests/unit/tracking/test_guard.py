"""Which classifier answers, and when that changes."""

import logging

import numpy as np
import pytest

from tmapr.artifacts.arrays import digest
from tmapr.places.classifier import Classifier, Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.tracking.guard import Guard, Tally

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


def check(guard, evidence):
    for each in evidence:
        guard.check(each)
    return guard.fallen


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


def test_answers_that_are_better_beyond_luck_pass(guard, learned):
    assert judge(guard, [0.5, 0.7] * 6)
    assert guard.choose(learned, 0.9) is learned


def test_answers_that_differ_by_chance_never_pass(guard):
    assert not judge(guard, [1.0, -1.0] * 100)


def test_the_base_answers_where_the_learned_one_has_no_lessons(guard, learned):
    judge(guard, [0.5, 0.7] * 6)
    assert guard.choose(learned, 0.1) is guard.base


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


def draw_labels(rng, count, share):
    """The evidence of labels, of which a share is contradicted."""
    return np.where(rng.random(count) < share, -2.0, 3.0)


def test_labels_that_are_seldom_contradicted_are_believed(guard, rng):
    assert not check(guard, draw_labels(rng, 2000, 0.02))


def test_one_wrong_label_in_five_is_noticed_within_a_hundred(learned, rng):
    for _ in range(20):
        guard = Guard()
        guard.begin(learned)
        check(guard, draw_labels(rng, 1000, 0.02))
        assert any(check(guard, [evidence]) for evidence in draw_labels(rng, 100, 0.25))


@pytest.mark.parametrize(("count", "fallen"), [(5, False), (6, True)])
def test_a_few_views_in_a_row_may_contradict_their_labels(guard, count, fallen):
    assert check(guard, [3.0] * 100 + [-0.1] * count) is fallen


def test_what_recognises_less_than_the_map_has_to_go(guard):
    judge(guard, [-0.5, -0.7] * 6)
    assert guard.fallen


def test_a_rollback_restores_bit_for_bit(guard, learned, rng):
    before = digest(learned.arrays())
    for _ in range(5):
        learned.learn(look(rng), rng.uniform(-50.0, 50.0, 2))
    assert digest(learned.arrays()) != before
    guard.roll_back(learned)
    assert digest(learned.arrays()) == before == digest(guard.base.arrays())


def test_after_a_rollback_it_learns_as_if_for_the_first_time(guard, learned, rng):
    other, view, again = learned.continue_from(learned.arrays()), look(rng), look(rng)
    learned.learn(view, np.array([3.0, 0.0]))
    guard.roll_back(learned)
    first, second = (classifier.learn(again, np.array([9.0, 0.0])) for classifier in (learned, other))
    assert first.name == second.name
    assert digest(learned.arrays()) == digest(other.arrays()) != digest(guard.base.arrays())


def test_after_a_rollback_the_views_before_it_count_no_more(guard, learned):
    judge(guard, [-0.5, -0.7] * 6)
    guard.roll_back(learned)
    assert guard.tally == Tally()


def test_what_somebody_taught_outlives_a_rollback(guard, learned, rng):
    learned.learn(look(rng), np.array([3.0, 0.0]))
    seen = look(rng)
    lesson = learned.learn(seen, np.array([100.0, 0.0]))
    guard.adopt(lesson, seen)
    guard.roll_back(learned)
    assert learned.holds(lesson)
    learned.unlearn(lesson)


def test_a_rollback_is_told_once_with_its_reason(guard, learned, caplog):
    check(guard, [-1.0] * 6)
    with caplog.at_level(logging.WARNING, "tmapr"):
        guard.roll_back(learned)
    assert [record.getMessage() for record in caplog.records] == [
        "what was learned while driving is taken back, for the 1. time: labels contradict what is seen"
    ]


def test_nothing_is_learned_again_before_the_doubt_is_gone_and_each_time_it_takes_longer(guard, learned):
    rests = []
    for _ in range(3):
        check(guard, [-1.0] * 6)
        guard.roll_back(learned)
        rests.append(0)
        while guard.resting:
            assert not check(guard, [3.0])
            rests[-1] += 1
    assert rests[0] >= 50
    assert rests[1] == pytest.approx(2 * rests[0], abs=1)
    assert rests[2] == pytest.approx(3 * rests[0], abs=2)
    assert guard.rollbacks == 3


def test_labels_that_stay_wrong_end_no_rest(guard, learned, rng):
    guard.roll_back(learned)
    check(guard, draw_labels(rng, 5000, 0.25))
    assert guard.resting
    assert guard.rollbacks == 1


def test_doubt_and_rest_survive_a_restart(guard, learned):
    check(guard, [-1.0] * 6)
    guard.roll_back(learned)
    check(guard, [3.0] * 7)
    again = Guard()
    again.restore(guard.arrays(), learned)
    assert [again.doubt, again.resting, again.rollbacks] == [guard.doubt, True, 1]
