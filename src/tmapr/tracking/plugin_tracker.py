"""The second half of a frame's way with somebody else's method: it judges; filter, late stamps and faults are ours.

What it returns is looked at before the filter moves; a call that is refused leaves our half of the track as it was.
"""

import re
from dataclasses import replace
from typing import cast

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.exceptions import InputError
from tmapr.fusion.capf import Correction, Fusion
from tmapr.plugins import Judgement, Offer, TrackingMethod, describe
from tmapr.retrieval.memory import Memory
from tmapr.tracking.settings import Tracking
from tmapr.tracking.tracker import LAYOUT as TRACK
from tmapr.tracking.tracker import Tracker
from tmapr.types import FARTHEST, Candidate, Estimate, Percept, Reason, Recognition, Verdict

LAYOUT = put("track.", TRACK)
"""Of our half; what the method keeps is checked by its own `restore`."""

_METHOD = "method."
_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)
_MOST = 100
_DEVIATIONS = 1e-3, 1e6
"""Metres that a position may be uncertain by."""


class PluginTracker(Tracker):
    """Owns a method of somebody else's package, made anew for every drive."""

    def __init__(self, offer: Offer, tracking: Tracking, fusion: Fusion, memory: Memory) -> None:
        super().__init__(fusion, memory, memory.reference.place)
        self._offer, self._options = offer, tracking.options
        self._method = self._make_method()

    def _make_method(self) -> TrackingMethod:
        made = self._offer.build("tracking", self._options, self._memory)
        if isinstance(made, TrackingMethod):
            return made
        wanted = "judge(percept, recognition, belief), arrays() and restore(arrays)"
        raise self._offer.refuse(f"its maker returned {describe(made)}, which lacks one of {wanted}")

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""
        self._method = self._make_method()
        super().start_at(stamp, position, deviation)

    def advance(self, percept: Percept, recognition: Recognition) -> Estimate:
        """Have a usable frame judged, and correct the belief with what is accepted."""
        belief, nis = self._predict(percept.stamp), None
        seen = percept if self._fusion.apr else replace(percept, position=None)
        with self._offer.blaming("judging a frame"):
            judged = self._method.judge(seen, recognition, belief)
        accepted = _read(judged, self._offer)
        if seen.position is not None:
            belief = self._fusion.correct_apr(belief, seen.position)
        if accepted:
            position, deviation = accepted
            # The velocity of a belief that may be anywhere is unknown: corrected, it would be invented.
            if judged.verdict.reason is Reason.RELOCALIZED or self._fusion.is_lost(belief):
                belief = self._fusion.relocalize(belief, position, deviation)
            else:
                covariance = np.eye(2) * deviation**2
                nis = self._fusion.measure_nis(belief, position, covariance)
                belief = self._fusion.correct(belief, position, covariance)
            self.correction = Correction(belief.stamp, belief.position)
        self.belief = belief
        status = self._fusion.status(belief, seen.position is not None, self.correction)
        return Estimate(belief, percept, judged.candidate, judged.verdict, status, recognition, nis)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes; what could not be read back is refused before anything is written."""
        with self._offer.blaming("giving its arrays"):
            given = {name: np.array(array) for name, array in dict(self._method.arrays()).items()}
        if len(given) > _MOST:
            raise self._offer.refuse(f"its arrays() has {len(given)} entries; at most {_MOST} are kept")
        for name, array in given.items():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise self._offer.refuse(f"its arrays() has the name {name!r}; use letters, digits, '.', '_' and '-'")
            kept = array.dtype.kind in "biufU" and array.dtype.itemsize > 0
            if not kept or (array.dtype.kind == "f" and not np.isfinite(array).all()):
                told = "has more than finite numbers, truth values or text"
                raise self._offer.refuse(f"its array {name!r}, {describe(array)}, {told}")
        return put("track.", super().arrays()) | put(_METHOD, given)

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken; ValueError where the method cannot."""
        method = self._make_method()
        try:
            with self._offer.blaming("taking up its arrays"):
                method.restore({name: np.array(array) for name, array in take(arrays, _METHOD).items()})
        except InputError as error:  # whoever reads the file says which one it is
            raise ValueError(str(error)) from error
        super().restore(take(arrays, "track."))
        self._method = method


def _read(judged: object, offer: Offer) -> tuple[Float[np.ndarray, "2"], float] | None:
    """Position and deviation of what is accepted, None of what is not; anything else than a judgement is refused."""
    if not isinstance(judged, Judgement) or not isinstance(judged.verdict, Verdict):
        raise offer.refuse(f"judge() returned {describe(judged)} instead of a Judgement with a Verdict")

    def demand(name: str, value: object, fits: bool, wanted: str) -> None:
        if not fits:
            raise offer.refuse(f"judge() returned the {name} {describe(value)}; give {wanted}")

    verdict, position, deviation = judged.verdict, judged.position, judged.deviation
    demand("reason", verdict.reason, isinstance(verdict.reason, Reason), "a Reason")
    demand("candidate", judged.candidate, isinstance(judged.candidate, Candidate | None), "a Candidate, or none")
    for name, number in {"confidence": verdict.confidence, "innovation": verdict.innovation}.items():
        demand(name, number, number is None or _fits(number, (), 0.0, FARTHEST), "a finite number, or none")
    if not verdict.accepted:
        return None
    demand("position", position, _fits(position, (2,), -FARTHEST, FARTHEST), "two numbers in metres to accept one")
    demand("deviation", deviation, _fits(deviation, (), *_DEVIATIONS), f"{_DEVIATIONS[0]:g} to {_DEVIATIONS[1]:g} m")
    return np.array(position, dtype=float), float(cast("float", deviation))


def _fits(value: object, shape: tuple[int, ...], low: float, high: float) -> bool:
    """Whether it is an array of this shape, or for none a number, with nothing out of bounds; NaN always is."""
    if not isinstance(value, np.ndarray if shape else int | float | np.number):
        return False
    array = np.asarray(value)
    return array.shape == shape and array.dtype.kind in "fiu" and bool(((array >= low) & (array <= high)).all())
