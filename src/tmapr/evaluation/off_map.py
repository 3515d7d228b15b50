"""A drive that leaves the map: is anything invented out there, and how soon is that known at both ends?

A frame is off the map where no reference lies within the radius that makes a match right. A stretch of such frames
counts as a detour from `SHORTEST` metres of driving on; shorter ones are a lane's width or a stop.
"""

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.documents.runs import Detours
from tmapr.evaluation.errors import position_errors
from tmapr.evaluation.loops import RADIUS, opportunities

SHORTEST = 20.0


def find_detours(
    truth: Float[np.ndarray, "n 2"],
    estimated: Float[np.ndarray, "n 2"],
    *,
    localized: Bool[np.ndarray, " n"],
    accepted: Bool[np.ndarray, " n"],
    mapped: Float[np.ndarray, "refs 2"],
) -> Detours | None:
    """What happened off the map; None for a drive that stays on it."""
    way = measure_way(truth)
    stretches = [
        (start, stop) for start, stop in list_stretches(~opportunities(truth, mapped)) if _far(way, start, stop)
    ]
    if not stretches:
        return None
    found = localized & (position_errors(estimated, truth) <= RADIUS)
    left = [_first(way, ~localized, start, stop) for start, stop in stretches]
    later = [start for start, _ in stretches[1:]] + [len(way)]
    back = [_first(way, found, stop, end) for (_, stop), end in zip(stretches, later, strict=True) if stop < len(way)]
    inside = np.concatenate([np.arange(start, stop) for start, stop in stretches])
    return Detours(
        count=len(stretches),
        frames=len(inside),
        metres=float(sum(way[stop - 1] - way[start] for start, stop in stretches)),
        false_accepts=int(accepted[inside].sum()),
        left_after=_longest(left),
        back_after=_longest(back) if back else None,
    )


def _far(way: Float[np.ndarray, " n"], start: int, stop: int) -> bool:
    return bool(way[stop - 1] - way[start] >= SHORTEST)


def measure_way(truth: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " n"]:
    """Metres driven up to each frame."""
    return np.concatenate([[0.0], np.cumsum(position_errors(truth[1:], truth[:-1]))])


def list_stretches(mask: Bool[np.ndarray, " n"]) -> list[tuple[int, int]]:
    """The unbroken runs of frames of which something holds: the first row, and the row after the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _first(way: Float[np.ndarray, " n"], happened: Bool[np.ndarray, " n"], start: int, stop: int) -> float | None:
    """Metres from `start` until it happened, if it did before `stop`."""
    rows = np.flatnonzero(happened[start:stop])
    return float(way[start + rows[0]] - way[start]) if len(rows) else None


def _longest(distances: list[float | None]) -> float | None:
    known = [distance for distance in distances if distance is not None]
    return max(known) if known and len(known) == len(distances) else None
