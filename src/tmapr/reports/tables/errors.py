"""What errors.json says, as tables and as a sentence. Every number of a report is printed by a column of this file.

Each table fits a terminal of 80 columns beside a name of ordinary length. A figure that is not there prints as a dash.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tmapr.artifacts.documents import Document
from tmapr.artifacts.documents.decisions import Decisions
from tmapr.artifacts.documents.runs import Detours, Errors, ErrorSummary, Interval95, SequenceErrors
from tmapr.reports.reported import ReportedRun, ReportedSequence, label_runs
from tmapr.reports.tables.stream import PROTOCOL, warn_of_streams
from tmapr.reports.tables.table import Table, TableCell, TableColumn
from tmapr.types import Status

Tests = Mapping[str, SequenceErrors]
"""The sequences of errors.json by name."""

TRACKS = {"apr": "APR", "retrieval": "retrieval (first candidate)", "fused": "fused"}
"""The three positions of a frame, by their keys in errors.json."""

_SHORT = {track: title.partition(" ")[0] for track, title in TRACKS.items()}

WARNINGS = {
    "apr-oracle": "ORACLE: the pose head was fitted to the test truth before fusion; this is no result",
    "planar": "each trajectory was fitted to the truth before its errors were taken",
}
"""What must be said beside numbers of an alignment."""

_SEQUENCE = TableColumn("sequence", "sequence")
_FRAMES = TableColumn("frames", "frames", 0)
_METRES = {"rmse": "RMSE m", "mean": "mean m", "median": "median m", "p95": "p95 m", "max": "max m"}
_SCORES = (
    TableColumn("precision", "precision", 3),
    TableColumn("recall", "recall", 3),
    TableColumn("f1", "F1", 3),
    TableColumn("decision_recall", "d-recall", 3),
    TableColumn("accepted", "similar", 0),
)
_SCORE_KEYS = [column.key for column in _SCORES]
_NEES = TableColumn("nees", "NEES", 2)
_COVERAGE = TableColumn("coverage95", "in 95 %", 3)
_STEP = TableColumn("step_ms_p95", "p95 ms", 2)
_SHARE = TableColumn("localized", "localized %", 1)
_STATISTICS = ("rmse", "mean", "median", "std", "max")
_RANKS = ("1", "5", "10")


def list_tracks(entry: SequenceErrors) -> dict[str, ErrorSummary | None]:
    """The errors of the three positions, by their keys."""
    return {"apr": entry.apr, "retrieval": entry.retrieval, "fused": entry.fused}


def tabulate_tracks(tests: Tests) -> Table:
    """Position errors and jumps of every sequence's APR, retrieval and fused positions."""
    columns = [_SEQUENCE, _FRAMES, TableColumn("track", "track"), *(TableColumn(*each, 2) for each in _METRES.items())]
    rows = [
        (name, entry.frames, _SHORT[track], *list_cells(summary, _METRES), dict(entry.jumps).get(track))
        for name, entry in tests.items()
        for track, summary in list_tracks(entry).items()
    ]
    ranges = {name: entry.fused.rmse_interval for name, entry in tests.items()}
    return Table((*columns, TableColumn("jumps", "jumps", 0)), tuple(rows), _note_intervals("fused RMSE m", ranges, 2))


def tabulate_poses(tests: Tests) -> Table:
    """Absolute and relative pose errors of the fused positions, as evo takes and names them."""
    columns = (_SEQUENCE, TableColumn("error", "fused, as evo"), TableColumn("pairs", "pairs", 0))
    rows = [(name, *cells) for name, entry in tests.items() for cells in _list_pose_errors(entry)]
    return Table((*columns, *(TableColumn(key, key, 2) for key in _STATISTICS)), tuple(rows))


def tabulate_decisions(tests: Tests) -> Table:
    """Loops of every sequence that the threshold accepts."""
    rows = [(name, *list_cells(entry.loops, _SCORE_KEYS)) for name, entry in tests.items()]
    ranges = {name: entry.loops.f1_interval for name, entry in tests.items()}
    return Table((_SEQUENCE, *_SCORES), tuple(rows), _note_intervals("F1", ranges, 3))


