"""Fewer points for the same picture, in pixels. What is left out could not have been seen.

A route keeps every bend larger than a quarter of a pixel, a curve over time keeps the first, lowest, highest and last
value of each pixel column, and of dots on one half-pixel cell one is kept.
"""

import numpy as np
from jaxtyping import Float, Int

_BEND = 0.25
_CELL = 0.5


def bends(points: Float[np.ndarray, "n 2"], tolerance: float = _BEND) -> Float[np.ndarray, "kept 2"]:
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
        distances = _to_segment(points[first + 1 : last], points[first], points[last])
        farthest = int(np.argmax(distances))
        if distances[farthest] > tolerance:
            middle = first + 1 + farthest
            kept[middle] = True
            spans += [(first, middle), (middle, last)]
    return points[kept]


def extremes(points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "kept 2"]:
    """Of a curve whose x never falls, at most four points per pixel column."""
    columns = np.floor(points[:, 0])
    starts = np.flatnonzero(np.diff(columns, prepend=-np.inf))
    stops = np.append(starts[1:], len(points))
    kept: set[int] = set()
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        heights = points[start:stop, 1]
        kept |= {start, start + int(heights.argmin()), start + int(heights.argmax()), stop - 1}
    return points[sorted(kept)]


def distinct(points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "kept 2"]:
    """One dot per half-pixel cell, in their order."""
    cells: Int[np.ndarray, "n 2"] = np.round(points / _CELL).astype(np.int64)
    _, first = np.unique(cells, axis=0, return_index=True)
    return points[np.sort(first)]


def _to_segment(
    points: Float[np.ndarray, "n 2"], start: Float[np.ndarray, "2"], stop: Float[np.ndarray, "2"]
) -> Float[np.ndarray, " n"]:
    """Distance to a segment, not to its line: a route may turn back on itself."""
    along = stop - start
    length = float(along @ along)
    share = np.clip((points - start) @ along / length, 0.0, 1.0) if length else np.zeros(len(points))
    distances: Float[np.ndarray, " n"] = np.linalg.norm(points - start - share[:, None] * along, axis=1)
    return distances
