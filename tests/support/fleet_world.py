"""A small world for a fleet: a map of it, robots that drive in run folders and learn, and what one would know."""

from functools import cache

import numpy as np

from descriptor_field import CONDITIONS, DescriptorField
from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.percepts import Recording
from tmapr.config import dump_toml
from tmapr.experiment import Experiment, load
from tmapr.journal.journal import FOLDER, Journal
from tmapr.journal.records import Kind
from tmapr.journal.redo import describe, redo
from tmapr.journal.writer import JournalWriter
from tmapr.perception.settings import Perception
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.simulation.route import block_loop
from tmapr.simulation.route import drive as drive_route
from tmapr.system import System, make_map

DIMENSION = 32
LOSE = 100_000
"""More than a drive learns: nothing is dropped."""
PLACES = Places(cell=15.0, projection=Projection(dimension=64), mixture=Mixture(dimension=8))
EXPERIMENT = Experiment(perception=Perception(encoder="own"), system=System(places=PLACES))


@cache
def record(seed, condition):
    """A drive around the block."""
    field, rng = DescriptorField.from_seed(3, dimension=DIMENSION), np.random.default_rng(seed)
    driven = drive_route(block_loop(120.0, 60.0), 8.0, rng)
    looks = field.descriptors(driven.positions, CONDITIONS[condition], rng)
    return Recording.from_arrays(condition, driven.stamps, looks, truth=driven.positions)


@cache
def map_world():
    """Its map, made at noon."""
    return make_map(EXPERIMENT.system, record(1, "noon"))


def make_run(folder):
    """A run folder with the map and nothing else."""
    map_world().save(folder / "map.npz")
    write_text(folder / "experiment.toml", dump_toml(EXPERIMENT))
    return folder


def drive(folder, rows, seed=2, *, save=True):
    """Drive at dusk in a run folder and learn each frame's true position, with a journal; the lessons."""
    localizer, recording, lessons = load(folder), record(seed, "dusk"), []
    redo(localizer, Journal.open(folder / FOLDER))
    with JournalWriter(folder / FOLDER, describe(localizer), lose_at_most=LOSE, fsync_every=0) as writer:
        for row in rows:
            at = row % len(recording.percepts)
            percept = recording.percepts[at]
            lessons.append(localizer.learn(percept, recording.truth[at]))
            writer.note(row, percept.stamp, lessons[-1:], Kind.LABEL)
        if save:
            localizer.save(folder)
            writer.note_saved(localizer.classifier.ledger.last)
    return lessons


def solve(lessons, base):
    """Batch ridge regression over what a map knows and some lessons with their weights: K, and W by cell."""
    A = np.linalg.inv(base.ridge.covariance)
    Q = A @ base.ridge.weights
    cells = [(column, row) for column, row in base.grid.cells.tolist()]
    for lesson in lessons:
        if lesson.cell not in cells:
            cells.append(lesson.cell)
            Q = np.column_stack([Q, np.zeros(len(A))])
        A += lesson.rows.T @ (lesson.weights[:, None] * lesson.rows)
        Q[:, cells.index(lesson.cell)] += lesson.rows.T @ lesson.weights
    return np.linalg.inv(A), dict(zip(cells, np.linalg.solve(A, Q).T, strict=True))


def compare_with_one_learner(folder, lessons):
    """How far K and W of a run folder are from those of one that learned all these lessons."""
    K, W = solve(lessons, map_world().classifier())
    classifier = load(folder).classifier
    cells = classifier.grid.cells.tolist()
    if {(column, row) for column, row in cells} != set(W):
        return np.inf, np.inf
    found = classifier.ridge.weights.T
    apart = max(float(np.abs(found[number] - W[column, row]).max()) for number, (column, row) in enumerate(cells))
    return float(np.abs(classifier.ridge.covariance - K).max()), apart
