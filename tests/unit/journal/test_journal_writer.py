"""Writing a journal beside a drive: bounded, in order, and never in the way."""

import os
import threading
from dataclasses import replace

import numpy as np
import pytest

from journals import HEADER, lesson, names, wait_for, write
from tmapr.artifacts.arrays import Header as ArraysHeader
from tmapr.exceptions import InputError
from tmapr.journal.journal import Journal, name_segment
from tmapr.journal.moment import FILE, Moment
from tmapr.journal.records import Kind
from tmapr.journal.writer import AT_ONCE


def test_what_is_noted_is_written_in_its_order(tmp_path):
    with write(tmp_path) as writer:
        writer.note(5, 50, [lesson(1), lesson(2)])
        writer.note_unlearned(lesson(1))
        writer.note(6, 60, [lesson(3)], Kind.LABEL)
        writer.note_returned(7, replace(HEADER, last=b"12345678", lessons=1))
        assert writer.flush()
        assert writer.written == 3
    journal = Journal.open(tmp_path)
    kinds = [entry.kind for entry in journal.entries]
    assert kinds == [Kind.OWN, Kind.OWN, Kind.UNLEARNED, Kind.LABEL, Kind.RETURNED]
    assert [(entry.frame, entry.stamp) for entry in journal.lessons] == [(5, 50), (5, 50), (6, 60)]
    assert (journal.last, journal.entries[-1].frame) == (b"12345678", 7)


def test_frames_without_teaching_are_kept_as_spans(tmp_path):
    with write(tmp_path) as writer:
        for frame in (3, 4, 6):
            writer.note_skipped(frame)
        writer.note(7, 70, [])
        writer.note_skipped(9)
        writer.note(10, 100, [lesson(1)])
        writer.note_skipped(11)
    assert Journal.open(tmp_path).skipped == [range(3, 7), range(9, 10), range(11, 12)]


def test_a_second_writer_is_refused_and_the_first_one_goes_on(tmp_path):
    with write(tmp_path) as writer:
        with pytest.raises(InputError, match=f"is being written by process {os.getpid()}"):
            write(tmp_path)
        writer.note(1, 10, [lesson(1)])
    write(tmp_path, replace(HEADER, last=(1).to_bytes(8, "little"), lessons=1)).close()
    assert names(tmp_path) == [1]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"map": "other"}, "belongs to another map"),
        ({"settings": "other"}, "belongs to another map"),
        ({"last": b"elsewher"}, "does not end with what is learned"),
    ],
)
def test_a_journal_of_something_else_is_not_continued(other, reason, tmp_path):
    with write(tmp_path) as writer:
        writer.note(1, 10, [lesson(1)])
    with pytest.raises(InputError, match=reason):
        write(tmp_path, replace(HEADER, **other))
    assert names(tmp_path) == [1]


@pytest.mark.parametrize("settings", [{"lose_at_most": AT_ONCE - 1}, {"fsync_every": -1}, {"most": 0}])
def test_settings_that_make_no_sense_are_refused(settings, tmp_path):
    with pytest.raises(InputError, match="lessons"):
        write(tmp_path / "journal", **settings)


class SlowDisk(dict):
    """Arrays that take as long to be written as they are told to."""

    def __init__(self):
        super().__init__(x=np.zeros(3))
        self.began, self.may_end = threading.Event(), threading.Event()

    def items(self):
        self.began.set()
        self.may_end.wait()
        return super().items()


def make_moment(arrays):
    return Moment(ArraysHeader("moment", 1, "settings", {}), bytes(8), arrays)


def test_a_disk_that_hangs_stops_learning_before_more_could_be_lost_and_nobody_waits(tmp_path):
    disk = SlowDisk()
    with write(tmp_path, lose_at_most=5) as writer:
        assert writer.ready
        writer.note_moment(make_moment(disk))
        disk.began.wait()
        noted = 0
        while writer.ready:
            noted += 1
            writer.note(noted, noted, [lesson(noted)])
        assert noted <= 5
        assert not writer.flush(0.01)
        disk.may_end.set()
        assert wait_for(lambda: writer.ready)
        assert writer.flush()
    assert names(tmp_path) == list(range(1, noted + 1))


def test_a_moment_is_written_behind_the_lessons_before_it_and_goes_with_a_whole_state(tmp_path):
    with write(tmp_path) as writer:
        writer.note(1, 10, [lesson(1)])
        writer.note_moment(make_moment({"x": np.arange(3)}))
        assert writer.flush()
        assert (tmp_path / FILE).exists()
        writer.note_saved(b"elsewher")  # something was learned since: the next one counts
        assert writer.flush()
        assert (tmp_path / FILE).exists()
        writer.note_saved((1).to_bytes(8, "little"))
        assert writer.flush()
        assert not (tmp_path / FILE).exists()
    assert [entry.kind for entry in Journal.open(tmp_path).entries] == [Kind.OWN, Kind.SAVED]


def test_a_long_journal_asks_for_a_whole_state_and_stops_learning_without_one(tmp_path):
    with write(tmp_path, most=20, lose_at_most=100) as writer:
        for number in range(1, 101):
            if not writer.ready:
                break
            writer.note(number, number, [lesson(number)])
            writer.flush()
            assert writer.wants_save == (number >= 5)
        assert number == 41
        writer.note_saved((40).to_bytes(8, "little"))
        assert writer.flush()
        assert wait_for(lambda: writer.ready)
    assert len(names(tmp_path)) <= 20  # not before: files that its writer drops go while they are read


def test_a_journal_that_is_removed_underneath_stops_learning_and_says_so(tmp_path):
    with write(tmp_path, lose_at_most=5) as writer:
        writer.note(1, 10, [lesson(1)])
        assert writer.flush()
        (tmp_path / name_segment(1)).unlink()
        writer.note(2, 20, [lesson(2)])
        assert wait_for(lambda: writer.trouble)
        assert "was removed" in writer.trouble
        assert not writer.ready
