"""Ablations of several runs, typically worlds or seeds, row by row and as means over them.

The mean of a difference has Student's t interval over the runs' own paired differences: with a handful of runs a
bootstrap over them would promise too narrow an interval.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tmapr.artifacts.documents.runs import LoopFigures
from tmapr.artifacts.documents.studies import Ablation, AblationRow, Gap, RowFigures
from tmapr.artifacts.run import RunFolder
from tmapr.evaluation.bootstrap import mean_interval
from tmapr.evaluation.recall import RANKS
from tmapr.exceptions import InputError
from tmapr.experiment import read_experiment
from tmapr.running.current import load_current
from tmapr.studies.comparison import Standing

RECALLS_AT = tuple(map(str, RANKS))
"""How many candidates are looked at, as ablation.json spells it."""

_VERDICTS = {
    "subset": (Standing.WORSE, Standing.BETTER),
    "system": (Standing.BETTER, Standing.WORSE),
}
"""What a difference below and above zero means: of F1 more is better, of full's RMSE less."""


@dataclass(frozen=True, slots=True)
class AblatedRun:
    """An ablation, the folder of its run, and a name for that which no other has; lines on its recordings."""

    run: str
    folder: Path
    ablation: Ablation
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AblationLine:
    """A variant on a test sequence: of one run, or the mean over several."""

    run: str
    runs: int
    sequence: str
    variant: AblationRow
    outcome: RowFigures


def load_ablations(runs: Sequence[Path]) -> list[AblatedRun]:
    """The ablations of run folders, named by their experiments, or by the folder where several share one."""
    places = [path.resolve() for path in runs]
    for path, place in zip(runs, places, strict=True):
        if places.count(place) > 1:
            raise InputError(f"{path}: is given twice and would count as two; name every run once")
    found = [_load_ablation(path) for path in runs]
    names = [ablation.experiment for ablation in found]
    return [
        AblatedRun(name if names.count(name) == 1 else str(path), path, ablation, _refuse_changed(path, ablation))
        for name, path, ablation in zip(names, runs, found, strict=True)
    ]


def _load_ablation(run: Path) -> Ablation:
    path, again = RunFolder(run).ablation_json, _name_command(run)
    if not path.exists():
        raise InputError(f"{run}: holds no ablation.json; make one with `{again}`")
    return Ablation.load(path, again)


def _name_command(run: Path) -> str:
    return f"tmapr ablate {run}/experiment.toml --run {run}"


def _refuse_changed(run: Path, ablation: Ablation) -> tuple[str, ...]:
    """Refuse figures of recordings that have changed since; lines on what could not be looked at.

    A file that came without its rows is believed.
    """
    folder, made_from, remarks = RunFolder(run), ablation.made_from, list[str]()
    rows = sorted(folder.ablation.glob("*/experiment.toml"))
    if not rows or not all(folder.percepts(name).exists() for name in made_from):
        return ()
    experiment, way_out = read_experiment(rows[0], tell=remarks.append), f"make it anew with `{_name_command(run)}`"
    frame = None
    for name, marks in made_from.items():  # the first is the map's first traverse
        now = load_current(experiment, folder, name, frame, remarks.append, way_out)
        frame = frame or now.frame
        if (now.marks.percepts, now.marks.truth) != (marks.percepts, marks.truth):
            raise InputError(f"{folder.ablation_json}: {name} has changed since it was made; {way_out}")
    return tuple(remarks)


def list_lines(given: Sequence[AblatedRun], choose: Callable[[Ablation], list[AblationRow]]) -> Iterator[AblationLine]:
    """Sequence by sequence: every run's variants, then the means of those that several runs have."""
    variants = [(one.run, variant) for one in given for variant in choose(one.ablation)]
    for sequence in dict.fromkeys(name for _, variant in variants for name in variant.test):
        single = [
            AblationLine(run, 1, sequence, each, each.test[sequence]) for run, each in variants if sequence in each.test
        ]
        yield from single
        for key in dict.fromkeys(line.variant.key for line in single):
            same = [line for line in single if line.variant.key == key]
            if len(same) > 1:
                variant = same[0].variant
                yield AblationLine(
                    "all", len(same), sequence, variant, _average([one.outcome for one in same], variant.kind)
                )


def _average(outcomes: Sequence[RowFigures], kind: str) -> RowFigures:
    loops = [one.loops for one in outcomes if one.loops]
    differences = [one.difference.value for one in outcomes if one.difference]
    return RowFigures(
        frames=_mean([one.frames for one in outcomes]),
        rmse=_mean([one.rmse for one in outcomes]),
        mean=_mean([one.mean for one in outcomes]),
        median=_mean([one.median for one in outcomes]),
        jumps=_mean([one.jumps for one in outcomes]),
        coverage95=_mean([one.coverage95 for one in outcomes]),
        loops=_average_loops(loops) if len(loops) == len(outcomes) else None,
        classes=_mean([one.classes for one in outcomes]),
        threshold=_mean([one.threshold for one in outcomes]),
        constrained=_mean([one.constrained for one in outcomes]),
        difference=_average_gap(differences, kind) if len(differences) == len(outcomes) else None,
        protocol=" | ".join(dict.fromkeys(one.protocol for one in outcomes)),
    )


def _average_loops(loops: Sequence[LoopFigures]) -> LoopFigures:
    return LoopFigures(
        precision=_mean([one.precision for one in loops]),
        recall=_mean([one.recall for one in loops]),
        decision_recall=_mean([one.decision_recall for one in loops]),
        f1=_mean([one.f1 for one in loops]),
        accepted=_mean([one.accepted for one in loops]),
        recall_at={count: _mean([(one.recall_at or {}).get(count) for one in loops]) for count in RECALLS_AT},
    )


def _average_gap(differences: Sequence[float], kind: str) -> Gap:
    interval = mean_interval(differences)
    below, above = _VERDICTS[kind]
    verdict = Standing.UNDECIDED
    if interval.excludes(0.0):
        verdict = below if interval.high < 0 else above
    return Gap(value=float(np.mean(differences)), low=interval.low, high=interval.high, verdict=verdict.value)


def _mean(values: Sequence[int | float | None]) -> float | None:
    """None unless every run has the value: a mean over some of them would not compare with the other rows."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None
