"""Several runs on one map: what was mapped, the true paths where they are known, and each run's track in its colour."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tmapr.reports.drawing.lines import keep_bends, split_by_status
from tmapr.reports.drawing.svg import Key, layer, lines
from tmapr.reports.figures.trajectory_map import MapAxes, draw_route, draw_window
from tmapr.reports.reported import ReportedRun, ReportedSequence, TimedPath
from tmapr.types import Status

_COLOURS = 6


@dataclass(frozen=True, slots=True)
class NamedRun:
    """A run, its name and its place among all runs of the page, by which it has its colour."""

    name: str
    number: int
    run: ReportedRun

    @property
    def role(self) -> str:
        """Of its marks: beyond the colours, they come again."""
        return f"track colour-{self.number % _COLOURS + 1} run-{self.number}"


def draw_runs(runs: Sequence[NamedRun], names: tuple[str, str]) -> str:
    """Tracks are solid where a run is localized, and dotted elsewhere."""
    references = _keep_one_each(path for each in runs for path in each.run.references)
    truths = _keep_one_each(_take_truth(sequence) for each in runs for sequence in each.run.sequences)
    known = [path for path in truths if len(path.positions)]
    driven = np.vstack([path.positions for path in (*references, *known)])
    fused = np.vstack([sequence.fused.values for each in runs for sequence in each.run.sequences])
    view = MapAxes.around(driven, fused)
    marks = [
        layer("reference", *(draw_route(view, path, "reference") for path in references)),
        layer("truth", *(draw_route(view, path, "truth") for path in known)),
        *(_draw_run(view, each) for each in runs),
    ]
    described = "Map in metres with equal axes: what was mapped, true paths, and the fused track of each run."
    return draw_window(view, names, f"Map of {len(runs)} runs", described, marks)


def list_run_keys(runs: Sequence[NamedRun]) -> list[Key]:
    """What is drawn, each key of one layer."""
    known = any(sequence.truth.known.any() for each in runs for sequence in each.run.sequences)
    keys = [Key("line", "reference", "mapped route"), *([Key("line", "truth", "truth")] if known else [])]
    return [*keys, *(Key("line", each.role, each.name) for each in runs)]


def _draw_run(view: MapAxes, each: NamedRun) -> str:
    sure, unsure = list[Float[np.ndarray, "_ 2"]](), list[Float[np.ndarray, "_ 2"]]()
    for sequence in each.run.sequences:
        pixels = view(sequence.fused.values)
        for status, part in split_by_status(sequence.seconds, sequence.table.statuses):
            (sure if status is Status.LOCALIZED else unsure).append(keep_bends(pixels[part]))
    return layer(each.role, lines(unsure, f"{each.role} unsure"), lines(sure, each.role))


def _take_truth(sequence: ReportedSequence) -> TimedPath:
    known = sequence.truth.known
    return TimedPath(sequence.seconds[known], sequence.truth.values[known])


def _keep_one_each(paths: Iterable[TimedPath]) -> list[TimedPath]:
    """Runs on the same drives have the same paths: each is drawn once."""
    return list({path.positions.tobytes(): path for path in paths}.values())
