"""A small world for a fleet: a map of it, robots that drive in run folders and learn, and what one would know."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.percepts import Recording
from tmapr.config import dump_toml
from tmapr.experiment import Experiment, load
from tmapr.journal.journal import FOLDER, Journal
from tmapr.journal.records import Kind
from tmapr.journal.redo import describe, redo
from tmapr.journal.writer import JournalWriter
from tmapr.localizer import Localizer
from tmapr.perception.settings import Perception
from tmapr.places.classifier import Classifier, Places
from tmapr.places.lessons import Lesson
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.simulation.percepts import CONDITIONS, DescriptorField
from tmapr.simulation.route import block_loop
from tmapr.simulation.route import drive as drive_route
from tmapr.system import Map, System, make_map

DIMENSION = 32
LOSE = 100_000
"""More than a drive learns: nothing is dropped."""
Cell = tuple[int, int]


def make_experiment(features: int = 64) -> Experiment:
    """Settings with so many features: a state has half their square in numbers, and more."""
    places = Places(cell=15.0, projection=Projection(dimension=features), mixture=Mixture(dimension=8))
    return Experiment(perception=Perception(encoder="own"), system=System(places=places))


@cache
def record(seed: int, condition: str) -> Recording:
    """A drive around the block."""
    field, rng = DescriptorField.from_seed(3, dimension=DIMENSION), np.random.default_rng(seed)
    driven = drive_route(block_loop(120.0, 60.0), 8.0, rng)
    looks = field.descriptors(driven.positions, CONDITIONS[condition], rng)
    return Recording.from_arrays(condition, driven.stamps, looks, truth=driven.positions)


@cache
def map_world(features: int = 64) -> Map:
    """Its map, made at noon."""
    return make_map(make_experiment(features).system, record(1, "noon"))


def make_run(folder: Path, features: int = 64) -> Path:
    """A run folder with the map and nothing else."""
    map_world(features).save(folder / "map.npz")
    write_text(folder / "experiment.toml", dump_toml(make_experiment(features)))
    return folder


def drive(folder: Path, rows: Iterable[int], seed: int = 2, *, save: bool = True) -> list[Lesson]:
    """Drive at dusk in a run folder and learn each frame's true position, with a journal; the lessons."""
    localizer = load(folder)
    redo(localizer, Journal.open(folder / FOLDER))
    lessons = []
    with JournalWriter(folder / FOLDER, describe(localizer), lose_at_most=LOSE, fsync_every=0) as writer:
        for row in rows:
            lessons.append(learn_row(localizer, writer, seed, row))
        if save:
            localizer.save(folder)
            writer.note_saved(localizer.classifier.ledger.last)
    return lessons


def learn_row(localizer: Localizer, writer: JournalWriter, seed: int, row: int) -> Lesson:
    """Learn one frame of a drive."""
    recording = record(seed, "dusk")
    at = row % len(recording.percepts)
    percept = recording.percepts[at]
    lesson = localizer.learn(percept, recording.truth[at])
    writer.note(row, percept.stamp, [lesson], Kind.LABEL)
    return lesson


def solve(lessons: Sequence[Lesson], base: Classifier) -> tuple[Float[np.ndarray, "dim dim"], dict[Cell, np.ndarray]]:
    """Batch ridge regression over what a map knows and some lessons with their weights: K, and W by cell."""
    A = np.linalg.inv(base.ridge.covariance)
    Q = A @ base.ridge.weights
    cells: list[Cell] = [(column, row) for column, row in base.grid.cells.tolist()]
    for lesson in lessons:
        if lesson.cell not in cells:
            cells.append(lesson.cell)
            Q = np.column_stack([Q, np.zeros(len(A))])
        A += lesson.rows.T @ (lesson.weights[:, None] * lesson.rows)
        Q[:, cells.index(lesson.cell)] += lesson.rows.T @ lesson.weights
    return np.linalg.inv(A), dict(zip(cells, np.linalg.solve(A, Q).T, strict=True))


def compare_with_one_learner(folder: Path, lessons: Sequence[Lesson], features: int = 64) -> tuple[float, float]:
    """How far K and W of a run folder are from those of one that learned all these lessons."""
    K, W = solve(lessons, map_world(features).classifier())
    classifier = load(folder).classifier
    if not isinstance(classifier, Classifier):
        raise TypeError(f"a {type(classifier).__name__} is compared on the CPU")
    cells = classifier.grid.cells.tolist()
    if {(column, row) for column, row in cells} != set(W):
        return np.inf, np.inf
    found = classifier.ridge.weights.T
    apart = max(float(np.abs(found[number] - W[column, row]).max()) for number, (column, row) in enumerate(cells))
    return float(np.abs(classifier.ridge.covariance - K).max()), apart
