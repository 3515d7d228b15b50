"""Writing a journal beside a drive: bounded, in order, and never in the way."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from test_journal_files import HEADER, WIDTH, names
from tmapr.exceptions import InputError
from tmapr.journal.journal import Journal, name_segment
from tmapr.journal.records import Kind
from tmapr.journal.segments import Header
from tmapr.journal.writer import AT_ONCE, JournalWriter
from tmapr.places.lessons import Lesson

import numpy as np


def lesson(number):
    numbers = np.full(WIDTH, 1.0 * number)
    before = (number - 1).to_bytes(8, "little")
    return Lesson(np.ones((3, 4)), np.ones(3), 2, (1, -1), number, before, numbers, numbers)


def wait_for(statement, seconds=20.0):
    until = time.monotonic() + seconds
    while not statement() and time.monotonic() < until:
        time.sleep(0.005)
    return statement()


def test_what_is_noted_is_written_in_its_order(tmp_path):
    with JournalWriter(tmp_path, HEADER) as writer:
        writer.note(5, 50, [lesson(1), lesson(2)])
        writer.note_unlearned(lesson(1))
        writer.note(6, 60, [lesson(3)], Kind.LABEL)
        writer.note_returned(7, Header("map", "settings", WIDTH, b"12345678", 1))
        assert writer.flush()
        assert writer.written == 3
    journal = Journal.open(tmp_path)
    kinds = [entry.kind for entry in journal.entries]
    assert kinds == [Kind.OWN, Kind.OWN, Kind.UNLEARNED, Kind.LABEL, Kind.RETURNED]
    assert [(entry.frame, entry.stamp) for entry in journal.lessons] == [(5, 50), (5, 50), (6, 60)]
    assert journal.last == b"12345678"


def test_frames_without_teaching_are_kept_as_spans(tmp_path):
    with JournalWriter(tmp_path, HEADER) as writer:
        for frame in (3, 4, 6):
            writer.note_skipped(frame)
        writer.note(7, 70, [])
        writer.note_skipped(9)
        writer.note(10, 100, [lesson(1)])
        writer.note_skipped(11)
    assert Journal.open(tmp_path).skipped == [range(3, 7), range(9, 10), range(11, 12)]


def test_a_second_writer_is_refused_and_the_first_one_goes_on(tmp_path):
    with JournalWriter(tmp_path, HEADER) as writer:
        with pytest.raises(InputError, match=f"is being written by process {os.getpid()}"):
            JournalWriter(tmp_path, HEADER)
        writer.note(1, 10, [lesson(1)])
    JournalWriter(tmp_path, Header("map", "settings", WIDTH, (1).to_bytes(8, "little"), 1)).close()
    assert names(tmp_path) == [1]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (Header("other", "settings", WIDTH, bytes(8), 0), "belongs to another map"),
        (Header("map", "other", WIDTH, bytes(8), 0), "belongs to another map"),
        (Header("map", "settings", WIDTH, b"elsewher", 1), "does not end with what is learned"),
    ],
)
def test_a_journal_of_something_else_is_not_continued(header, reason, tmp_path):
    with JournalWriter(tmp_path, HEADER) as writer:
        writer.note(1, 10, [lesson(1)])
    with pytest.raises(InputError, match=reason):
        JournalWriter(tmp_path, header)
    assert names(tmp_path) == [1]


@pytest.mark.parametrize("settings", [{"lose_at_most": AT_ONCE - 1}, {"fsync_every": -1}, {"most": 0}])
def test_settings_that_make_no_sense_are_refused(settings, tmp_path):
    with pytest.raises(InputError, match="lessons"):
        JournalWriter(tmp_path / "journal", HEADER, **settings)


def test_nothing_more_is_learned_than_may_be_lost(tmp_path):
    """The disk hangs: a FIFO in place of the file, whose reader does not read."""
    with JournalWriter(tmp_path, HEADER, lose_at_most=5) as writer:
        assert writer.ready
        gate = threading.Lock()
        gate.acquire()
        hold = threading.Thread(target=_hold, args=(writer, gate))
        hold.start()
        noted = 0
        while writer.ready and noted < 100:
            noted += 1
            writer.note(noted, noted, [lesson(noted)])
        assert noted <= 5
        gate.release()
        hold.join()
        assert wait_for(lambda: writer.ready)
        assert writer.flush()
    assert len(names(tmp_path)) == noted


def _hold(writer, gate):
    """Hold the thread up, as a disk does, at what it needs for every batch."""
    with writer._changed:  # noqa: SLF001
        pass
    gate.acquire()
    gate.release()
