"""Other ways to decide over time, on the same evidence: a sequence search and a particle filter beside our filter.

    python benchmarks/rival_filters.py [--choosing] [--tune] [--untrained] [--home FOLDER] [--workers N]

Only what carries belief from view to view is exchanged. When a view is new, what it says of every reference, the Kalman
filter behind it and the rule of `localized` are the product's: the tables compare nothing but the decision over time.
Every world of the proving grounds is asked at night and on the night that leaves the map. `--tune` compares the values
that the rivals' were chosen from, on even styles.
"""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from decision_tables import Figure, mean_cell, show_table
from proving import CHOOSING, HOME, REPORTING, Ground, ReadyGround, make_ready, work_on_each
from proving_rows import judge_drive
from rivals import ParticleFilter, Rival, SequenceSearch
from tmapr.artifacts.documents.decisions import Decisions
from tmapr.running.progressive import RecognisedDrive
from tmapr.system import System
from tmapr.track import RouteTracker
from tmapr.tracking.route import Route
from tmapr.types import Estimate

DRIVES = ("night", "away")
OURS = "route filter"
Make = Callable[[Route], Rival]
Judgements = dict[str, dict[str, Decisions]]
"""By method, then by drive."""

RIVALS: Mapping[str, Make] = {"sequence search": SequenceSearch, "particle filter": ParticleFilter}

TRIED: Mapping[str, Make] = {
    **{
        f"sequence of {views}, margin {margin:g}, by {ruler}": partial(
            SequenceSearch, views=views, margin=margin, ruler=ruler
        )
        for ruler in ("views", "seconds")
        for views in (10, 20)
        for margin in (6.0, 12.0, 24.0)
    },
    **{
        f"particles, {restarts:g} anew, evidence × {belief:g}": partial(
            ParticleFilter, restarts=restarts, belief=belief
        )
        for restarts in (0.01, 0.05)
        for belief in (0.25, 0.5, 1.0)
    },
}

SHOWN: dict[str, Figure] = {
    "localized": lambda each: each.localized,
    "wrong": lambda each: float(each.wrong),
    "wrong, m": lambda each: each.wrong_metres,
    "back after, m": lambda each: each.recovered_after,
    "RMSE, m": lambda each: each.rmse,
    "off map": lambda each: each.off_localized / each.off_map if each.off_map else None,
}
"""The last is the share of frames farther than 20 m from every reference that were called `localized`."""


def decide(drive: RecognisedDrive, system: System, make: Make | None) -> list[Estimate]:
    """A drive's estimates with a rival in the place of the route filter; as the product gives them without one."""
    tracker = RouteTracker(system.tracking, system.fusion, drive.memory)
    if make is not None:
        tracker.placer.filter = make(tracker.placer.route)  # type: ignore[assignment]
    return drive.follow(tracker)


def judge_world(ready: ReadyGround, rivals: Mapping[str, Make]) -> Judgements:
    """What all make of one world."""
    makes: dict[str, Make | None] = {**rivals, OURS: None}
    judged: Judgements = {name: {} for name in makes}
    mapped, memory = ready.mapped, ready.environment.memory
    for name in DRIVES:
        drive = ready.recognise(name)
        since = mapped.return_row(drive.recording.truth[drive.recording.known]) if name == "away" else 0
        for method, make in makes.items():
            estimates = decide(drive, ready.system, make)
            judged[method][name] = judge_drive(drive, estimates, memory, mapped, since)
    return judged


def run_world(ground: Ground, home: Path, tune: bool) -> tuple[Ground, Judgements]:
    return ground, judge_world(make_ready(ground, home), TRIED if tune else RIVALS)


def show_families(worlds: Sequence[tuple[Ground, Judgements]]) -> None:
    """A table a family and drive: a line a method, means over its worlds."""
    for kind in dict.fromkeys(ground.kind for ground, _ in worlds):
        own = [judged for ground, judged in worlds if ground.kind == kind]
        for drive in DRIVES:
            show_methods(f"{kind}, {drive}: means over {len(own)} worlds [95 %]", own, drive)


def show_methods(title: str, own: Sequence[Judgements], drive: str) -> None:
    lines = [
        (method, [mean_cell(figure(judged[method][drive]) for judged in own) for figure in SHOWN.values()])
        for method in own[0]
    ]
    show_table(title, lines, SHOWN)


def show_sums(worlds: Sequence[tuple[Ground, Judgements]]) -> None:
    """A line a method over all worlds."""
    all_worlds = [judged for _, judged in worlds]
    for drive in DRIVES:
        show_methods(f"All {len(all_worlds)} worlds, {drive}: means [95 %]", all_worlds, drive)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--choosing", action="store_true", help="even styles, for choosing")
    parser.add_argument("--tune", action="store_true", help="compare the values that were tried; implies --choosing")
    parser.add_argument("--untrained", action="store_true", help="no world has a pose head")
    parser.add_argument("--home", type=Path, default=HOME, help="where data/proving and runs/proving are")
    parser.add_argument("--workers", type=int, default=2, help="worlds at a time")
    given = parser.parse_args()
    grounds = CHOOSING if given.choosing or given.tune else REPORTING
    if given.untrained:
        grounds = tuple(replace(ground, trained=False) for ground in grounds)
    found = dict(work_on_each(partial(run_world, home=given.home, tune=given.tune), grounds, given.workers))
    worlds = [(ground, found[ground]) for ground in grounds]
    show_sums(worlds)
    if not given.tune:
        show_families(worlds)


if __name__ == "__main__":
    main()
