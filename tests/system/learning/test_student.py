"""A drive that teaches itself: when, what, and what of it survives."""

from dataclasses import replace

import numpy as np
import pytest

from taught import DIM, FUSED, SYSTEM, restarted, traverse
from taught import environment as mapped
from tmapr.artifacts.arrays import digest
from tmapr.places.classifier import merge
from tmapr.running.progressive import localize
from tmapr.system import build
from tmapr.tracking import RouteModel
from tmapr.tracking.self_training import LAG, Student


@pytest.fixture(scope="module")
def environment():
    return mapped()


@pytest.fixture(scope="module")
def dusk():
    return traverse(2, "dusk")


@pytest.fixture(scope="module")
def lap(environment, dusk):
    """A localizer that taught itself on a lap, and the estimates of that."""
    localizer = build(FUSED, environment)
    return localizer, localize(localizer, dusk, range(len(dusk)))


def follow(localizer, recording, rows):
    """The lessons after each frame."""
    return [localizer.teach(localizer.observe(recording.percepts[row])) for row in rows]


def test_nothing_is_learned_before_later_views_have_come(lap):
    _, progress = lap
    assert progress.learned.sum() > 20
    views = np.cumsum([bool(each.route and each.route.new_view) for each in progress.estimates])
    assert views[np.flatnonzero(progress.learned)[0]] > LAG


def test_what_is_learned_is_where_the_camera_was(environment, dusk):
    """Cells of fifteen metres: a label may lie in the next one, and not beyond."""
    localizer = build(FUSED, environment)
    seen, grid = [], localizer.classifier.grid
    for row in range(len(dusk)):
        estimate = localizer.observe(dusk.percepts[row])
        seen += [dusk.truth[row]] if estimate.route and estimate.route.new_view else []
        for lesson in (each for each in localizer.teach(estimate) if not each.imagined):
            middle = grid.origin + (np.array(lesson.cell) + 0.5) * grid.cell
            # The oldest view that waits, or one of the few that waited for their turn.
            past = np.array(seen[max(0, len(seen) - LAG - 12) : len(seen) - LAG])
            assert np.hypot(*(past - middle).T).min() < 1.5 * grid.cell


def test_off_learns_nothing_and_keeps_nothing(environment, dusk):
    localizer = build(SYSTEM, environment)
    before = digest(localizer.classifier.arrays())
    localize(localizer, dusk, range(200))
    assert digest(localizer.classifier.arrays()) == before
    assert not [name for name in localizer.arrays() if name.startswith("own.")]


def test_on_places_without_lessons_the_estimates_are_those_of_off(environment, dusk, lap):
    steady = localize(build(SYSTEM, environment), dusk, range(200))
    for ours, theirs in zip(lap[1].estimates, steady.estimates, strict=False):
        np.testing.assert_array_equal(ours.belief.mean, theirs.belief.mean)


@pytest.mark.parametrize("stop", [120, 250])
def test_stopping_and_continuing_equals_never_stopping(stop, environment, dusk, lap, tmp_path):
    environment.save(tmp_path / "map.npz")
    stopped = build(FUSED, environment)
    follow(stopped, dusk, range(stop))
    continued = restarted(stopped, FUSED, tmp_path)
    follow(continued, dusk, range(stop, len(dusk)))
    assert digest(continued.arrays()) == digest(lap[0].arrays())


def test_a_stop_between_a_frame_and_its_lesson_loses_nothing(environment, dusk, tmp_path):
    environment.save(tmp_path / "map.npz")
    steady, stopped = build(FUSED, environment), build(FUSED, environment)
    for localizer in (steady, stopped):
        follow(localizer, dusk, range(90))
    for row in range(90, 130):
        estimate = stopped.observe(dusk.percepts[row])
        stopped = restarted(stopped, FUSED, tmp_path)
        stopped.teach(estimate)
        steady.teach(steady.observe(dusk.percepts[row]))
    assert digest(stopped.arrays()) == digest(steady.arrays())


def test_memory_stays_bounded_where_nobody_asks_for_lessons(environment, dusk):
    localizer = build(FUSED, environment)
    held = []
    for percept in dusk.percepts:
        localizer.observe(percept)
        held.append(len(localizer.moment().get("own.seen.vectors", ())))
    assert max(held) == LAG + 1


def test_a_start_somewhere_else_does_not_follow_on_the_last_views(environment, dusk):
    localizer = build(FUSED, environment)
    follow(localizer, dusk, range(60))
    localizer.start_at(dusk.percepts[60].stamp, dusk.truth[60], 5.0)
    assert "own.seen.vectors" not in localizer.arrays() or not len(localizer.arrays()["own.seen.vectors"])


def test_all_lessons_unlearned_leave_what_was_there_before(environment, dusk):
    localizer = build(FUSED, environment)
    before = localizer.classifier.ridge.weights.copy()
    lessons = [lesson for after in follow(localizer, dusk, range(250)) for lesson in after]
    assert len(lessons) > 10
    for lesson in reversed(lessons):
        localizer.unlearn(lesson)
    np.testing.assert_allclose(localizer.classifier.ridge.weights[:, : before.shape[1]], before, atol=1e-9)


