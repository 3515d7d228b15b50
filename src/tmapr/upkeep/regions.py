"""Which references lie in a region: a box or a polygon in the map's metres, some traverses, or what is in both."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from tmapr.exceptions import InputError
from tmapr.retrieval.memory import Memory

_CORNERS = 3
_MOST_CORNERS = 10_000


def choose_references(
    memory: Memory, corners: Float[np.ndarray, "corners 2"] | None, traverses: Sequence[str]
) -> Bool[np.ndarray, " refs"]:
    """The rows inside a polygon and of some traverses; without one of the two, of the other alone."""
    chosen = np.full(len(memory), True)
    if corners is not None:
        chosen &= lie_inside(memory.positions, corners)
    there = sorted(set(memory.sequences.tolist()))
    for name in traverses:
        if name not in there:
            raise InputError(f"{name}: is no traverse of the map; it has {', '.join(there)}")
    return chosen & np.isin(memory.sequences, traverses) if traverses else chosen


def lie_inside(
    positions: Float[np.ndarray, "refs 2"], corners: Float[np.ndarray, "corners 2"]
) -> Bool[np.ndarray, " refs"]:
    """Whether a ray to the right crosses the outline an odd number of times; of an edge, left and bottom are inside."""
    inside = np.full(len(positions), False)
    x, y = positions.T
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        between = (y0 <= y) != (y1 <= y)
        if y0 != y1:
            inside ^= between & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    return inside


def read_box(text: str) -> Float[np.ndarray, "4 2"]:
    """The corners of `x_min,y_min,x_max,y_max`."""
    numbers = _read_numbers(text, "--box")
    if len(numbers) != 4 or numbers[0] >= numbers[2] or numbers[1] >= numbers[3]:
        raise InputError(f"--box {text[:60]}: must be x_min,y_min,x_max,y_max in metres, the smaller ones first")
    left, bottom, right, top = numbers
    return np.array([[left, bottom], [right, bottom], [right, top], [left, top]])


def read_polygon(text: str) -> Float[np.ndarray, "corners 2"]:
    """The corners of `x,y,x,y,x,y…`, in their order around it."""
    numbers = _read_numbers(text, "--polygon")
    if len(numbers) % 2 or not _CORNERS <= len(numbers) // 2 <= _MOST_CORNERS:
        raise InputError(
            f"--polygon {text[:60]}: must be x,y of at least three corners, in metres, with commas between"
        )
    return np.array(numbers).reshape(-1, 2)


def _read_numbers(text: str, option: str) -> list[float]:
    try:
        numbers = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise InputError(f"{option} {text[:60]}: holds what is no number") from None
    if not np.isfinite(numbers).all():
        raise InputError(f"{option} {text[:60]}: holds a number that is not finite")
    return numbers
