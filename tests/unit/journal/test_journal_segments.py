"""Segments of a journal follow on one another: what a torn tail leaves, what each begins with, which may go."""

import numpy as np
import pytest

from tmapr.exceptions import InputError
from tmapr.journal.appending import Appender
from tmapr.journal.journal import Journal, name_segment
from tmapr.journal.records import Kind, LessonRecord, Mark
from tmapr.journal.segments import Header
from tmapr.places.lessons import Kept

HEADER = Header("map", "settings", 4, bytes(8), 7)
"""Of a state that had seven lessons before its journal began."""


def lesson(number):
    before = (number - 1).to_bytes(8, "little")
    return LessonRecord(Kind.OWN, number, number, Kept(np.ones(1), 0, (0, 0), number, before, np.full(4, 0.5), None))


def saved(number):
    return Mark(Kind.SAVED, number.to_bytes(8, "little"), 7 + number)


def write(folder, *records, most=1):
    """By default every lesson begins a segment."""
    appender = Appender(folder, HEADER, most)
    for record in records:
        appender.append([record])
    appender.drop_oldest()
    appender.close()


def test_what_follows_a_torn_tail_is_read_although_it_is_shorter(tmp_path):
    write(tmp_path, lesson(1), lesson(2), most=100)
    path = tmp_path / name_segment(1)
    path.write_bytes(path.read_bytes()[:-1])
    write(tmp_path, saved(1), most=100)
    journal = Journal.open(tmp_path)
    assert ([entry.kind for entry in journal.entries], journal.torn) == ([Kind.OWN, Kind.SAVED], 0)


def test_a_segment_says_how_many_lessons_were_learned_before_it(tmp_path):
    write(tmp_path, lesson(1), lesson(2), lesson(3))
    assert [segment.header.lessons for segment in Journal.open(tmp_path).segments] == [7, 8, 9]


def test_segments_that_changed_places_are_noticed(tmp_path):
    write(tmp_path, *(lesson(number) for number in range(1, 5)))
    second, third = tmp_path / name_segment(2), tmp_path / name_segment(3)
    content = second.read_bytes()
    second.write_bytes(third.read_bytes())
    third.write_bytes(content)
    with pytest.raises(InputError, match="does not go on where"):
        Journal.open(tmp_path)


def test_lessons_behind_a_saved_state_in_its_own_segment_are_kept(tmp_path):
    write(tmp_path, saved(0), lesson(1), lesson(2), lesson(3))
    assert [entry.name for entry in Journal.open(tmp_path).lessons] == [1, 2, 3]
