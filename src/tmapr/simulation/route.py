"""A drive around a block: where the camera is at every frame, and when."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.types import NANOSECONDS

_START = 1_700_000_000 * NANOSECONDS
_INTERVALS = np.array([66_000_000, 132_000_000])  # what an MS2 camera does


@dataclass(frozen=True, slots=True)
class Drive:
    """Stamps and true poses of one traverse."""

    stamps: Int[np.ndarray, " frames"]
    positions: Float[np.ndarray, "frames 2"]
    headings: Float[np.ndarray, " frames"]


def block_loop(width: float, height: float) -> Float[np.ndarray, "corners 2"]:
    """A closed rectangle with its start in the middle of a side."""
    return np.array([[0, 0], [width / 2, 0], [width / 2, height], [-width / 2, height], [-width / 2, 0], [0, 0]])


def with_detour(corners: Float[np.ndarray, "corners 2"], leg: int, depth: float) -> Float[np.ndarray, "detoured 2"]:
    """The same loop, leaving one leg at its third for a rectangle `depth` to the outside of it."""
    start, stop = corners[leg], corners[leg + 1]
    along = stop - start
    outside = depth * np.array([along[1], -along[0]]) / np.hypot(*along)
    bend = [start + along / 3, start + along / 3 + outside, start + 2 * along / 3 + outside, start + 2 * along / 3]
    return np.vstack([corners[: leg + 1], bend, corners[leg + 1 :]])


def drive(
    corners: Float[np.ndarray, "corners 2"], speed: float, rng: np.random.Generator, wander: float = 0.5
) -> Drive:
    """Follow the corners at about `speed`, with irregular frames and a slow sideways wander in metres."""
    legs = np.hypot(*np.diff(corners, axis=0).T)
    ends = np.concatenate([[0.0], np.cumsum(legs)])
    count = int(ends[-1] / speed / (_INTERVALS.mean() / NANOSECONDS))
    gaps = rng.choice(_INTERVALS, size=count)
    paces = speed * (1 + 0.1 * np.sin(np.linspace(0, 20, count) + rng.uniform(0, 6)))
    travelled = np.minimum(np.cumsum(paces * gaps / NANOSECONDS), ends[-1])
    center = np.stack([np.interp(travelled, ends, corners[:, axis]) for axis in (0, 1)], axis=1)
    ahead = np.stack([np.interp(travelled + 0.5, ends, corners[:, axis]) for axis in (0, 1)], axis=1)
    behind = np.stack([np.interp(travelled - 0.5, ends, corners[:, axis]) for axis in (0, 1)], axis=1)
    tangent = ahead - behind
    headings = np.arctan2(tangent[:, 1], tangent[:, 0])
    side = wander * np.sin(travelled / 15 + rng.uniform(0, 6))
    sideways = side[:, None] * np.stack([-np.sin(headings), np.cos(headings)], axis=1)
    return Drive(_START + np.cumsum(gaps), center + sideways, headings)
