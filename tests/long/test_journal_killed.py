"""SIGKILL while a robot teaches itself: few lessons are lost, and the rest is as if those had never been learned."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

import tmapr
from repository import SUPPORT
from taught import FUSED, assert_same_bits, environment, fresh
from tmapr.artifacts.arrays import take
from tmapr.artifacts.atomic import write_text
from tmapr.config import dump_toml
from tmapr.experiment import Experiment
from tmapr.journal.journal import FOLDER, Journal
from tmapr.journal.moment import go_on
from tmapr.perception.settings import Perception

EXPERIMENT = Experiment(perception=Perception(encoder="own"), system=FUSED)
LOSE_AT_MOST = 6

# Importing and compiling take seconds, so one process does both and forks a driver for every line it reads.
DRIVERS = """
import os, sys
from dataclasses import replace
from pathlib import Path
import tmapr
from taught import follow, fresh, traverse
from tmapr.journal.journal import FOLDER
from tmapr.journal.moment import Moment, go_on
from tmapr.journal.redo import describe
from tmapr.journal.writer import JournalWriter


def say(line):
    os.write(1, f"{line}\\n".encode())  # one call, so that a kill never leaves half a line


def drive(run, first):
    localizer = tmapr.load(run)
    go_on(localizer, run / FOLDER)
    writer = JournalWriter(run / FOLDER, describe(localizer), lose_at_most=LOSE, fsync_every=5, most=400)
    say(os.getpid())
    recording, number = traverse(2, "dusk"), first
    lap = int(recording.percepts[-1].stamp - recording.percepts[0].stamp) + 100_000_000
    while True:
        laps, row = divmod(number, len(recording))
        percept = recording.percepts[row]
        estimate = localizer.observe(replace(percept, stamp=percept.stamp + laps * lap))
        if writer.ready:
            lessons = localizer.teach(estimate)
            for lesson in lessons:
                say(f"{lesson.name:016x}")
            writer.note(number, estimate.stamp, lessons)
        else:
            writer.note_skipped(number)
        if number % 5 == 0:
            writer.note_moment(Moment.of(localizer))
        if writer.wants_save and writer.flush():
            last = localizer.classifier.ledger.last
            localizer.save(run)
            writer.note_saved(last)
        number += 1


run = Path(sys.argv[1])
follow(fresh(), range(120))
for line in sys.stdin:
    driver = os.fork()
    if not driver:
        drive(run, int(line))
    os.waitpid(driver, 0)
    say("killed")
""".replace("LOSE", str(LOSE_AT_MOST))


@pytest.fixture
def run(tmp_path):
    environment().save(tmp_path / "map.npz")
    write_text(tmp_path / "experiment.toml", dump_toml(EXPERIMENT))
    return tmp_path


@contextmanager
def drivers(run):
    """The process that forks drivers; whatever happens here, none of them outlives it."""
    command = [sys.executable, "-c", DRIVERS, str(run)]
    path = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path}  # a fork copies no threads
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen(command, env=alone, start_new_session=True, **pipes) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def drive_and_kill(process, first, delay):
    """The names of the lessons that a driver learned before it was killed."""
    process.stdin.write(f"{first}\n")
    pid = int(process.stdout.readline())
    learned = [process.stdout.readline().strip()]
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)
    for line in map(str.strip, process.stdout):
        if line == "killed":
            return [int(name, 16) for name in learned]
        learned.append(line)
    raise AssertionError("the drivers ended by themselves")


class Witness:
    """Learns what the journal has from frames and places alone, and never what was lost."""

    def __init__(self):
        self.localizer = fresh()
        self.names = []
        self.seen = {}

    def read(self, run):
        journal = Journal.open(run / FOLDER)
        for entry in journal.lessons:
            if entry.name not in self.seen:
                kept = journal.read_lesson(entry).kept
                self.seen[entry.name] = kept.descriptor, kept.cell

    def follow(self, names):
        """Learn the lessons that came since."""
        assert names[: len(self.names)] == self.names
        grid = self.localizer.classifier.grid
        for name in names[len(self.names) :]:
            descriptor, cell = self.seen[name]
            lesson = self.localizer.classifier.learn(descriptor, grid.origin + (np.array(cell) + 0.5) * grid.cell)
            assert lesson.name == name
        self.names = names


def test_two_hundred_kills_lose_few_lessons_and_the_rest_is_as_if_those_had_never_been_learned(run):
    rng, witness, lost_ones, first = np.random.default_rng(200), Witness(), [], 0
    base = fresh().classifier.arrays()
    with drivers(run) as process:
        for delay in rng.uniform(0, 0.3, size=200):
            learned = drive_and_kill(process, first, delay)
            witness.read(run)
            again = tmapr.load(run)
            told = []
            go_on(again, run / FOLDER, told.append)
            assert not [line for line in told if "a lesson that was being written" not in line]
            names = again.classifier.ledger.names.tolist()
            lost = [name for name in learned if name not in names]
            assert lost == learned[len(learned) - len(lost) :]
            assert len(lost) <= LOSE_AT_MOST
            witness.follow(names)
            assert_same_bits(again.classifier.arrays(), witness.localizer.classifier.arrays())
            assert_same_bits(take(again.arrays(), "own.guard.base.ridge."), take(base, "ridge."))
            lost_ones.append(len(lost))
            first = Journal.open(run / FOLDER).lessons[-1].frame + 1
    assert len(witness.names) > 200
    # Were nothing ever lost, nothing would have been tested.
    assert sum(lost_ones) > 0
