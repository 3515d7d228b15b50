"""Localization across data sets, the paper's Table II: how far each method is from the truth on every run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tmapr.reports.evidence import RunEvidence, labelled
from tmapr.reports.findings import Comparison, load_comparison
from tmapr.reports.summary import TRACKS, alignment, described, warnings
from tmapr.reports.table import Cell, Column, Table

_COLUMNS = (
    Column("run", "run"),
    Column("sequence", "sequence"),
    Column("method", "method"),
    Column("source", "source"),
    Column("alignment", "alignment"),
    Column("seeds", "seeds", 0),
    Column("rmse", "RMSE m", 2),
    Column("low", "from", 2),
    Column("high", "to", 2),
    Column("mean", "mean m", 2),
    Column("median", "median m", 2),
)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A run as tables of errors need it: its label, its data in words, errors.json, and its comparison if any."""

    label: str
    about: str
    errors: Mapping[str, Any]
    compared: Comparison | None = None


def evaluated(runs: Sequence[RunEvidence]) -> list[Evaluated]:
    """The runs, labelled apart."""
    return [
        Evaluated(label, described(run), run.errors, load_comparison(run.folder))
        for label, run in zip(labelled(runs), runs, strict=True)
    ]


def localization_table(runs: Sequence[Evaluated]) -> Table:
    """For every run and test sequence its three tracks, then the methods that it was compared with."""
    rows = [
        row
        for run in runs
        for sequence, entry in run.errors["test"].items()
        for row in (*_own(run, sequence, entry), *_others(run, sequence))
    ]
    notes = ["from, to: 95 % interval of the fused RMSE over resampled blocks of frames"]
    if any(run.compared for run in runs):
        notes.append(
            "source compare: `tmapr compare`, means over its training seeds, on the frames that every method places"
        )
    return Table(_COLUMNS, tuple(rows), (*notes, *origins(runs)))


def origins(runs: Sequence[Evaluated]) -> list[str]:
    """What a reader must know of each run, then the warnings of all of them."""
    lines = [
        f"{run.label}: {run.about}; labels {run.errors['labels']}; alignment {alignment(run.errors)};"
        f" settings {run.errors['settings_sha256'][:12]}"
        for run in runs
    ]
    return [*lines, *dict.fromkeys(line for run in runs for line in warnings(run.errors))]


def _own(run: Evaluated, sequence: str, entry: Mapping[str, Any]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for track, title in TRACKS.items():
        figures = entry[track] or {}
        low, high = figures.get("rmse_interval") or (None, None)
        metres = (figures.get("rmse"), low, high, figures.get("mean"), figures.get("median"))
        rows.append((run.label, sequence, title, "run", alignment(run.errors), None, *metres))
    return rows


def _others(run: Evaluated, sequence: str) -> list[tuple[Cell, ...]]:
    found = run.compared.test.get(sequence, ()) if run.compared else ()
    return [
        (run.label, sequence, one.title, "compare", "not stated", one.seeds, one.rmse, None, None, one.mean, one.median)
        for one in found
    ]
