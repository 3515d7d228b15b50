"""What errors.json says, as tables and as a sentence. Every number of a report is printed by a column of this file."""

from collections.abc import Mapping, Sequence
from typing import Any

from tmapr.reports.evidence import RunEvidence, labelled
from tmapr.reports.table import Cell, Column, Table
from tmapr.types import Status

TRACKS = {"apr": "APR", "retrieval": "retrieval (first candidate)", "fused": "fused"}
"""The three positions of a frame, by their keys in errors.json."""

WARNINGS = {
    "apr-oracle": "ORACLE: the pose head was fitted to the test truth before fusion; this is no result",
    "planar": "each trajectory was fitted to the truth before its errors were taken",
}
"""What must be said beside numbers of an alignment."""

_SEQUENCE = Column("sequence", "sequence")
_FRAMES = Column("frames", "frames", 0)
_METRES = {"rmse": "RMSE m", "mean": "mean m", "median": "median m", "p95": "p95 m"}
_SCORES = (
    Column("precision", "precision", 3),
    Column("recall", "recall", 3),
    Column("f1", "F1", 3),
    Column("decision_recall", "d-recall", 3),
    Column("accepted", "accepted", 0),
)
_NEES = Column("nees", "NEES", 2)
_COVERAGE = Column("coverage95", "in 95 %", 3)
_STEP = Column("step_ms_p95", "p95 ms", 2)
_SHARE = Column("localized", "localized %", 1)


def tracks(tests: Mapping[str, Any]) -> Table:
    """Position errors and jumps of every sequence's APR, retrieval and fused positions."""
    entries = [entry[track] for entry in tests.values() for track in TRACKS if entry[track]]
    kept = [key for key in _METRES if any(key in figures for figures in entries)]
    columns = [_SEQUENCE, _FRAMES, Column("track", "track"), *(Column(key, _METRES[key], 2) for key in kept)]
    rows = [
        (name, entry["frames"], title, *((entry[track] or {}).get(key) for key in kept), entry["jumps"].get(track))
        for name, entry in tests.items()
        for track, title in TRACKS.items()
    ]
    return Table((*columns, Column("jumps", "jumps", 0)), tuple(rows))


def loops(tests: Mapping[str, Any]) -> Table:
    """Loop recognition, honesty of the covariance and time per step of every sequence."""
    rows = [
        (
            name,
            *(entry["loops"][column.key] for column in _SCORES),
            entry["nees"]["mean"],
            entry["nees"]["coverage95"],
            entry["step_ms"]["p95"],
        )
        for name, entry in tests.items()
    ]
    return Table((_SEQUENCE, *_SCORES, _NEES, _COVERAGE, _STEP), tuple(rows))


def comparison(runs: Sequence[RunEvidence]) -> Table:
    """One row per run and test sequence, with what makes them comparable."""
    columns = (
        Column("run", "run"),
        _SEQUENCE,
        Column("alignment", "alignment"),
        Column("labels", "labels"),
        _FRAMES,
        *(Column(f"{track}_rmse", f"{title.partition(' ')[0]} RMSE m", 2) for track, title in TRACKS.items()),
        Column("fused_median", "fused median m", 2),
        Column("fused_jumps", "jumps", 0),
        _SHARE,
        *_SCORES[:3],
        _COVERAGE,
        _STEP,
        Column("settings", "settings"),
    )
    labels = labelled(runs)
    rows = [
        _compared(label, run, name, entry)
        for label, run in zip(labels, runs, strict=True)
        for name, entry in run.errors["test"].items()
    ]
    notes = [f"{label}: {described(run)}" for label, run in zip(labels, runs, strict=True)]
    return Table(columns, tuple(rows), (*notes, *_warnings(runs)))


def sentence(name: str, entry: Mapping[str, Any]) -> str:
    """The result of a sequence in plain words."""
    apr, retrieval, fused = (_metres(entry[track]) for track in TRACKS)
    alone = [
        f"pose regression alone {apr}" if apr else "no pose regression",
        f"first retrieved candidate alone {retrieval}" if retrieval else "no candidate was retrieved",
    ]
    return (
        f"Fused position error on {name}: RMSE {fused} ({', '.join(alone)});"
        f" localized on {_SHARE.shown(_localized(entry))} % of frames."
    )


def described(run: RunEvidence) -> str:
    """Where a run's data came from and which sequence played which role."""
    data = run.experiment.data
    adapted = f"adapted to {', '.join(data.adapt)}" if data.adapt else "not adapted"
    return f"data {data.root} ({data.layout}); mapped from {data.reference}; {adapted}"


def alignment(errors: Mapping[str, Any]) -> str:
    """The alignment's name, and the word for one that cheats."""
    return f"{errors['alignment']} (ORACLE)" if errors["alignment"] == "apr-oracle" else str(errors["alignment"])


def warnings(errors: Mapping[str, Any]) -> list[str]:
    """What a reader must know before the numbers."""
    found = [WARNINGS[errors["alignment"]]] if errors["alignment"] in WARNINGS else []
    if errors["labels"].startswith("truth"):
        found.append(
            f"labels {errors['labels']}: the true positions of test frames were learned; this is an upper bound"
        )
    return found


def _warnings(runs: Sequence[RunEvidence]) -> list[str]:
    return list(dict.fromkeys(line for run in runs for line in warnings(run.errors)))


def _compared(label: str, run: RunEvidence, name: str, entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    return (
        label,
        name,
        alignment(run.errors),
        run.errors["labels"],
        entry["frames"],
        *((entry[track] or {}).get("rmse") for track in TRACKS),
        (entry["fused"] or {}).get("median"),
        entry["jumps"]["fused"],
        _localized(entry),
        *(entry["loops"][column.key] for column in _SCORES[:3]),
        entry["nees"]["coverage95"],
        entry["step_ms"]["p95"],
        run.errors["settings_sha256"][:12],
    )


def _metres(figures: Mapping[str, float] | None) -> str | None:
    return f"{Column('rmse', '', 2).shown(figures['rmse'])} m" if figures else None


def _localized(entry: Mapping[str, Any]) -> float:
    """Percent of the frames."""
    return 100.0 * entry["status"].get(Status.LOCALIZED.value, 0) / entry["frames"]
