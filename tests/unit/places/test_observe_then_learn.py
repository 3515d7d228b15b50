"""Observing rows makes learning them cheaper and nothing else different: not one bit, in whatever order."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest

from ridges import relative
from tmapr.artifacts.arrays import digest
from tmapr.exceptions import InputError
from tmapr.places.analytic import Ridge
from tmapr.places.attenuation import Attenuation
from tmapr.places.classifier import Classifier, Places
from tmapr.places.lessons import Kept
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection

DIM, CLASSES, RIDGE = 100, 5, 0.05
WIDTH = 24
PARTS = ("unscented", "mixture", "attenuation")
SUBSETS = [subset for size in range(4) for subset in combinations(PARTS, size)]


def lesson(rng, classes, dim=DIM):
    count = int(rng.integers(1, 5))
    targets = np.eye(classes)[rng.integers(classes, size=count)]
    return rng.normal(size=(count, dim)) / np.sqrt(dim), targets, rng.uniform(0.3, 1.5, size=count)


def as_one(parts):
    return b"".join(parts[name].tobytes() for name in sorted(parts))


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_observing_learning_and_unlearning_gives_the_batch_solution(seed):
    rng, state, learned = np.random.default_rng(seed), Ridge(DIM, RIDGE, CLASSES), []
    for _ in range(150):
        given = lesson(rng, CLASSES)
        if rng.random() < 0.7:
            state.observe(given[0][:3])
        # Unlearning nearly all there is would leave the digits of a difference.
        if len(learned) > 40 and rng.random() < 0.3:
            state.unlearn(*learned.pop(int(rng.integers(len(learned)))))
        else:
            state.learn(*given)
            learned.append(given)
    X, Y, w = (np.concatenate(parts) for parts in zip(*learned, strict=True))
    K = np.linalg.inv(RIDGE * np.eye(DIM) + X.T @ (w[:, None] * X))
    W, query = K @ X.T @ (w[:, None] * Y), rng.normal(size=(3, DIM))
    seen = state.observe(query)
    assert relative(state.weights, W) < 1e-12
    assert relative(state.covariance, K) < 1e-12
    assert relative(seen.responses, query @ W) < 1e-12
    assert seen.leverage == pytest.approx(RIDGE * query[0] @ K @ query[0] / (query[0] @ query[0]), rel=1e-12)


@pytest.mark.parametrize("dim", [DIM, 63, 64, 130])
def test_a_state_does_not_tell_what_was_observed(dim, rng):
    states = silent, asked, _ = [Ridge(dim, RIDGE, CLASSES) for _ in range(3)]
    learned = []
    for turn in range(100):
        if turn % 31 == 30:
            for state in states:
                state.grow(silent.classes + (state is silent))
        given, other = lesson(rng, silent.classes, dim), rng.normal(size=(3, dim))
        for rows in [other, given[0][:3], other][turn % 3 : turn % 4]:
            asked.observe(rows)
        if turn % 7 == 3:
            states[2] = Ridge.from_arrays(asked.arrays())
        if learned and turn % 5 == 4:
            rows, targets, weights = learned.pop(int(rng.integers(len(learned))))
            wide = targets @ np.eye(targets.shape[1], silent.classes)
            for state in states:
                state.unlearn(rows, wide, weights)
        else:
            for state in states:
                state.learn(*given)
            learned.append(given)
        assert len({as_one(state.arrays()) for state in states}) == 1, turn
    assert asked.covariance.tobytes() == silent.covariance.tobytes()
    found, expected = asked.observe(other), silent.observe(other)
    assert found.responses.tobytes() == expected.responses.tobytes()
    assert found.leverage == expected.leverage


def test_a_refused_lesson_forgets_what_was_observed_of_it(rng):
    state, given = Ridge(DIM, RIDGE, CLASSES), lesson(rng, CLASSES)
    rows = given[0].copy()
    rows[0, 0] = np.nan
    seen = state.observe(rows[:3])
    assert np.isnan(seen.leverage)
    with pytest.raises(Exception, match="innovation"):
        state.learn(rows, *given[1:])
    fresh = Ridge(DIM, RIDGE, CLASSES)
    for each in (state, fresh):
        each.learn(*given)
    assert as_one(state.arrays()) == as_one(fresh.arrays())


def views(rng, count):
    descriptors = rng.normal(size=(count, WIDTH)) + 2.0 * rng.normal(size=WIDTH)
    return descriptors / np.linalg.norm(descriptors, axis=1, keepdims=True)


def settings(use):
    small = Projection(dimension=80)
    return Places(cell=10.0, use=use, ridge=0.05, projection=small, mixture=Mixture(dimension=6))


def fitted(chosen):
    rng = np.random.default_rng(3)
    return Classifier.fit(chosen, views(rng, 30), np.column_stack([np.arange(30.0) * 2, np.zeros(30)]))


def reload(classifier):
    return classifier.continue_from(classifier.arrays())


@pytest.mark.parametrize("use", SUBSETS, ids=lambda use: "+".join(use) or "plain")
def test_predicting_leaves_no_trace_in_anything_learned_afterwards(use):
    rng, chosen = np.random.default_rng(len(use)), settings(use)
    silent, asked, restored, teacher = (fitted(chosen) for _ in range(4))
    pupils, held, early = [silent, asked, restored], [], reload(silent)
    for turn in range(64):
        frame, others = views(rng, 1)[0], views(rng, 2)
        position = rng.uniform([0.0, -5.0], [90.0, 5.0])  # now and then a new place
        for seen in [others[0], frame, others[1], frame][turn % 3 : turn % 5]:
            asked.predict(seen)
        kind = ["learn", "learn", "learn", "adopt", "relearn", "unlearn", "learn", "learn"][turn % 8]
        if kind == "unlearn" and held:
            taken = held.pop(int(rng.integers(len(held))))
            for each in pupils:
                each.unlearn(taken)
        elif kind == "adopt":
            lesson = teacher.learn(frame, position)
            for each in pupils:
                each.adopt(lesson, frame)
        elif kind == "relearn":
            lesson = reload(silent).learn(frame, position)
            for each in pupils:
                each.relearn(each.rebuild(Kept.of(lesson)))
            held.append(lesson)
        else:
            lessons = [each.learn(frame, position) for each in pupils]
            assert len({lesson.name for lesson in lessons}) == 1
            held.append(lessons[0])
        if turn % 9 == 8:
            restored = pupils[2] = reload(asked)
        if turn == 40:
            for each in pupils:
                each.return_to(early)
            held = []
        assert len({digest(each.arrays()) for each in pupils}) == 1, (turn, kind)
    found, expected = asked.predict(frame), silent.predict(frame)
    assert found.scores.tobytes() == expected.scores.tobytes()
    assert found.leverage == expected.leverage


@pytest.mark.parametrize("use", [(), PARTS], ids=["plain", "all"])
def test_an_array_that_is_filled_anew_is_learned_as_it_is_now(use, rng):
    classifier, other = fitted(settings(use)), fitted(settings(use))
    first, second = views(rng, 2)
    camera = first.copy()
    classifier.predict(camera)
    camera[:] = second
    assert classifier.learn(camera, np.zeros(2)).name == other.learn(second, np.zeros(2)).name
    assert digest(classifier.arrays()) == digest(other.arrays())


@pytest.mark.parametrize("use", [(), ("mixture",), PARTS], ids=["plain", "mixture", "all"])
def test_a_program_that_changes_what_it_was_given_changes_nothing_that_is_learned(use, rng):
    classifier, other = fitted(settings(use)), fitted(settings(use))
    frame = views(rng, 1)[0]
    classifier.predict(frame).scores[:] = 7.0
    for each, spoilt in ((classifier, True), (other, False)):
        lesson = each.learn(frame, np.zeros(2))
        if spoilt:
            lesson.rows[:] = 0.0
        each.learn(frame, np.zeros(2))
    assert digest(classifier.arrays()) == digest(other.arrays())


def test_threads_that_predict_beside_one_that_learns_change_nothing(rng):
    chosen = settings(PARTS)
    quiet, busy = fitted(chosen), fitted(chosen)
    frames = views(rng, 30)
    positions = rng.uniform(0.0, 60.0, size=(30, 2))

    def watch():
        return [busy.predict(frame).leverage for frame in np.repeat(frames, 3, axis=0)]

    with ThreadPoolExecutor(2) as pool:
        watching = [pool.submit(watch) for _ in range(2)]
        for frame, position in zip(frames, positions, strict=True):
            busy.predict(frame)
            busy.learn(frame, position)
    assert np.isfinite([each.result() for each in watching]).all()
    for frame, position in zip(frames, positions, strict=True):
        quiet.learn(frame, position)
    assert digest(busy.arrays()) == digest(quiet.arrays())


def test_the_minimax_recursion_shares_too(rng):
    chosen = settings(PARTS).model_copy(update={"attenuation": Attenuation(mode="minimax")})
    asked, silent = fitted(chosen), fitted(chosen)
    for frame in views(rng, 40):
        asked.predict(frame)
        for each in (asked, silent):
            each.learn(frame, np.zeros(2))
    assert digest(asked.arrays()) == digest(silent.arrays())
    with pytest.raises(InputError, match="minimax"):
        asked.unlearn(asked.learn(frame, np.zeros(2)))
