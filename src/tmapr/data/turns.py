"""What a shift of the picture means: how far the camera turns while it moves by its own width.

The mapped traverses know their headings and their pictures' shifts, so that nobody needs to know the lens. Near the
axis of a camera a turn is proportional to the shift, and few turns between two frames reach farther.
"""

from collections.abc import Sequence
from math import nan

import numpy as np
from jaxtyping import Float

from tmapr.data.poses import wrap_angles

_SEEN = 0.005
"""In widths: less than this is as good as no shift."""
_LEAST_PAIRS = 20
_ROUNDS = 5
_FARTHEST_OFF = 0.1
"""Radians: a pair that is farther from the line is a wrong shift, or the jump of a heading."""
_LEAST_KEPT = _LEAST_EXPLAINED = 0.5
_LOWEST, _HIGHEST = 0.2, 4.0
"""Radians: no lens has less or more in a picture. The gain is negative of a camera that is mounted upside down."""


def pair_turns(
    rows: Sequence[int], headings: Float[np.ndarray, " rows"], shifts: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, "pairs 2"]:
    """Turn and shift of each frame that follows right upon one with a heading; of some frames of a traverse."""
    turns = wrap_angles(np.diff(headings))
    pairs = np.stack([turns, shifts[1:]], axis=1)
    # Only neighbours: an image that could not be read does not count as the last one, and the shift spans more.
    return pairs[(np.diff(rows) == 1) & np.isfinite(pairs).all(axis=1)]


def fit_turn_gain(pairs: Float[np.ndarray, "pairs 2"]) -> float:
    """Radians of turn per width of shift, by least squares through the origin; NaN if the pairs do not tell."""
    turns, shifts = pairs[np.abs(pairs[:, 1]) > _SEEN].T
    if len(turns) < _LEAST_PAIRS:
        return nan
    gain, kept = _fit_line(turns, shifts), np.full(len(turns), True)
    for _ in range(1, _ROUNDS):
        kept = np.abs(turns - gain * shifts) <= _FARTHEST_OFF
        if kept.mean() < _LEAST_KEPT:  # a line through few of many is chance
            return nan
        gain = _fit_line(turns[kept], shifts[kept])
    missed = float(np.mean((turns - gain * shifts)[kept] ** 2))
    told = missed <= (1 - _LEAST_EXPLAINED) * float(np.var(turns[kept])) and _LOWEST <= abs(gain) <= _HIGHEST
    return gain if told else nan


def _fit_line(turns: Float[np.ndarray, " pairs"], shifts: Float[np.ndarray, " pairs"]) -> float:
    return float(turns @ shifts / (shifts @ shifts))
