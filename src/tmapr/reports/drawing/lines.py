"""What a line is drawn through: the stretches between silences, and fewer points for the same picture.

What is left out could not have been seen: a route keeps every bend larger than a quarter of a pixel, a curve over time
the first, lowest, highest and last value of each pixel column, and of dots on one half-pixel cell one is kept.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from tmapr.types import Status

SILENCE = 5.0
"""Seconds without a frame across which no line is drawn: nobody knows what happened there."""

_BEND = 0.25
_CELL = 0.5


def keep_bends(points: Float[np.ndarray, "n 2"], tolerance: float = _BEND) -> Float[np.ndarray, "kept 2"]:
    """The route with every left-out point within `tolerance` of it (Douglas and Peucker 1973), ends included."""
    if len(points) < 3:
        return points
    kept = np.zeros(len(points), dtype=bool)
    kept[[0, -1]] = True
    spans = [(0, len(points) - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        distances = _measure_to_segment(points[first + 1 : last], points[first], points[last])
        farthest = int(np.argmax(distances))
        if distances[farthest] > tolerance:
            middle = first + 1 + farthest
            kept[middle] = True
            spans += [(first, middle), (middle, last)]
    return points[kept]


def keep_extremes(points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "kept 2"]:
    """Of a curve whose x never falls, at most four points per pixel column."""
    columns = np.floor(points[:, 0])
    starts = np.flatnonzero(np.diff(columns, prepend=-np.inf))
    stops = np.append(starts[1:], len(points))
    kept: set[int] = set()
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        heights = points[start:stop, 1]
        kept |= {start, start + int(heights.argmin()), start + int(heights.argmax()), stop - 1}
    return points[sorted(kept)]


def keep_distinct(points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "kept 2"]:
    """One dot per half-pixel cell, in their order."""
    cells: Int[np.ndarray, "n 2"] = np.round(points / _CELL).astype(np.int64)
    _, first = np.unique(cells, axis=0, return_index=True)
    return points[np.sort(first)]


def _measure_to_segment(
    points: Float[np.ndarray, "n 2"], start: Float[np.ndarray, "2"], stop: Float[np.ndarray, "2"]
) -> Float[np.ndarray, " n"]:
    """Distance to a segment, not to its line: a route may turn back on itself."""
    along = stop - start
    length = float(along @ along)
    share = np.clip((points - start) @ along / length, 0.0, 1.0) if length else np.zeros(len(points))
    distances: Float[np.ndarray, " n"] = np.linalg.norm(points - start - share[:, None] * along, axis=1)
    return distances


def split_at_silences(seconds: Float[np.ndarray, " n"]) -> list[slice]:
    """The frames from one silence to the next."""
    return _slice_between(np.diff(seconds) > SILENCE) if len(seconds) else []


def split_by_status(seconds: Float[np.ndarray, " n"], statuses: Sequence[Status]) -> Iterator[tuple[Status, slice]]:
    """Stretches of one status; each starts at the frame before it, so that the line has no holes."""
    silent = np.diff(seconds) > SILENCE
    names = np.array([status.value for status in statuses])
    for part in _slice_between(silent | (names[1:] != names[:-1])):
        joined = part.start > 0 and not silent[part.start - 1]
        yield statuses[part.start], slice(part.start - 1 if joined else part.start, part.stop)


def _slice_between(breaks: np.ndarray) -> list[slice]:
    bounds = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(breaks) + 1]
    return [slice(start, stop) for start, stop in pairwise(bounds)]
