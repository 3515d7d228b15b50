"""Real places in one table: how often the right reference ranks first, and what the whole pipeline makes of it.

    python benchmarks/real_places.py [--choosing] [--untrained] [--only NAME …] [--variants NAME …]

Gardens Point three ways, KAIST visible → LWIR, METU in R@1, the descriptor streams where only the online half varies,
and the worlds of `make styles`, cities once more with a map thinned to 5 m. A variant is a line of `VARIANTS`; rows are
kept in benchmarks/rows/places/VARIANT, one file a set or world, and what is there is not computed again. Right is, of
the ranking that the system itself uses: Gardens within 2 frames, KAIST 3 m, METU the same scene, rendered 10 m.
Differences are paired: by blocks of ten frames on a set, by worlds in a family; intervals are Student's.
"""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from decision_tables import mean_cell, show_table
from place_sets import PlaceSet, Trial, cut_pooling, drop_keypoints, list_sets, load_trial, weigh_head
from proving import HOME
from proving_rows import ROWS, find_worlds, judge_drive, name_settings
from real_sets import REAL
from tmapr.artifacts.documents import Document
from tmapr.artifacts.documents.decisions import Decisions
from tmapr.artifacts.percepts import Recording
from tmapr.evaluation.curves import average_precision, precision_recall
from tmapr.evaluation.decisions import Mapped
from tmapr.exceptions import InputError
from tmapr.labels import Labels
from tmapr.localizer import Localizer
from tmapr.retrieval.search import Retrieval
from tmapr.running.progressive import RecognisedDrive, adapt
from tmapr.system import System, build, make_map
from tmapr.types import Estimate, Recognition

POOLED = 896
"""Numbers of the joined descriptor that are pooling's: eight cells of 112 channels."""
JOINED = 1984
_HEAVIER = 0.7 / 0.5
_BLOCK, _RANKS = 10, 5


@dataclass(frozen=True, slots=True)
class Variant:
    """A method: the settings of the online half, and what it makes of percepts."""

    name: str
    system: System = System()  # noqa: RUF009 (frozen)
    perceive: Callable[[Recording], Recording] | None = None
    joined: bool = False
    """Whether it needs the joined descriptor: sets with another one are left out."""


def cut_to_pooling(recording: Recording) -> Recording:
    """With the pooling's part of the descriptor alone."""
    return drop_keypoints(cut_pooling(recording, POOLED))


def take_back(recording: Recording) -> Recording:
    """As it was shipped before: the head with more weight beside the pooling, where there is one."""
    if recording.percepts[0].descriptor.size != JOINED:
        return drop_keypoints(recording)
    return drop_keypoints(weigh_head(recording, POOLED, _HEAVIER))


_PLAIN = System(retrieval=Retrieval(centred=False))
BEFORE = "before"
VARIANTS = (
    Variant("pooling", _PLAIN, cut_to_pooling, joined=True),
    Variant(BEFORE, _PLAIN, take_back),
    Variant("centred", perceive=drop_keypoints),
    Variant("default"),
    Variant("fused", System(labels=Labels(mode="fused"))),
)
"""Plain pooling, and the joined descriptor with the head's former weight, each compared as it is; centred; with local
verification and all else, as it is run; and learning from itself."""


class PlaceRow(Document):
    """What a variant did on one set or in one world."""

    name: str
    kind: str
    settings: str
    """Names the settings that it was made with."""
    ranks: list[int]
    """Of each frame: the rank of the first right candidate, from 0; −1 where none of the first five is right."""
    average_precision: float | None
    """Of the first candidates, in the order of their similarity."""
    decisions: Decisions | None
    """Of the whole pipeline; None where positions are scenes."""

    def recall(self, count: int) -> float:
        """R@count."""
        return float(np.mean([0 <= rank < count for rank in self.ranks]))


