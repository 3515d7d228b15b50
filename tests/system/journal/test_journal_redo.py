"""A journal that is learned again gives what was there, bit for bit."""

import numpy as np
import pytest

from taught import assert_same_bits, begin, environment, follow, fresh, learned_arrays, traverse
from tmapr.artifacts.arrays import digest
from tmapr.exceptions import InputError
from tmapr.journal.journal import Journal
from tmapr.journal.moment import go_on
from tmapr.journal.records import Kind
from tmapr.journal.redo import describe, redo


@pytest.fixture(scope="module")
def lap(tmp_path_factory):
    """A localizer that taught itself along a lap, the folder of its journal, and the lessons."""
    folder, localizer = tmp_path_factory.mktemp("lap") / "journal", fresh()
    with begin(localizer, folder, lose_at_most=100_000) as writer:
        lessons = follow(localizer, range(190), writer)
    return localizer, folder, lessons


def test_all_lessons_are_in_the_journal_in_their_order(lap):
    _, folder, lessons = lap
    journal = Journal.open(folder)
    assert len(lessons) > 25
    assert [entry.name for entry in journal.lessons] == [lesson.name for lesson in lessons]
    assert [entry.imagined for entry in journal.lessons] == [lesson.imagined for lesson in lessons]
    assert journal.torn == 0


def test_learning_again_equals_never_stopping(lap):
    localizer, folder, lessons = lap
    again = fresh()
    assert redo(again, Journal.open(folder)).lessons == len(lessons)
    assert_same_bits(learned_arrays(again), learned_arrays(localizer))


def test_only_what_the_state_does_not_have_is_learned_again(lap, tmp_path):
    localizer, folder, lessons = lap
    early = fresh()
    follow(early, range(150))
    assert redo(early, Journal.open(folder)).lessons < len(lessons)
    assert_same_bits(learned_arrays(early), learned_arrays(localizer))
    assert redo(early, Journal.open(folder)).lessons == 0


def test_a_state_that_the_journal_does_not_go_on_from_is_refused_and_left_alone(lap):
    _, folder, _ = lap
    other = fresh()
    follow(other, range(200), seed=5)
    before = learned_arrays(other)
    with pytest.raises(InputError, match="does not go on from what is learned here"):
        redo(other, Journal.open(folder))
    assert_same_bits(learned_arrays(other), before)


def test_labels_and_what_was_unlearned_are_done_again(tmp_path):
    localizer, recording = fresh(), traverse(2, "dusk")
    with begin(localizer, tmp_path, lose_at_most=100_000) as writer:
        lessons = follow(localizer, range(200), writer)
        for row in (210, 220):
            estimate = localizer.observe(recording.percepts[row])
            label = localizer.learn(estimate, recording.truth[row])
            writer.note(row, estimate.stamp, [label], Kind.LABEL)
        for gone in (lessons[3], label, lessons[11]):
            localizer.unlearn(gone)
            writer.note_unlearned(gone)
        follow(localizer, range(230, 250), writer)
    again = fresh()
    redo(again, Journal.open(tmp_path))
    assert_same_bits(learned_arrays(again), learned_arrays(localizer))


def test_what_was_unlearned_before_the_state_was_saved_is_not_unlearned_twice(tmp_path):
    localizer = fresh()
    with begin(localizer, tmp_path, lose_at_most=100_000) as writer:
        gone = follow(localizer, range(200), writer)[4]
        localizer.unlearn(gone)
        writer.note_unlearned(gone)
    before = learned_arrays(localizer)
    assert redo(localizer, Journal.open(tmp_path)).taken_back == 0
    assert_same_bits(learned_arrays(localizer), before)


def test_a_state_that_was_saved_before_its_last_lessons_were_written_is_gone_on_from(lap, tmp_path):
    _, folder, lessons = lap
    for path in folder.glob("*.journal"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    ahead = fresh()
    more = follow(ahead, range(200))[len(lessons) :]
    before = learned_arrays(ahead)
    assert go_on(ahead, tmp_path).lessons == 0
    assert_same_bits(learned_arrays(ahead), before)
    with begin(ahead, tmp_path, lose_at_most=100_000) as writer:
        follow(ahead, range(200, 215), writer)
    again = fresh()
    follow(again, range(200))
    assert go_on(again, tmp_path).lessons > 0
    assert_same_bits(learned_arrays(again), learned_arrays(ahead))
    assert more
    late = fresh()
    before = learned_arrays(late)
    with pytest.raises(InputError, match="goes on from a later state"):  # what was not written cannot be learned again
        redo(late, Journal.open(tmp_path))
    assert_same_bits(learned_arrays(late), before)


def test_a_roll_back_is_done_again(tmp_path):
    localizer = fresh()
    with begin(localizer, tmp_path, lose_at_most=100_000) as writer:
        follow(localizer, range(200), writer)
        localizer.roll_back()
        writer.note_returned(199, describe(localizer))
        follow(localizer, range(200, 220), writer)
    early = fresh()
    follow(early, range(150))
    for again in (fresh(), early):
        redo(again, Journal.open(tmp_path))
        assert len(again.classifier.ledger.names) < len(Journal.open(tmp_path).lessons)
        assert_same_bits(learned_arrays(again), learned_arrays(localizer))
        assert again.rollbacks == localizer.rollbacks == 1


def test_a_journal_of_another_map_is_refused(lap):
    from taught import FUSED
    from tmapr.system import build, make_map

    _, folder, _ = lap
    other = build(FUSED, make_map(FUSED, traverse(7, "noon")))
    with pytest.raises(InputError, match="belongs to another map"):
        redo(other, Journal.open(folder))


def test_a_lesson_is_learned_again_only_where_it_was(lap):
    localizer, folder, _ = lap
    journal, other = Journal.open(folder), fresh()
    lesson = other.classifier.rebuild(journal.read_lesson(journal.lessons[5]).kept)
    before = learned_arrays(other)
    with pytest.raises(InputError, match="does not follow on what is learned here"):
        other.classifier.relearn(lesson)
    assert_same_bits(learned_arrays(other), before)
    assert environment().digest == describe(localizer).map
    assert np.isfinite(lesson.rows).all()


def test_a_replay_that_leaves_out_the_frames_that_were_skipped_is_the_same_drive(tmp_path):
    localizer, replayed, recording = fresh(), fresh(), traverse(2, "dusk")
    with begin(localizer, tmp_path, lose_at_most=100_000) as writer:
        for row in range(170):
            estimate = localizer.observe(recording.percepts[row])
            if row % 40 > 33:  # the disk is slow now and then
                writer.note_skipped(row)
            else:
                writer.note(row, estimate.stamp, localizer.teach(estimate))
    journal = Journal.open(tmp_path)
    for row in range(170):
        estimate = replayed.observe(recording.percepts[row])
        if not any(row in span for span in journal.skipped):
            replayed.teach(estimate)
    assert len(journal.lessons) > 10
    assert digest(replayed.arrays()) == digest(localizer.arrays())
    follow(replayed, range(170, 171))
    assert digest(replayed.arrays()) != digest(localizer.arrays())
