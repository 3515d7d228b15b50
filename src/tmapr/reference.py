"""What the mapped traverses say of themselves: how far apart references lie, how fast they were driven.

Speeds, gaps and radii of the method follow from these: a robot that walks needs no numbers of a car. So does what is a
jump of positions, recorded or estimated: a step farther than

    1 m + 1.5 v₉₉ |Δt|,

v₉₉ being the speed that 99 % of a traverse's moving steps stay below.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.types import NANOSECONDS

_PLACE = 10.0
_PLACES, _REFERENCES = 10.0, 3.0
_STANDING = 0.1
"""Share of a long step below which the mapped drive stood."""
_LONG = 95.0
"""Percent of the steps that are shorter than what counts as a step: most of them may be the jitter of a long stop."""
_TOP = 99.0
"""Percent of the steps that are slower: a jump of the positions is no speed."""
_SUSPECTS = 5
"""Fastest steps that say nothing of the speed of a recording which nobody has looked at: they may be what is wrong."""

JUMP_TOLERANCE = 1.0
"""Metres that positions may move between two frames, however close in time these are."""
SPEED_TOLERANCE = 1.5
"""How much faster than the traverse ever was a camera may plausibly move."""


@dataclass(frozen=True, slots=True)
class Reference:
    """In the median over the steps that moved; metres, seconds, metres a second."""

    spacing: float
    speed: float
    top_speed: float
    interval: float
    extent: float
    """Diagonal of the box around all positions."""

    @property
    def place(self) -> float:
        """Metres that are one place: ten, or two references of a sparser map. It is what `localized` promises."""
        return max(_PLACE, 2.0 * self.spacing)

    @property
    def straight(self) -> float:
        """Seconds for which a velocity is worth something: ten places at the mapped speed, and three references."""
        return max(_PLACES * self.place / self.speed, _REFERENCES * self.interval)


def measure_steps(
    drives: Sequence[Int[np.ndarray, " _"]], positions: Float[np.ndarray, "refs 2"]
) -> list[Float[np.ndarray, " _"]]:
    """Metres from each reference of a traverse to the next."""
    return [np.hypot(*np.diff(positions[drive], axis=0).T) for drive in drives]


def measure_reference(
    drives: Sequence[Int[np.ndarray, " _"]],
    positions: Float[np.ndarray, "refs 2"],
    stamps: Int[np.ndarray, " refs"],
) -> Reference:
    """From the rows of each traverse in the order they were driven."""
    steps = np.concatenate(measure_steps(drives, positions))
    seconds = np.concatenate([np.diff(stamps[drive]) for drive in drives]) / NANOSECONDS
    extent = float(np.hypot(*np.ptp(positions, axis=0))) if len(positions) else 0.0
    spacing = _find_step(steps)
    moving = (steps > _STANDING * spacing) & (seconds > 0)
    if not moving.any():
        # A single spot says nothing of motion; a step a second stands for it.
        return Reference(spacing, spacing, spacing, 1.0, extent)
    speeds = steps[moving] / seconds[moving]
    return Reference(
        spacing=spacing,
        speed=float(np.median(speeds)),
        top_speed=float(np.percentile(speeds, _TOP)),
        interval=float(np.median(seconds[moving])),
        extent=extent,
    )


def find_jumps(
    stamps: Int[np.ndarray, " n"], positions: Float[np.ndarray, "n 2"], top_speed: float
) -> Bool[np.ndarray, " steps"]:
    """Whether each step from one frame to the next is one; `top_speed` is v₉₉ of the reference."""
    # A frame may arrive with an older stamp; what it could have moved depends on the time between the
    # two moments, whichever came first.
    seconds = np.abs(np.diff(stamps)) / NANOSECONDS
    farther: Bool[np.ndarray, " steps"] = (
        np.hypot(*np.diff(positions, axis=0).T) > JUMP_TOLERANCE + SPEED_TOLERANCE * top_speed * seconds
    )
    return farther


def suspect_top_speed(stamps: Int[np.ndarray, " n"], positions: Float[np.ndarray, "n 2"]) -> float | None:
    """v₉₉ of a recording whose positions may jump; None where too few of its steps moved to tell.

    One jump in a short recording would be its own 99th percentile: so v₉₉ is a step's, and never one of the fastest.
    """
    steps, seconds = np.hypot(*np.diff(positions, axis=0).T), np.diff(stamps) / NANOSECONDS
    moving = (steps > 0) & (seconds > 0)  # jumps would say what is long, and so what stands
    speeds = np.sort(steps[moving] / seconds[moving])
    rank = min(int(_TOP / 100 * len(speeds)), len(speeds) - 1 - _SUSPECTS)
    return float(speeds[rank]) if rank >= len(speeds) // 2 else None


def _find_step(steps: Float[np.ndarray, " n"]) -> float:
    moved = steps[steps > 0]
    if not len(moved):
        return 1.0  # a single spot: nothing says how large a step is
    long = float(np.percentile(moved, _LONG))
    return float(np.median(moved[moved > _STANDING * long]))
