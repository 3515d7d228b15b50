"""What is told of a frame's place: the belief after it, held against dead reckoning, and what the frame alone says.

It needs where the camera may be, not how fast it is there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.tracking.around import Around
from tmapr.tracking.between import Between
from tmapr.tracking.profile import list_possible
from tmapr.tracking.reckoning import Reckoning, Turned
from tmapr.tracking.route import Route
from tmapr.tracking.speeds import FAR_VIEW, START_OFF, Step
from tmapr.types import FARTHEST, Comparison

_POSSIBLE = 0.01
"""Share of the likeliest reference's probability from which on another one near it is possible."""
_LIKELY = 1e-3
SURE = 0.95
"""Probability of a place from which on the drive's matches there are what they seem."""
DOUBTED = 0.5
"""Probability that a place is given while dead reckoning contradicts it: no setting calls that certain."""
_FASTER = 1.5
"""Of the mapped speed: what may have been driven unseen."""

PLACING = {
    "p_place": Array("f", "", 0, 1.01, optional=True),
    "p_off_map": Array("f", "", 0, 1.01, optional=True),
    "peak": Array("i", "", 0, optional=True),
    "rows": Array("i", "likely", 0, optional=True),
    "masses": Array("f", "likely", 0, 1.01, optional=True),
    "position": Array("f", "2", -FARTHEST, FARTHEST, optional=True),
    "covariance": Array("f", "2 2", optional=True),
    "share": Array("f", "", 0, 1.01, optional=True),
    "new_view": Array("b", optional=True),
    "view_metres": Array("f", "", 0, optional=True),
    "near": Array("i", "near", 0, optional=True),
}
"""Of a placing's arrays: all of them, or none."""


@dataclass(frozen=True, slots=True)
class Placing:
    """What the route filter believes after a frame, and what this frame alone says of the position."""

    p_place: float
    p_off_map: float
    peak: int
    """The reference around which most of the probability lies, as a row of M₀."""
    rows: Int[np.ndarray, " likely"]
    masses: Float[np.ndarray, " likely"]
    """Rows of M₀ with some probability."""
    position: Float[np.ndarray, "2"]
    covariance: Float[np.ndarray, "2 2"]
    """Of the frame's own likelihood around the peak."""
    share: float
    """How much of a new view the frame is."""
    new_view: bool
    view_metres: float
    """After how many metres the view is a new one there."""
    near: Int[np.ndarray, " near"]
    """Rows of M₀ around the peak that the belief leaves possible."""

    @classmethod
    def from_arrays(cls, arrays: Arrays, references: int) -> "Placing":
        """The placing on a map of so many references whose fields these are."""
        if max(*arrays["rows"], *arrays["near"], arrays["peak"]) >= references:
            raise ValueError(f"a place is beyond the map's {references} references")
        fields: dict[str, Any] = {
            name: arrays[name].item() if arrays[name].ndim == 0 else np.array(arrays[name]) for name in PLACING
        }
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Found:
    """What the filter believes after a frame, by references along the route."""

    where: Float[np.ndarray, " refs"]
    p_off: float
    metres_a_view: float
    peak: int
    p_place: float


@dataclass(frozen=True, slots=True)
class Looked:
    """A frame: how it compares, what comparisons weigh, and how much of a new view it is."""

    ordered: Comparison
    weights: tuple[float, float]
    share: float
    new_view: bool


def raise_certainty(certainty: float, share: float) -> float:
    """The probability from which on a place with so large a share of the map is certain: a prior proves nothing.

    What was seen has to lead there from even odds; before anything was seen, a map of one place has 1 − START_OFF.
    """
    prior = max((1.0 - START_OFF) * share, 0.5)
    return certainty * prior / (certainty * prior + (1.0 - certainty) * (1.0 - prior))


def reckon(reckoning: Reckoning, turned: Turned, step: Step, found: Found, route: Route, around: Around) -> bool:
    """Hold a certain place against way and turns: whether they contradict it, so that it is doubted."""
    reckoning.advance(turned, found.metres_a_view * min(step.change, FAR_VIEW), step.metres)
    if step.saturated and step.metres is None:
        # Two views that have nothing in common do not tell how far it was.
        reckoning.lose_sight(_FASTER * route.speed * step.seconds)
    if found.p_place < SURE:
        return False
    spot = route.positions[found.peak]
    if reckoning.doubts(spot, route.headings[around.find(found.peak)]):
        return True
    reckoning.settle(spot, float(route.headings[found.peak]))
    return False


def describe(route: Route, between: Between, around: Around, found: Found, looked: Looked) -> Placing:
    """What is told."""
    where = found.where
    near, some, view_metres = list_possible(where, around.find(found.peak), route.lengths, _POSSIBLE, _LIKELY)
    reading = between.read(near, looked.ordered, looked.weights)
    return Placing(
        p_place=found.p_place,
        p_off_map=found.p_off,
        peak=int(route.rows[found.peak]),
        rows=route.rows[some],
        masses=where[some],
        position=reading.position,
        covariance=reading.covariance,
        share=looked.share,
        new_view=looked.new_view,
        view_metres=view_metres,
        near=route.rows[near],
    )
