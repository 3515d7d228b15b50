"""Lessons of no classifier, written to a journal."""

import time

import numpy as np

from tmapr.journal.journal import Journal
from tmapr.journal.segments import Header
from tmapr.journal.writer import JournalWriter
from tmapr.places.lessons import Lesson

WIDTH = 6
HEADER = Header("map", "settings", WIDTH, b"\0" * 8, 0)


def names(folder):
    return [entry.name for entry in Journal.open(folder).lessons]


def lesson(number):
    numbers = np.full(WIDTH, 1.0 * number)
    before = (number - 1).to_bytes(8, "little")
    return Lesson(np.ones((3, 4)), np.ones(3), 2, (1, -1), number, before, numbers, numbers)


def write(folder, header=HEADER, **settings):
    return JournalWriter(folder, header, **settings)


def wait_for(statement, seconds=30.0):
    until = time.monotonic() + seconds
    while not statement() and time.monotonic() < until:
        time.sleep(0.005)
    return statement()