def test_two_robots_that_taught_themselves_are_merged_exactly(environment, dusk):
    """As one that learned the lessons of both, row by row, with their weights."""
    robots, lessons = [], []
    for rows in (range(200), range(200, 454)):
        robots.append(build(FUSED, environment))
        lessons += [lesson for after in follow(robots[-1], dusk, rows) for lesson in after]
    merged = merge([robot.classifier for robot in robots], environment.classifier())
    one = environment.classifier()
    for lesson in lessons:
        one.adopt(lesson, np.zeros(DIM))
    np.testing.assert_allclose(merged.ridge.covariance, one.ridge.covariance, atol=1e-9)
    for cell in one.grid.cells.tolist():
        ours, theirs = (each.grid.find_cell(tuple(cell)) for each in (merged, one))
        np.testing.assert_allclose(merged.ridge.weights[:, ours], one.ridge.weights[:, theirs], atol=1e-9)


def test_a_second_drive_goes_on_with_what_the_first_one_learned(lap):
    first, _ = lap
    second = first.fork()
    learned, again = (localizer.arrays() for localizer in (first, second))
    assert len(again["own.seen.vectors"]) == 0
    for name in ("own.guard.passed", "own.guard.tally", "own.balance.visited", "classifier.ridge.weights"):
        np.testing.assert_array_equal(again[name], learned[name])


FLOOR = np.log(RouteModel().blind)
"""The evidence that is left to a place which a view shows nothing of."""


@pytest.fixture
def misled(monkeypatch):
    """Half of the labels are of the other side of the block: which, the view alone says, as after a restart."""
    let_go = Student._let_go

    def let_go_wrong(student):
        seen = student._seen[0]
        if int(1e6 * abs(seen.vector[0])) % 2:
            return let_go(student)
        student._seen[0] = replace(seen, said=np.full(2, FLOOR))
        label, middle = let_go(student), student._memory.positions.mean(axis=0)
        return replace(label, position=2.0 * middle - label.position)

    monkeypatch.setattr(Student, "_let_go", let_go_wrong)
    return monkeypatch


def test_labels_that_contradict_what_is_seen_are_taken_back_bit_for_bit(misled, environment, dusk):
    localizer, taught = build(FUSED, environment), 0
    before = digest(localizer.classifier.arrays())
    for row in range(len(dusk)):
        lessons = localizer.teach(localizer.observe(dusk.percepts[row]))
        taught += len(lessons)
        if localizer.rollbacks:
            break
    assert taught > 10
    assert lessons == []
    assert digest(localizer.classifier.arrays()) == before
    assert localizer.arrays()["own.due.vectors"].shape[0] == 0
    assert not localizer.arrays()["own.balance.visited"].any()


def test_with_wrong_labels_a_drive_ends_as_with_off(misled, environment, dusk):
    localizer, steady = build(FUSED, environment), build(SYSTEM, environment)
    for recording, count in ((dusk, 300), (traverse(4, "dusk"), 100)):
        ours, theirs = (localize(each.new_drive(), recording, range(count)) for each in (localizer, steady))
        for mine, other in zip(ours.estimates, theirs.estimates, strict=True):
            np.testing.assert_array_equal(mine.belief.mean, other.belief.mean)
    assert localizer.rollbacks >= 1


def test_stopping_and_continuing_across_a_rollback_equals_never_stopping(misled, environment, dusk, tmp_path):
    environment.save(tmp_path / "map.npz")
    steady, stopped = build(FUSED, environment), build(FUSED, environment)
    for row in range(300):
        for localizer in (steady, stopped):
            localizer.teach(localizer.observe(dusk.percepts[row]))
        if row % 25 == 0:
            stopped = restarted(stopped, FUSED, tmp_path)
    assert stopped.rollbacks == steady.rollbacks >= 1
    assert digest(stopped.arrays()) == digest(steady.arrays())


def test_a_rollback_is_one_of_all_drives_that_share_a_state(misled, environment, dusk):
    first = build(FUSED, environment)
    before = digest(first.classifier.arrays())
    second = first.fork()
    follow(second, dusk, range(60))
    follow(first, dusk, range(300))
    assert second.rollbacks == first.rollbacks >= 1
    assert digest(second.classifier.arrays()) == before
    follow(second, dusk, range(60, 100))
    assert digest(second.classifier.arrays()) == before


def test_where_labels_are_right_again_it_learns_again(misled, environment, dusk):
    localizer = build(FUSED, environment)
    follow(localizer, dusk, range(300))
    assert localizer.rollbacks == 1
    misled.undo()
    follow(localizer, dusk, range(300, len(dusk)))
    lessons = [lesson for after in follow(localizer.new_drive(), dusk, range(len(dusk))) for lesson in after]
    assert localizer.rollbacks == 1
    assert len(lessons) > 20
    assert all(localizer.classifier.holds(lesson) for lesson in lessons)
