"""What a method does in one world: one small JSON file in benchmarks/rows/STUDY/METHOD, kept and never computed twice.

Rows of worlds for choosing stay out of the repository, under runs/proving.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from proving import CHOOSING, HOME, REPORTING, Ground, ReadyGround, work_on_each
from tmapr.artifacts.documents import Document
from tmapr.artifacts.documents.decisions import Decisions
from tmapr.config.dump import tree_digest
from tmapr.config.tree import as_tree
from tmapr.evaluation.decisions import Mapped, judge_decisions
from tmapr.exceptions import InputError
from tmapr.retrieval.memory import Memory
from tmapr.running.progressive import RecognisedDrive
from tmapr.studies.scoring import gather_judged
from tmapr.system import System
from tmapr.types import Estimate

ROWS, CHOOSING_ROWS = HOME / "benchmarks/rows", HOME / "runs/proving/rows"
METHOD = "verified"
"""The method of today, as its rows are called."""


class Row(Document):
    """What a method did in one world, or on one real set, by the name of the drive or of what was done to it."""

    name: str
    kind: str
    style: int | None
    seed: int | None
    spacing: float
    """Metres from reference to reference."""
    settings: str
    """Names the settings that it was made with."""
    drives: dict[str, Decisions]
    offset: dict[str, float] | None = None
    """Metres that a drive keeps beside the mapped one, in the median."""


_ADDED: Mapping[str, object] = {"on_sphere": True, "grouped": False, "options": {}}
"""Settings that came after rows were kept, with the value at which they change nothing."""


def name_settings(system: System) -> str:
    """What rows know settings by: a digest that a new setting which does nothing does not change."""

    def drop_added(tree: Mapping[str, object]) -> dict[str, object]:
        return {
            key: drop_added(value) if isinstance(value, Mapping) else value
            for key, value in tree.items()
            if not (key in _ADDED and value == _ADDED[key])
        }

    return tree_digest(drop_added(as_tree(system)))


def judge_drive(
    drive: RecognisedDrive, estimates: Sequence[Estimate], memory: Memory, mapped: Mapped, since: int = 0
) -> Decisions:
    """What a drive's estimates are worth."""
    known, none = drive.recording.known, np.full(2, np.nan)
    percepts = drive.recording.percepts
    nearest = [
        none if each.fault else memory.positions[np.argmax(memory.similarities(each.descriptor))] for each in percepts
    ]
    judged = replace(gather_judged(drive, estimates), nearest=np.array(nearest)[known])
    return judge_decisions(judged, mapped, since)


def measure_offset(truth: np.ndarray, mapped: Mapped) -> float:
    """Metres that a drive on the map keeps beside the line of the mapped one, in the median."""
    start, stop = mapped.positions[:-1], mapped.positions[1:]
    leg = stop - start
    squared = np.maximum((leg**2).sum(axis=1), 1e-12)
    near = []
    for point in truth:
        along = np.clip(((point - start) * leg).sum(axis=1) / squared, 0.0, 1.0)
        near.append(np.hypot(*(start + along[:, None] * leg - point).T).min())
    beside = np.array(near)
    return float(np.median(beside[beside <= mapped.tolerance], axis=0)) if (beside <= mapped.tolerance).any() else 0.0


def make_row(ready: ReadyGround, drives: dict[str, Decisions], offset: dict[str, float] | None = None) -> Row:
    """The row of a world."""
    ground = ready.ground
    return Row(
        name=ground.name,
        kind=ground.kind,
        style=ground.style,
        seed=ground.seed,
        spacing=ready.mapped.spacing,
        settings=name_settings(ready.system),
        drives=drives,
        offset=offset,
    )


def gather_rows(folder: Path, grounds: Sequence[Ground], work: Callable[[Ground], Row], workers: int) -> list[Row]:
    """The rows of all worlds in their order: those that are kept in the folder, and the others, kept when finished."""
    missing = list_missing(folder, grounds)
    rows = {ground.name: load_current(_path(folder, ground)) for ground in grounds if ground not in missing}
    folder.mkdir(parents=True, exist_ok=True)
    for row in work_on_each(work, missing, workers):
        row.save(folder / f"{row.name}.json")
        rows[row.name] = row
        print(f"{len(rows)} of {len(grounds)}: {row.name}", flush=True)
    return [rows[ground.name] for ground in grounds]


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """What both studies can be asked."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default=METHOD, help="whose rows these are")
    parser.add_argument("--against", help="another method whose rows are kept")
    parser.add_argument("--choosing", action="store_true", help="even styles, for choosing")
    parser.add_argument("--workers", type=int, default=2, help="worlds at a time")
    return parser


def find_worlds(choosing: bool, untrained: bool = False) -> tuple[Path, tuple[Ground, ...]]:
    """The folder of the studies' rows, and the worlds that they are about; `untrained` ones have no pose head."""
    folder, grounds = (CHOOSING_ROWS, CHOOSING) if choosing else (ROWS, REPORTING)
    return folder, tuple(replace(each, trained=each.trained and not untrained) for each in grounds)


def list_missing(folder: Path, grounds: Sequence[Ground]) -> list[Ground]:
    """The worlds that have no row in a folder."""
    return [ground for ground in grounds if not _path(folder, ground).exists()]


def _path(folder: Path, ground: Ground) -> Path:
    return folder / f"{ground.name}.json"


def load_row(path: Path) -> Row:
    """A row that is kept."""
    return Row.load(path, f"make {path.parents[1].name}")


def load_current(path: Path) -> Row:
    """A row that is kept, if the settings of today made it."""
    row = load_row(path)
    if row.settings != name_settings(System()):
        raise InputError(f"{path}: was made with other settings; give a changed method a name of its own with --method")
    return row


def load_rows(folder: Path) -> dict[str, Row]:
    """All kept rows of a method, by name."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no rows of {folder.name!r}; make them with --method {folder.name}")
    return {path.stem: load_row(path) for path in sorted(folder.glob("*.json"))}
