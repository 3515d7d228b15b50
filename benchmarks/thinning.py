"""A sparser map from a recorded traverse: its frames every so many metres of the way."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from jaxtyping import Int

from tmapr.artifacts.percepts import Recording


def thin(recording: Recording, spacing: float) -> Recording:
    """The frames nearest to every multiple of `spacing` metres driven; none twice, so stops go."""
    if not recording.known.all():
        raise ValueError(f"{recording.sequence}: {int((~recording.known).sum())} frames have no position to thin by")
    way = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(recording.truth, axis=0).T))])
    marks = np.arange(0.0, way[-1] + spacing / 2, spacing)
    rows = np.unique([int(np.argmin(np.abs(way - mark))) for mark in marks])
    shifts = _add_shifts(recording, rows)
    return replace(
        recording,
        percepts=tuple(replace(recording.percepts[row], shift=shift) for row, shift in zip(rows, shifts, strict=True)),
        truth=recording.truth[rows],
        known=recording.known[rows],
        headings=None if recording.headings is None else recording.headings[rows],
        sources=None,
    )


def _add_shifts(recording: Recording, rows: Int[np.ndarray, " kept"]) -> list[float | None]:
    """How far the picture moved from one kept frame to the next; None where a step between them is unknown."""
    told = [np.nan if percept.shift is None else percept.shift for percept in recording.percepts]
    since = [np.nan, *(float(np.sum(told[before + 1 : row + 1])) for before, row in pairwise(rows))]
    return [None if np.isnan(shift) else shift for shift in since]
