"""What errors.json says, as tables and as a sentence. Every number of a report is printed by a column of this file.

Each table fits a terminal of 80 columns beside a name of ordinary length. Files of earlier versions lack some figures:
those print as a dash.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tmapr.reports.evidence import RunEvidence, labelled
from tmapr.reports.table import Cell, Column, Table
from tmapr.types import Status

TRACKS = {"apr": "APR", "retrieval": "retrieval (first candidate)", "fused": "fused"}
"""The three positions of a frame, by their keys in errors.json."""

_SHORT = {track: title.partition(" ")[0] for track, title in TRACKS.items()}

WARNINGS = {
    "apr-oracle": "ORACLE: the pose head was fitted to the test truth before fusion; this is no result",
    "planar": "each trajectory was fitted to the truth before its errors were taken",
}
"""What must be said beside numbers of an alignment."""

_SEQUENCE = Column("sequence", "sequence")
_FRAMES = Column("frames", "frames", 0)
_METRES = {"rmse": "RMSE m", "mean": "mean m", "median": "median m", "p95": "p95 m", "max": "max m"}
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
_STATISTICS = ("rmse", "mean", "median", "std", "max")
_RANKS = ("1", "5", "10")


def tracks(tests: Mapping[str, Any]) -> Table:
    """Position errors and jumps of every sequence's APR, retrieval and fused positions."""
    entries = [entry[track] for entry in tests.values() for track in TRACKS if entry[track]]
    kept = [key for key in _METRES if any(key in figures for figures in entries)]
    columns = [_SEQUENCE, _FRAMES, Column("track", "track"), *(Column(key, _METRES[key], 2) for key in kept)]
    rows = [
        (name, entry["frames"], title, *((entry[track] or {}).get(key) for key in kept), entry["jumps"].get(track))
        for name, entry in tests.items()
        for track, title in _SHORT.items()
    ]
    ranges = {name: (entry["fused"] or {}).get("rmse_interval") for name, entry in tests.items()}
    return Table((*columns, Column("jumps", "jumps", 0)), tuple(rows), _ranged("fused RMSE m", ranges, 2))


def poses(tests: Mapping[str, Any]) -> Table:
    """Absolute and relative pose errors of the fused positions, as evo takes and names them."""
    columns = (_SEQUENCE, Column("error", "fused, as evo"), Column("pairs", "pairs", 0))
    rows = [
        (name, title, figures.get("poses", figures.get("pairs")), *(figures.get(key) for key in _STATISTICS))
        for name, entry in tests.items()
        for title, figures in _pose_errors(entry)
    ]
    return Table((*columns, *(Column(key, key, 2) for key in _STATISTICS)), tuple(rows))


def decisions(tests: Mapping[str, Any]) -> Table:
    """Loops of every sequence that the threshold accepts."""
    rows = [(name, *(entry["loops"][column.key] for column in _SCORES)) for name, entry in tests.items()]
    ranges = {name: entry["loops"].get("f1_interval") for name, entry in tests.items()}
    return Table((_SEQUENCE, *_SCORES), tuple(rows), _ranged("F1", ranges, 3))


def rankings(tests: Mapping[str, Any]) -> Table:
    """Loops of every sequence whatever the threshold: the first N references, and the curve over all thresholds."""
    searches = {"recall_at": "ours", "global_recall_at": "global"}
    curve = (
        Column("average_precision", "AP", 3),
        Column("recall_at_full_precision", "recall at P=1", 3),
        Column("decision_recall_at_full_precision", "d-recall at P=1", 3),
    )
    rows = [
        (
            name,
            title,
            *((entry["loops"].get(key) or {}).get(rank) for rank in _RANKS),
            *(entry["loops"].get(column.key) if key == "recall_at" else None for column in curve),
        )
        for name, entry in tests.items()
        for key, title in searches.items()
    ]
    ranks = (Column(f"recall_at_{rank}", f"R@{rank}", 3) for rank in _RANKS)
    return Table((_SEQUENCE, Column("search", "search"), *ranks, *curve), tuple(rows))


def honesty(tests: Mapping[str, Any]) -> Table:
    """What the covariance is worth, the pose head's heading, and the time per step of every sequence."""
    columns = (
        _SEQUENCE,
        _NEES,
        _COVERAGE,
        Column("localized_coverage95", "localized", 3),
        Column("nis", "NIS", 2),
        Column("nis_inside95", "in 95 %", 3),
        Column("heading_median_deg", "yaw °", 1),
        Column("heading_p95_deg", "p95 °", 1),
        _STEP,
    )
    return Table(columns, tuple((name, *_honest(entry)) for name, entry in tests.items()))


def loops(tests: Mapping[str, Any]) -> Table:
    """Decisions and honesty side by side, where there is room."""
    left, right = decisions(tests), honesty(tests)
    kept = [right.columns.index(column) for column in (_NEES, _COVERAGE, _STEP)]
    rows = [(*a, *(b[place] for place in kept)) for a, b in zip(left.rows, right.rows, strict=True)]
    return Table((*left.columns, _NEES, _COVERAGE, _STEP), tuple(rows), left.notes)


def comparison(runs: Sequence[RunEvidence]) -> Table:
    """One row per run and test sequence, with what makes them comparable."""
    columns = (
        Column("run", "run"),
        _SEQUENCE,
        Column("alignment", "alignment"),
        Column("labels", "labels"),
        _FRAMES,
        *(Column(f"{track}_rmse", f"{title} RMSE m", 2) for track, title in _SHORT.items()),
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


def detoured(name: str, entry: Mapping[str, Any]) -> str | None:
    """What happened off the map, in plain words; None for a drive that stays on it."""
    away = entry.get("off_map")
    if not away:
        return None
    left, back = (
        f"after {metres:.1f} m" if (metres := away[key]) is not None else "never"
        for key in ("left_after", "back_after")
    )
    return (
        f"{name}: {away['metres']:.0f} m off the map, {away['false_accepts']} of {away['frames']} frames there were"
        f" matched; no longer localized {left} off it, localized and right again {back} on it"
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


def _ranged(what: str, ranges: Mapping[str, Sequence[float] | None], decimals: int) -> tuple[str, ...]:
    """A line on where a figure plausibly lies in each sequence."""
    column = Column("", "", decimals)
    told = [f"{name} {column.shown(each[0])} to {column.shown(each[1])}" for name, each in ranges.items() if each]
    return (f"{what}, 95 % interval: {', '.join(told)}",) if told else ()


def _pose_errors(entry: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if "ape" in entry:
        yield "APE m" if entry["ape"]["alignment"] == "none" else f"APE m, {entry['ape']['alignment']}", entry["ape"]
    for figures in entry.get("rpe", ()):
        unit = {"metres": "m"}.get(figures["unit"], "frames" if figures["delta"] > 1 else "frame")
        yield f"RPE m over {figures['delta']:g} {unit}", figures


def _honest(entry: Mapping[str, Any]) -> Iterator[Cell]:
    nees, nis, heading = entry["nees"], entry.get("nis") or {}, entry.get("heading") or {}
    yield from (nees["mean"], nees["coverage95"])
    yield nees.get("by_status", {}).get(Status.LOCALIZED.value, {}).get("coverage95")
    yield from (nis.get("mean"), nis.get("inside95"), heading.get("median_deg"), heading.get("p95_deg"))
    yield entry["step_ms"]["p95"]


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
