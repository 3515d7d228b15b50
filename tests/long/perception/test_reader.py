"""Processes that read files: they tell what a thread tells, to the last bit, and are missed by nobody when they end."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from spoiled import write_spoiled_drive
from tmapr.artifacts.images import ImageFile, write_frame
from tmapr.perception.bulk import Readers, Reading
from tmapr.perception.glance import Glancer, Shown
from tmapr.perception.image import Image
from tmapr.types import Fault, Frame

GLANCER = Glancer(Image(), (42, 56), compares=True)
PROCESSES = Readers(2, threads=1, long=1)


@pytest.fixture
def drive(rng, tmp_path):
    frames = write_spoiled_drive(tmp_path, rng)
    return [Shown(frame) if frame.index % 9 == 4 else frame for frame in frames]


def tell(chunk):
    """All that a chunk says, as it is when it is judged."""
    return [*map(tell_glance, chunk.glances), list(chunk.shifts), [id(given) for given in chunk.given]]


def tell_glance(glance):
    counts, picture, sight = glance
    sketch = None if sight is None or sight.sketch is None else (sight.sketch.dtype, sight.sketch.tobytes())
    return (
        None if counts is None else (counts.dtype, counts.shape, counts.tobytes()),
        picture if picture is None or isinstance(picture, Fault) else (picture.dtype, picture.shape, picture.tobytes()),
        None if sight is None else (sight.size, sketch),
    )


def read_with_threads(frames, glancer=GLANCER):
    return list(Reading(frames, glancer, tell, Readers(1)).pass_on(1))


class Witnessed:
    """A stream that waits, before frame 24, until a process is ready, and then lets something happen."""

    def __init__(self, frames, happen=lambda pool: None, glancer=GLANCER, judge=tell):
        self._frames, self._happen = frames, happen
        self.reading = Reading(self._watch(), glancer, judge, PROCESSES)

    def _watch(self):
        for row, frame in enumerate(self._frames):
            if row == 24:
                wait_until(lambda: self.reading.pool.count_ready())
                self._happen(self.reading.pool)
            yield frame

    def read(self):
        return list(self.reading.pass_on(PROCESSES.ahead))

    @property
    def answered(self):
        return sum(reader.answered for reader in self.reading.pool.started)


def wait_until(holds):
    while not holds():
        time.sleep(0.01)


def has_ended(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat") as stream:  # a zombie whose parent has not asked yet
        return stream.read().rsplit(")", 1)[1].split()[0] == "Z"


def test_processes_tell_what_a_thread_tells_and_end_with_the_stream(drive):
    witnessed = Witnessed(drive)
    assert witnessed.read() == read_with_threads(drive)
    assert witnessed.answered > 0
    assert all(has_ended(reader.pid) for reader in witnessed.reading.pool.started)


def test_a_network_that_prepares_is_given_counts_that_stay_when_the_process_goes_on(drive):
    kept = []

    def keep(chunk):
        kept.extend(glance.picture for glance in chunk.glances)
        return tell(chunk)

    counts = Glancer(Image(), (42, 56), compares=True, prepares=False)
    witnessed = Witnessed(drive, glancer=counts, judge=keep)
    assert witnessed.read() == read_with_threads(drive, counts)
    assert witnessed.answered > 0
    for given, picture in zip(drive, kept, strict=True):
        if picture is not None:
            np.testing.assert_array_equal(picture, given.image())


def test_a_process_that_is_killed_is_missed_by_nobody_and_told_of(drive, caplog):
    def kill(pool):
        for reader in pool.started:
            os.kill(reader.pid, signal.SIGKILL)

    with caplog.at_level(logging.WARNING, "tmapr"):
        witnessed = Witnessed(drive, kill)
        assert witnessed.read() == read_with_threads(drive)
    ended = "a process that read images ended (code -9); the images are read without it"
    assert {record.getMessage() for record in caplog.records} == {ended}


def test_a_process_that_is_killed_in_the_middle_of_its_work_has_said_nothing(drive):
    """Stopped, it holds a chunk that it has been asked for; then it is killed."""

    def hang(pool):
        for reader in pool.started:
            os.kill(reader.pid, signal.SIGSTOP)
            killers.append(threading.Timer(0.3, os.kill, (reader.pid, signal.SIGKILL)))
            killers[-1].start()

    killers = []
    assert Witnessed(drive, hang).read() == read_with_threads(drive)
    for killer in killers:
        killer.join()


def test_images_that_have_no_place_in_the_memory_and_refused_ones_are_looked_at_by_threads(drive, rng, tmp_path):
    large = []
    for row in range(24):
        write_frame(tmp_path / f"large{row}.png", rng.integers(0, 9000, (200, 300)).astype(np.uint16))
        large.append(Frame("drive", 100 + row, 2000 + row, ImageFile(tmp_path / f"large{row}.png")))
    frames = [*drive[:40], *large]
    witnessed = Witnessed(frames)
    assert witnessed.read() == read_with_threads(frames)
    assert witnessed.answered <= 3


def test_what_is_no_file_is_left_to_threads(drive):
    frames = [Frame("drive", row, row, lambda row=row: np.full((96, 128), row, np.uint16)) for row in range(64)]
    reading = Reading(frames, GLANCER, tell, PROCESSES)
    assert list(reading.pass_on(3)) == read_with_threads(frames)
    assert reading.pool.started == []


def test_a_stream_that_is_left_ends_its_processes(drive):
    reading = Reading(drive, GLANCER, tell, PROCESSES)
    passed = reading.pass_on(3)
    for _ in range(4):
        next(passed)
    passed.close()
    assert reading.pool.started
    assert all(has_ended(reader.pid) for reader in reading.pool.started)


def test_a_process_ends_when_its_stream_is_killed(drive, tmp_path):
    program = """
import os, signal
from tmapr.perception.image import Image
from tmapr.perception.lent import Task
from tmapr.perception.reader import Reader
reader = Reader(Task(image=Image(), size=(42, 56), compares=True, prepares=True, frames=8, counts=40000))
while not reader.is_ready():
    pass
print(reader.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    wait_until(lambda: has_ended(int(ended.stdout)))
