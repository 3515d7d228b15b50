"""What fusion adds to its inputs, the paper's Table III.

The paper knows one input, the pose head. The first retrieved candidate is the other one and often the better: a gain
over the pose head alone can be retrieval's merit, so both gains are printed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tmapr.evaluation.errors import JUMP_TOLERANCE, SPEED_TOLERANCE
from tmapr.reports.localization import Evaluated, origins
from tmapr.reports.summary import TRACKS, alignment
from tmapr.reports.table import Cell, Column, Table

_INPUTS = {"apr": "APR", "retrieval": "retrieval"}
_COLUMNS = (
    Column("run", "run"),
    Column("sequence", "sequence"),
    Column("alignment", "alignment"),
    Column("frames", "frames", 0),
    *(
        column
        for track, title in {**_INPUTS, "fused": "fused"}.items()
        for column in (Column(f"{track}_rmse", f"{title} RMSE m", 2), Column(f"{track}_jumps", "jumps", 0))
    ),
    *(Column(f"gain_over_{track}", f"gain over {title} %", 1) for track, title in _INPUTS.items()),
)
_NOTES = (
    "gain: by how many percent of the input's RMSE the fused RMSE is smaller; below 0, fusion made it worse",
    f"jump: two consecutive frames further apart than {JUMP_TOLERANCE:g} m + v times the seconds between them, v being"
    f" {SPEED_TOLERANCE:g} times the top speed of the reference traverse",
)


def fusion_table(runs: Sequence[Evaluated]) -> Table:
    """A row for every run and test sequence."""
    rows = [_row(run, sequence, entry) for run in runs for sequence, entry in run.errors["test"].items()]
    return Table(_COLUMNS, tuple(rows), (*_NOTES, *origins(runs)))


def _row(run: Evaluated, sequence: str, entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    rmse = {track: (entry[track] or {}).get("rmse") for track in TRACKS}
    tracks = [cell for track in TRACKS for cell in (rmse[track], entry["jumps"].get(track))]
    gains = [_gain(rmse[track], rmse["fused"]) for track in _INPUTS]
    return (run.label, sequence, alignment(run.errors), entry["frames"], *tracks, *gains)


def _gain(before: float | None, after: float | None) -> float | None:
    """Percent; none over an input that is missing or exact."""
    return None if not before or after is None else 100.0 * (1.0 - after / before)
