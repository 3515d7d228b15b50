"""A small world in which a localizer teaches itself, with and without a journal."""

from dataclasses import replace
from functools import cache

import numpy as np

from descriptor_field import CONDITIONS, DescriptorField
from made_up import car_fusion, paper_tracking, record_percepts
from tmapr.config import changed
from tmapr.journal.redo import describe
from tmapr.journal.writer import JournalWriter
from tmapr.labels import Labels
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.simulation.route import block_loop, drive
from tmapr.system import Map, System, build, make_map, resume

DIM = 32
SMALL = Places(cell=15.0, projection=Projection(dimension=64), mixture=Mixture(dimension=8))
SYSTEM = System(places=SMALL)
RECOVERY = 5
PAPER = System(places=SMALL, tracking=paper_tracking(min_similarity=0.82, recovery=RECOVERY), fusion=car_fusion())
METHODS = {"route": SYSTEM, "paper": PAPER}
FUSED = changed(SYSTEM, {"labels": Labels(mode="fused")})
WORLD = DescriptorField.from_seed(3, dimension=DIM)


@cache
def traverse(seed, condition):
    rng = np.random.default_rng(seed)
    return record_percepts(WORLD, condition, drive(block_loop(120.0, 60.0), 8.0, rng), CONDITIONS[condition], rng)


@cache
def environment():
    return make_map(FUSED, traverse(1, "noon"))


def fresh():
    return build(FUSED, environment())


def error(estimate, truth):
    return float(np.hypot(*(estimate.position - truth)))


def without_apr(recording):
    percepts = tuple(replace(percept, position=None, heading=None) for percept in recording.percepts)
    return replace(recording, percepts=percepts)


def restarted(localizer, system, run):
    """The same localizer as a new process finds it in a run folder."""
    localizer.save(run)
    return resume(system, Map.load(run / "map.npz", system), run / "state.npz")


def follow(localizer, rows, writer=None, seed=2):
    """Drive, and teach where the journal has time for it; the lessons."""
    recording, learned = traverse(seed, "dusk"), []
    for row in rows:
        estimate = localizer.observe(recording.percepts[row])
        if writer is not None and not writer.ready:
            writer.note_skipped(row)
            continue
        lessons = localizer.teach(estimate)
        if writer is not None:
            writer.note(row, estimate.stamp, lessons)
        learned += lessons
    return learned


def begin(localizer, folder, **settings):
    return JournalWriter(folder, describe(localizer), **settings)


def learned_arrays(localizer):
    """What a journal brings back: A_t, and what the guard holds of it."""
    arrays = localizer.arrays()
    return {name: array for name, array in arrays.items() if name.startswith(("classifier.", "own.guard.base."))}


def assert_same_bits(left, right):
    assert left.keys() == right.keys()
    for name, array in left.items():
        np.testing.assert_array_equal(array, right[name], err_msg=name)