Figure = Callable[[PlaceRow], float | None]
COLUMNS: Mapping[str, Figure] = {
    "R@1": lambda row: row.recall(1),
    "R@5": lambda row: row.recall(_RANKS),
    "AP": lambda row: row.average_precision,
    "RMSE, m": lambda row: row.decisions.rmse if row.decisions else None,
    "wrong": lambda row: row.decisions.wrong if row.decisions else None,
    "localized": lambda row: row.decisions.localized if row.decisions else None,
    "in 95 %": lambda row: row.decisions.coverage95 if row.decisions else None,
}


def run_variant(variant: Variant, chosen: PlaceSet, trial: Trial) -> PlaceRow:
    """Map, adapt where there is something to adapt to, and ask, learning as the variant does."""
    perceive = variant.perceive or (lambda recording: recording)
    environment = make_map(variant.system, perceive(trial.reference))
    localizer, asked = build(variant.system, environment), perceive(trial.asked)
    if trial.adapted is not None:
        adapt(localizer, perceive(trial.adapted), range(len(trial.adapted)))
    learned = localizer.tracker.learned()
    seen, estimates = _ask(localizer, asked)
    decisions = None
    if chosen.driven:
        memory = environment.memory
        drive = RecognisedDrive(asked, tuple(seen), memory, learned)
        decisions = judge_drive(drive, estimates, memory, Mapped(memory.positions[memory.order]))
    return PlaceRow(
        name=chosen.name,
        kind=chosen.kind,
        settings=name_settings(variant.system),
        ranks=_rank(trial, seen),
        average_precision=_measure_precision(trial, seen),
        decisions=decisions,
    )


def _ask(localizer: Localizer, asked: Recording) -> tuple[list[Recognition | None], list[Estimate]]:
    """The first candidates of each frame as they rank when it comes, and its estimate."""
    seen: list[Recognition | None] = []
    estimates = []
    for percept in asked.percepts:
        seen.append(None if percept.fault else localizer.recognise(percept, _RANKS))
        estimates.append(localizer.observe(percept))
        localizer.teach(estimates[-1])
    return seen, estimates


def _rank(trial: Trial, seen: Sequence[Recognition | None]) -> list[int]:
    def first_right(row: int, found: Recognition | None) -> int:
        right = [trial.right(each, row) for each in found.candidates] if found else []
        return right.index(True) if True in right else -1

    return [first_right(row, found) for row, found in enumerate(seen) if trial.asked.known[row]]


def _measure_precision(trial: Trial, seen: Sequence[Recognition | None]) -> float | None:
    firsts = [(row, found.first) for row, found in enumerate(seen) if found and found.first and trial.asked.known[row]]
    similarity = np.array([first.similarity for _, first in firsts])
    correct = np.array([trial.right(first, row) for row, first in firsts])
    everything = np.ones(len(firsts), dtype=bool)
    return average_precision(precision_recall(similarity, found=everything, correct=correct, opportunity=everything))


def gather(variants: Sequence[Variant], sets: Sequence[PlaceSet], kept: Path, given: argparse.Namespace) -> None:
    """Make the rows that are missing; what is encoded in one folder is opened by one process."""
    groups: dict[str, list[PlaceSet]] = {}
    for each in sets:
        groups.setdefault(each.ground.name if each.ground else "", []).append(each)
    work = partial(make_rows, variants, kept=kept, data=given.data, home=given.home)
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(work, group) for group in groups.values()]):
            done.result()


def make_rows(variants: Sequence[Variant], group: Sequence[PlaceSet], kept: Path, data: Path, home: Path) -> None:
    """The missing rows of some sets, each kept when it is finished."""
    for chosen in group:
        able = [each for each in variants if chosen.joined or not each.joined]
        for each in able:
            _refuse_stale(each, _path(kept, each.name, chosen))
        missing = [each for each in able if not _path(kept, each.name, chosen).exists()]
        if not missing:
            continue
        trial = load_trial(chosen, data, home)
        for variant in missing:
            path = _path(kept, variant.name, chosen)
            path.parent.mkdir(parents=True, exist_ok=True)
            run_variant(variant, chosen, trial).save(path)
            print(f"{variant.name}: {chosen.name}", flush=True)


