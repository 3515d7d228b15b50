"""Kept percepts as a finished run is compared with them: with the true positions that the recording has now."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.data.survey import survey
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, find_home, is_data_there, open_data
from tmapr.perception.settings import OWN
from tmapr.running.encoding import describe_absence, load_recording
from tmapr.running.renewal import compare, is_unchanged_whole
from tmapr.types import CoordinateFrame


def load_current(
    experiment: Experiment,
    folder: RunFolder,
    name: str,
    frame: CoordinateFrame | None,
    tell: Callable[[str], None] = lambda _: None,
    way_out: str = "run `tmapr run` again",
) -> Recording:
    """A sequence's percepts from their cache, with its true positions as they are recorded now.

    Percepts that are no longer those of its images are refused: what was made from them is of another recording. That
    positions are others than those kept with the percepts, or that only these are here, is told in a line.
    """
    path, data = folder.percepts(name), experiment.data
    kept = load_recording(experiment, path, name)
    if experiment.perception.encoder == OWN or kept.sources is None:
        return kept
    if not is_data_there(data, name):
        tell(describe_absence(data, name, path))
        return kept
    sequence = open_data(data, name, None if name in data.references[:1] else frame)
    if is_unchanged_whole(kept, sequence):
        return kept
    now = survey(sequence, find_home(data, name), kept.sources)
    renewal = compare(kept, kept.sources, now)
    if renewal.encoded or len(now) != len(kept) or not np.array_equal(now.stamps, kept.stamps):
        changes = ", ".join(renewal.changes)
        raise InputError(f"{name}: {changes} since its percepts were made; {way_out}")
    if renewal.changes:
        tell(f"{name}: {', '.join(renewal.changes)} since its percepts were made; what the recording says counts")
    headings = None if np.isnan(now.headings).all() else now.headings
    return replace(kept, truth=now.truth, known=now.placed, frame=now.frame, headings=headings)