def tabulate_rankings(tests: Tests) -> Table:
    """Loops of every sequence whatever the threshold: the first N references, and the curve over all thresholds."""
    curve = (
        TableColumn("average_precision", "AP", 3),
        TableColumn("recall_at_full_precision", "recall at P=1", 3),
        TableColumn("decision_recall_at_full_precision", "d-recall at P=1", 3),
    )
    rows: list[tuple[TableCell, ...]] = []
    for name, entry in tests.items():
        ours, plain = entry.loops.recall_at or {}, entry.loops.global_recall_at or {}
        figures = list_cells(entry.loops, [column.key for column in curve])
        rows.append((name, "ours", *(ours.get(rank) for rank in _RANKS), *figures))
        rows.append((name, "global", *(plain.get(rank) for rank in _RANKS), *(None for _ in curve)))
    ranks = (TableColumn(f"recall_at_{rank}", f"R@{rank}", 3) for rank in _RANKS)
    return Table((_SEQUENCE, TableColumn("search", "search"), *ranks, *curve), tuple(rows))


def tabulate_honesty(tests: Tests) -> Table:
    """What the covariance is worth, the pose head's heading, and the time per step of every sequence."""
    columns = (
        _SEQUENCE,
        _NEES,
        _COVERAGE,
        TableColumn("localized_coverage95", "loc. 95 %", 3),
        TableColumn("nis", "NIS", 2),
        TableColumn("nis_inside95", "NIS 95 %", 3),
        TableColumn("heading_median_deg", "yaw °", 1),
        TableColumn("heading_p95_deg", "p95 °", 1),
        _STEP,
    )
    return Table(columns, tuple((name, *_list_honesty(entry)) for name, entry in tests.items()))


def tabulate_runs(runs: Sequence[ReportedRun]) -> Table:
    """One row per run and sequence, with what makes them comparable."""
    columns = (
        TableColumn("run", "run"),
        _SEQUENCE,
        PROTOCOL,
        TableColumn("alignment", "alignment"),
        TableColumn("labels", "labels"),
        _FRAMES,
        *(TableColumn(f"{track}_rmse", f"{title} RMSE m", 2) for track, title in _SHORT.items()),
        TableColumn("fused_median", "fused median m", 2),
        TableColumn("fused_jumps", "jumps", 0),
        _SHARE,
        *_SCORES[:3],
        _COVERAGE,
        _STEP,
        TableColumn("settings", "settings"),
    )
    labels = label_runs(runs)
    rows = [
        _tabulate_run(label, run, name, entry)
        for label, run in zip(labels, runs, strict=True)
        for name, entry in _list_entries(run).items()
    ]
    notes = [f"{label}: {describe_data(run)}" for label, run in zip(labels, runs, strict=True)]
    return Table(columns, tuple(rows), (*notes, *_list_all_warnings(runs)))


def describe_detour(name: str, away: Detours | None) -> str | None:
    """What happened off the map, in plain words; None for a drive that stays on it."""
    if away is None:
        return None
    left, back = ("never" if each is None else f"after {each:.1f} m" for each in (away.left_after, away.back_after))
    return (
        f"{name}: {away.metres:.0f} m off the map, {away.false_accepts} of {away.frames} frames there had"
        f" an accepted match; no longer localized {left} off it, localized and right again {back} on it"
    )


def describe_decisions(name: str, made: Decisions | None) -> str | None:
    """How often it claimed to know where it is, and was wrong; None where nobody counted that."""
    if made is None or made.localized is None or made.tolerance is None:
        return None
    found = "never right" if made.recovered_after is None else f"first right after {made.recovered_after:.1f} m"
    known = f"{made.wrong} of {made.frames} frames with a true position, {made.wrong_metres:.0f} m in a row,"
    wrong = known if made.wrong else "no frame"
    return (
        f"{name}: localized on {_SHARE.format(100 * made.localized)} % of frames on the map, {found};"
        f" {wrong} localized and more than {made.tolerance:.0f} m off"
    )


def describe_data(run: ReportedRun) -> str:
    """Where a run's data came from and which sequence played which role."""
    data = run.experiment.data
    adapted = f"adapted to {', '.join(data.adapt)}" if data.adapt else "not adapted"
    streamed = f"; streamed {', then '.join(data.stream)}" if data.stream else ""
    return f"data {data.root} ({data.layout}); mapped from {', '.join(data.references)}; {adapted}{streamed}"