def _refuse_stale(variant: Variant, path: Path) -> None:
    if path.exists() and PlaceRow.load(path, "make places").settings != name_settings(variant.system):
        raise InputError(f"{path}: was made with other settings; remove it, or give the variant a name of its own")


def _path(kept: Path, variant: str, chosen: PlaceSet) -> Path:
    """Real sets are the same whichever worlds are asked."""
    folder = kept if chosen.ground else ROWS
    return folder / "places" / variant / f"{chosen.name}.json"


def load_rows(names: Sequence[str], sets: Sequence[PlaceSet], kept: Path) -> dict[str, dict[str, PlaceRow]]:
    """What is kept, by set and variant."""
    return {
        each.name: {
            name: PlaceRow.load(_path(kept, name, each), "make places")
            for name in names
            if _path(kept, name, each).exists()
        }
        for each in sets
    }


def show(rows: Mapping[str, Mapping[str, PlaceRow]], sets: Sequence[PlaceSet]) -> None:
    """A table a set for the real ones, a table a family for the worlds, each with its paired differences."""
    for kind in dict.fromkeys(each.kind for each in sets):
        names = [each.name for each in sets if each.kind == kind and rows[each.name]]
        groups = [[name] for name in names] if kind in ("real", "stream") else [names] if names else []
        for group in groups:
            _show_group(group[0] if len(group) == 1 else f"{kind}, {len(group)} worlds", [rows[name] for name in group])


def _show_group(title: str, rows: Sequence[Mapping[str, PlaceRow]]) -> None:
    variants = [
        name for name in dict.fromkeys(name for row in rows for name in row) if all(name in row for row in rows)
    ]
    lines = [(name, [mean_cell(figure(row[name]) for row in rows) for figure in COLUMNS.values()]) for name in variants]
    show_table(title, lines, COLUMNS)
    if BEFORE in variants and len(variants) > 1:
        less = [(name, _subtract(rows, name)) for name in variants if name != BEFORE]
        show_table(f"{title}, less {BEFORE} [95 %]", less, COLUMNS if len(rows) > 1 else ["R@1", "R@5"])


def _subtract(rows: Sequence[Mapping[str, PlaceRow]], name: str) -> list[str]:
    if len(rows) > 1:
        return [mean_cell(_less(figure, row[name], row[BEFORE]) for row in rows) for figure in COLUMNS.values()]
    return [mean_cell(_block_differences(rows[0][name], rows[0][BEFORE], count)) for count in (1, _RANKS)]


def _less(figure: Figure, ours: PlaceRow, theirs: PlaceRow) -> float | None:
    values = figure(ours), figure(theirs)
    return None if values[0] is None or values[1] is None else values[0] - values[1]


def _block_differences(ours: PlaceRow, theirs: PlaceRow, count: int) -> list[float]:
    """Of blocks of frames, since neighbours err together."""
    ranks = np.array([ours.ranks, theirs.ranks])
    hits = ((ranks >= 0) & (ranks < count)).astype(float)
    blocks = np.array_split(hits[0] - hits[1], max(2, round(hits.shape[1] / _BLOCK)))
    return [float(block.mean()) for block in blocks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--choosing", action="store_true", help="even styles, for choosing")
    parser.add_argument("--untrained", action="store_true", help="no world has a pose head")
    parser.add_argument("--only", nargs="*", help="names of sets, or how they begin")
    parser.add_argument("--variants", nargs="*", help="names of variants to make rows of; none: all")
    parser.add_argument("--home", type=Path, default=HOME, help="where worlds are kept")
    parser.add_argument("--data", type=Path, default=REAL, help="folder of the real sets")
    parser.add_argument("--workers", type=int, default=2, help="rows at a time")
    given = parser.parse_args()
    folder, grounds = find_worlds(given.choosing, given.untrained)
    sets = [each for each in list_sets(grounds) if not given.only or each.name.startswith(tuple(given.only))]
    variants = [each for each in VARIANTS if not given.variants or each.name in given.variants]
    gather(variants, sets, folder, given)
    show(load_rows([each.name for each in VARIANTS], sets, folder), sets)


if __name__ == "__main__":
    main()
