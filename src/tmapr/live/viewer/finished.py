"""A finished run in the viewer: drawn as while it is driven, but for latencies, which a run does not keep."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from tmapr.artifacts.atomic import PARTIAL
from tmapr.live.viewer.moments import Match, Moment
from tmapr.live.viewer.ways import ToFile, Way
from tmapr.reports.film.footage import Reel
from tmapr.reports.reported import ReportedRun, ReportedSequence
from tmapr.types import RouteBelief, Verdict, Watch

BUFFER = "2GiB"
"""What is served of a finished run: all of it, if it is no longer than an hour or two."""


def show_run(
    run: ReportedRun,
    sequence: ReportedSequence,
    way: Way,
    watch: Watch = iter,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Show a sequence that a run localized; a file is replaced when it is whole, a viewer is stayed for."""
    from tmapr.live.viewer.recording import ViewerRecording

    with _replacing(way) as target:
        recording = ViewerRecording(target, run.experiment, run.memory, sequence.name, timed=False)
        try:
            for _, moment in zip(watch(range(len(sequence.table.stamps))), tell_run(run, sequence), strict=False):
                recording.drawing.draw(moment)
            recording.flush()
            if not way.complete:
                _tell_all(way, tell)
            with suppress(KeyboardInterrupt):  # which is how one stops to look
                way.hold()
        finally:
            recording.close()
    if way.complete:
        _tell_all(way, tell)


def tell_run(run: ReportedRun, sequence: ReportedSequence) -> Iterator[Moment]:
    """What was said of each frame, as it was written down."""
    table, truth = sequence.table, sequence.truth
    frames = range(len(table.stamps))
    reel = Reel(run, sequence, frames)
    for row in frames:
        yield Moment(
            number=row,
            stamp=int(table.stamps[row]),
            status=table.statuses[row],
            reason=table.reasons[row],
            position=table.positions[row],
            covariance=table.covariances[row],
            match=_find_match(run, sequence, row),
            route=_find_route(sequence, row),
            picture=reel.wind(row),
            absent=reel.absent,
            truth=truth.values[row] if truth.known[row] else None,
        )


def _find_match(run: ReportedRun, sequence: ReportedSequence, row: int) -> Match | None:
    table = sequence.table
    if not table.references.known[row]:
        return None
    found = run.memory.find(int(table.references.values[row]), table.reference_positions.values[row])
    return Match(found, float(table.similarities.values[row]), Verdict(table.reasons[row]).accepted)


def _find_route(sequence: ReportedSequence, row: int) -> RouteBelief | None:
    """Runs of earlier versions did not keep which references were likely."""
    table, beliefs = sequence.table, sequence.trial.beliefs
    if not table.p_off_map.known[row]:
        return None
    rows, masses = (np.zeros(0, np.int64), np.zeros(0)) if beliefs is None else beliefs.after(row)
    return RouteBelief(float(table.p_place.values[row]), float(table.p_off_map.values[row]), rows, masses)


@contextmanager
def _replacing(way: Way) -> Iterator[Way]:
    """The way itself, or to a file beside the one that is replaced at the end."""
    if not isinstance(way, ToFile):
        yield way
        return
    partial = Path(way.path.with_name(f".{way.path.name}{PARTIAL}"))
    try:
        yield ToFile(partial)
        partial.replace(way.path)
    finally:
        partial.unlink(missing_ok=True)


def _tell_all(way: Way, tell: Callable[[str], None]) -> None:
    for line in way.words:
        tell(line)
