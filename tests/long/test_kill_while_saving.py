"""A robot's power may go at any moment: SIGKILL while saving leaves the old state or the new one, whole."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

import tmapr
from descriptor_field import CONDITIONS, DescriptorField
from made_up import record_percepts
from tmapr.artifacts.arrays import digest, load_arrays
from tmapr.artifacts.atomic import write_text
from tmapr.config import dump_toml
from tmapr.experiment import Experiment
from tmapr.perception.settings import Perception
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.simulation.route import block_loop, drive
from tmapr.stages import STATE_KIND, STATE_VERSION
from tmapr.system import System, make_map

EXPERIMENT = Experiment(
    perception=Perception(encoder="own"),
    system=System(places=Places(projection=Projection(dimension=64), mixture=Mixture(dimension=8))),
)

# Importing and the first lesson take a second, so one process does both and forks a writer for every line it reads.
WRITERS = """
import os, sys
import numpy as np
import tmapr
from tmapr.artifacts.arrays import digest
from tmapr.types import Percept


def say(line):
    os.write(1, f"{line}\\n".encode())  # one call, so that a kill never leaves half a line


def learn(localizer, rng):
    descriptor = rng.normal(size=localizer.classifier.dimension)
    percept = Percept(0, descriptor / np.linalg.norm(descriptor))
    localizer.learn(percept, rng.uniform(-60, 60, size=2))


def write_forever(run, rng):
    localizer = tmapr.load(run)
    say(os.getpid())
    while True:
        learn(localizer, rng)
        say(f"saving {digest(localizer.arrays())}")
        localizer.save(run)
        say("saved")


run = sys.argv[1]
learn(tmapr.load(run), np.random.default_rng(0))
for seed, _ in enumerate(sys.stdin):
    writer = os.fork()
    if not writer:
        write_forever(run, np.random.default_rng(seed))
    os.waitpid(writer, 0)
    say("killed")
"""


@pytest.fixture
def run(tmp_path):
    """A run folder with a map and no state yet."""
    rng = np.random.default_rng(1)
    way = drive(block_loop(60.0, 30.0), 8.0, rng)
    reference = record_percepts(DescriptorField.from_seed(3, dimension=16), "noon", way, CONDITIONS["noon"], rng)
    make_map(EXPERIMENT.system, reference).save(tmp_path / "map.npz")
    write_text(tmp_path / "experiment.toml", dump_toml(EXPERIMENT))
    return tmp_path


@contextmanager
def writers(run):
    """The process that forks writers; whatever happens here, none of them outlives it."""
    command = [sys.executable, "-c", WRITERS, str(run)]
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # a fork copies no threads, only the locks they hold
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen(command, env=alone, start_new_session=True, **pipes) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def lines_until(process, last):
    """What the writer said, up to and without `last`."""
    said = []
    for line in map(str.strip, process.stdout):
        if line == last:
            return said
        if line == "killed":
            break
        said.append(line)
    raise AssertionError(f"the writer ended by itself before it said {last!r}")


def kill_one(process, delay):
    """The digests of the states a writer began to save, and whether the kill came between its saves."""
    process.stdin.write("\n")
    pid, *said = lines_until(process, "saved")
    time.sleep(delay)
    os.kill(int(pid), signal.SIGKILL)
    said += ["saved", *lines_until(process, "killed")]
    return [line.removeprefix("saving ") for line in said if line != "saved"], said[-1] == "saved"


def test_two_hundred_kills_leave_the_last_state_or_the_one_being_written(run):
    rng = np.random.default_rng(200)
    interrupted = 0
    with writers(run) as process:
        for delay in rng.uniform(0, 0.05, size=200):
            begun, between = kill_one(process, delay)
            _, arrays = load_arrays(run / "state.npz", STATE_KIND, STATE_VERSION)
            assert digest(arrays) in (begun[-1:] if between else begun[-2:])
            assert digest(tmapr.load(run).arrays()) == digest(arrays)
            interrupted += not between
    # Saving takes most of a writer's time; were no save interrupted, nothing would have been tested.
    assert interrupted > 0
