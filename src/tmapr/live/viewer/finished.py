"""A finished run in the viewer: drawn as while it is driven, but for latencies, which a run does not keep."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from tmapr.artifacts.atomic import PARTIAL
from tmapr.evaluation.trial import Trial
from tmapr.live.viewer.moments import BOX, UNREADABLE, Match, Moment
from tmapr.live.viewer.ways import ToFile, Way
from tmapr.reports.drawing.pictures import PagePicture
from tmapr.reports.page.footage import AbsentError, stream_pictures
from tmapr.running.finished import FinishedRun
from tmapr.types import RouteBelief, Verdict, Watch

BUFFER = "2GiB"
"""What is served of a finished run: all of it, if it is no longer than an hour or two."""


def show_run(
    run: FinishedRun, name: str, way: Way, watch: Watch = iter, tell: Callable[[str], None] = lambda _: None
) -> None:
    """Show a sequence that a run localized; a file is replaced when it is whole, a viewer is stayed for."""
    from tmapr.live.viewer.drawing import Drive
    from tmapr.live.viewer.recording import ViewerRecording

    trial = run.sequence(name)
    drive = Drive(name, timed=False, known=trial.recording.truth[trial.recording.known])
    with _replacing(way) as target:
        recording = ViewerRecording(target, run.experiment, trial.memory, drive)
        try:
            recording.wait_for_pictures()
            for _, moment in zip(watch(range(len(trial.table.stamps))), tell_run(run, name), strict=False):
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


def tell_run(run: FinishedRun, name: str) -> Iterator[Moment]:
    """What was said of each frame of a sequence, as it was written down."""
    trial = run.sequence(name)
    table, recording = trial.table, trial.recording
    pictures = _stream_pictures(run, name, table.stamps.tolist())
    for row, (picture, absent) in zip(range(len(table.stamps)), pictures, strict=False):
        yield Moment(
            number=row,
            stamp=int(table.stamps[row]),
            status=table.statuses[row],
            reason=table.reasons[row],
            position=table.positions[row],
            covariance=table.covariances[row],
            match=_find_match(trial, row),
            route=_find_route(trial, row),
            picture=picture,
            absent=absent,
            truth=recording.truth[row] if recording.known[row] else None,
        )


def _stream_pictures(run: FinishedRun, name: str, stamps: list[int]) -> Iterator[tuple[PagePicture | None, str]]:
    """Each with why it is not there, if it is not; as many as anybody asks for."""
    absent = UNREADABLE
    try:
        for _, picture in stream_pictures(run.experiment, name, dict(enumerate(stamps)), BOX):
            yield picture, UNREADABLE
    except AbsentError as why:
        absent = str(why)
    while True:
        yield None, absent


def _find_match(trial: Trial, row: int) -> Match | None:
    table = trial.table
    if not table.references.known[row]:
        return None
    found = trial.memory.find(int(table.references.values[row]), table.reference_positions.values[row])
    return Match(found, float(table.similarities.values[row]), Verdict(table.reasons[row]).accepted)


def _find_route(trial: Trial, row: int) -> RouteBelief | None:
    """What is believed of the route; where its file was removed, without the references that were likely."""
    table, beliefs = trial.table, trial.beliefs
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
