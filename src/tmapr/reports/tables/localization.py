"""How far each method is from the truth on every run (the paper's Table II), and what fusion adds (Table III).

The paper knows one input of fusion, the pose head. The first retrieved candidate is the other one and often the better:
a gain over the pose head alone can be retrieval's merit, so both gains are printed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tmapr.artifacts.documents.runs import Errors, FusedErrors, SequenceErrors
from tmapr.artifacts.documents.studies import Comparison
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.reference import JUMP_TOLERANCE, SPEED_TOLERANCE
from tmapr.reports.reported import ReportedRun, label_runs
from tmapr.reports.tables.errors import TRACKS, describe_data, list_tracks, name_alignment, warn_of
from tmapr.reports.tables.stream import PROTOCOL, describe_labels
from tmapr.reports.tables.table import Table, TableCell, TableColumn

_COLUMNS = (
    TableColumn("run", "run"),
    TableColumn("sequence", "sequence"),
    PROTOCOL,
    TableColumn("method", "method"),
    TableColumn("source", "source"),
    TableColumn("alignment", "alignment"),
    TableColumn("seeds", "seeds", 0),
    TableColumn("rmse", "RMSE m", 2),
    TableColumn("low", "from", 2),
    TableColumn("high", "to", 2),
    TableColumn("mean", "mean m", 2),
    TableColumn("median", "median m", 2),
)
_INPUTS = {"apr": "APR", "retrieval": "retrieval"}
_FUSION_COLUMNS = (
    TableColumn("run", "run"),
    TableColumn("sequence", "sequence"),
    PROTOCOL,
    TableColumn("alignment", "alignment"),
    TableColumn("frames", "frames", 0),
    *(
        column
        for track, title in {**_INPUTS, "fused": "fused"}.items()
        for column in (TableColumn(f"{track}_rmse", f"{title} RMSE m", 2), TableColumn(f"{track}_jumps", "jumps", 0))
    ),
    *(TableColumn(f"gain_over_{track}", f"gain over {title} %", 1) for track, title in _INPUTS.items()),
)
_FUSION_NOTES = (
    "gain: by how many percent of the input's RMSE the fused RMSE is smaller; below 0, fusion made it worse",
    f"jump: two consecutive frames further apart than {JUMP_TOLERANCE:g} m + v times the seconds between them, v being"
    f" {SPEED_TOLERANCE:g} times the top speed of the reference traverse",
)


@dataclass(frozen=True, slots=True)
class EvaluatedRun:
    """A run as tables of errors need it: its label, its data in words, errors.json, and its comparison if any."""

    label: str
    about: str
    errors: Errors
    compared: Comparison | None = None


def gather_runs(runs: Sequence[ReportedRun]) -> list[EvaluatedRun]:
    """The runs, labelled apart."""
    return [
        EvaluatedRun(label, describe_data(run), run.errors, _load_current_comparison(run))
        for label, run in zip(label_runs(runs), runs, strict=True)
    ]


def tabulate_localization(runs: Sequence[EvaluatedRun]) -> Table:
    """For every run and sequence its three tracks, then the methods that it was compared with."""
    rows = [
        row
        for run in runs
        for sequence, entry in run.errors.test.items()
        for row in (*_list_own(run, sequence, entry), *_list_others(run, sequence))
    ]
    notes = ["from, to: 95 % interval of the fused RMSE over resampled blocks of frames"]
    if any(run.compared for run in runs):
        notes.append(
            "source compare: `tmapr compare`, means over its training seeds, on the frames that every method places"
        )
    return Table(_COLUMNS, tuple(rows), (*notes, *list_origins(runs)))


def list_origins(runs: Sequence[EvaluatedRun]) -> list[str]:
    """What a reader must know of each run, then the warnings of all of them."""
    lines = [
        f"{run.label}: {run.about}; labels {describe_labels(run.errors.labels, run.errors.test.values())};"
        f" alignment {name_alignment(run.errors.alignment)}; settings {run.errors.settings_sha256[:12]}"
        for run in runs
    ]
    warnings = (line for run in runs for line in warn_of(run.errors))
    return [*lines, *dict.fromkeys(warnings)]


def _list_own(run: EvaluatedRun, sequence: str, entry: SequenceErrors) -> list[tuple[TableCell, ...]]:
    rows: list[tuple[TableCell, ...]] = []
    alignment = name_alignment(run.errors.alignment)
    for track, summary in list_tracks(entry).items():
        low, high = (summary.rmse_interval if isinstance(summary, FusedErrors) else None) or (None, None)
        metres = (summary.rmse, low, high, summary.mean, summary.median) if summary else (None,) * 5
        rows.append((run.label, sequence, entry.protocol_name, TRACKS[track], "run", alignment, None, *metres))
    return rows


def load_comparison(folder: RunFolder) -> Comparison | None:
    """What `tmapr compare` found on the run's experiment, if it was asked."""
    return (
        Comparison.load(folder.comparison_json, f"tmapr compare {folder.experiment}")
        if folder.comparison_json.exists()
        else None
    )


def _load_current_comparison(run: ReportedRun) -> Comparison | None:
    """The same, refused where it was held against other positions than the recording has now."""
    found = load_comparison(run.folder)
    for sequence in run.sequences:
        noted = (found.truth or {}).get(sequence.name) if found else None
        if noted is not None and noted != sequence.trial.recording.marks.truth:
            raise InputError(
                f"{run.folder.comparison_json}: the positions of {sequence.name} have changed since it was made;"
                f" make it anew with `tmapr compare {run.folder.experiment}`"
            )
    return found


def _list_others(run: EvaluatedRun, sequence: str) -> list[tuple[TableCell, ...]]:
    found = run.compared.test.get(sequence, ()) if run.compared else ()
    rows: list[tuple[TableCell, ...]] = []
    for one in found:
        metres = (one.rmse, None, None, one.mean, one.median)
        rows.append((run.label, sequence, one.protocol, one.title, "compare", "not stated", one.seeds, *metres))
    return rows


def tabulate_fusion(runs: Sequence[EvaluatedRun]) -> Table:
    """A row for every run and sequence."""
    rows = [_list_gains(run, sequence, entry) for run in runs for sequence, entry in run.errors.test.items()]
    return Table(_FUSION_COLUMNS, tuple(rows), (*_FUSION_NOTES, *list_origins(runs)))


def _list_gains(run: EvaluatedRun, sequence: str, entry: SequenceErrors) -> tuple[TableCell, ...]:
    rmse = {track: summary.rmse if summary else None for track, summary in list_tracks(entry).items()}
    jumps = dict(entry.jumps)
    tracks = [cell for track in rmse for cell in (rmse[track], jumps.get(track))]
    gains = [_measure_gain(rmse[track], rmse["fused"]) for track in _INPUTS]
    alignment = name_alignment(run.errors.alignment)
    return (run.label, sequence, entry.protocol_name, alignment, entry.frames, *tracks, *gains)


def _measure_gain(before: float | None, after: float | None) -> float | None:
    """Percent; none over an input that is missing or exact."""
    return None if not before or after is None else 100.0 * (1.0 - after / before)