def name_alignment(alignment: str) -> str:
    """The alignment's name, and the word for one that cheats."""
    return f"{alignment} (ORACLE)" if alignment == "apr-oracle" else alignment


def list_warnings(alignment: str, labels: str, protocols: Iterable[str] = ("test",)) -> list[str]:
    """What a reader must know before the numbers; `labels` are those of tests."""
    named = list(protocols)
    found = [WARNINGS[alignment]] if alignment in WARNINGS else []
    if labels.startswith("truth") and "test" in named:
        found.append(f"labels {labels}: the true positions of test frames were learned; this is an upper bound")
    return [*found, *warn_of_streams(named)]


def warn_of(errors: Errors) -> list[str]:
    """The same of a whole run."""
    return list_warnings(errors.alignment, errors.labels, errors.protocols)


def list_cells(document: Document | None, keys: Iterable[str]) -> list[TableCell]:
    """Fields of a document, none where there is no document."""
    values = dict(document) if document else {}
    return [values.get(key) for key in keys]


def _note_intervals(what: str, ranges: Mapping[str, Interval95 | None], decimals: int) -> tuple[str, ...]:
    """A line on where a figure plausibly lies in each sequence."""
    column = TableColumn("", "", decimals)
    told = [f"{name} {column.format(each[0])} to {column.format(each[1])}" for name, each in ranges.items() if each]
    return (f"{what}, 95 % interval: {', '.join(told)}",) if told else ()


def _list_pose_errors(entry: SequenceErrors) -> Iterator[tuple[TableCell, ...]]:
    if entry.ape:
        title = "APE m" if entry.ape.alignment == "none" else f"APE m, {entry.ape.alignment}"
        yield title, entry.ape.poses, *list_cells(entry.ape, _STATISTICS)
    for figures in entry.rpe:
        unit = {"metres": "m"}.get(figures.unit, "frames" if figures.delta > 1 else "frame")
        yield f"RPE m over {figures.delta:g} {unit}", figures.pairs, *list_cells(figures, _STATISTICS)


def _list_honesty(entry: SequenceErrors) -> Iterator[TableCell]:
    localized = entry.nees.by_status.get(Status.LOCALIZED.value)
    yield from (entry.nees.mean, entry.nees.coverage95, localized.coverage95 if localized else None)
    yield from list_cells(entry.nis, ("mean", "inside95"))
    yield from list_cells(entry.heading, ("median_deg", "p95_deg"))
    yield entry.step_ms.p95


def _list_all_warnings(runs: Sequence[ReportedRun]) -> list[str]:
    return list(dict.fromkeys(line for run in runs for line in warn_of(run.errors)))


def _list_entries(run: ReportedRun) -> dict[str, SequenceErrors | ReportedSequence]:
    """The sequences by name; one whose true positions nobody knows has no errors, and is itself."""
    return {sequence.name: run.errors.test.get(sequence.name, sequence) for sequence in run.sequences}


def _tabulate_run(
    label: str, run: ReportedRun, name: str, entry: SequenceErrors | ReportedSequence
) -> tuple[TableCell, ...]:
    alignment, settings = name_alignment(run.errors.alignment), run.errors.settings_sha256[:12]
    if isinstance(entry, ReportedSequence):
        timings, frames = run.provenance.sequences[name], len(entry.table.stamps)
        said = (label, name, entry.protocol, alignment, timings.labels or run.errors.labels, frames)
        share = 100.0 * float(entry.trial.localized.mean())
        return (*said, *(None,) * 5, share, *(None,) * 4, timings.step_ms.p95, settings)
    return (
        label,
        name,
        entry.protocol_name,
        alignment,
        entry.labels or run.errors.labels,
        entry.frames,
        *(summary.rmse if summary else None for summary in list_tracks(entry).values()),
        entry.fused.median,
        entry.jumps.fused,
        _measure_localized_share(entry),
        *list_cells(entry.loops, _SCORE_KEYS[:3]),
        entry.nees.coverage95,
        entry.step_ms.p95,
        settings,
    )


def _measure_localized_share(entry: SequenceErrors) -> float:
    """Percent of the frames."""
    return 100.0 * entry.status.get(Status.LOCALIZED.value, 0) / entry.frames
