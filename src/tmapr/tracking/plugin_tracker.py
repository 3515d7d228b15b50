"""The second half of a frame's way with somebody else's method: it judges; filter, late stamps and faults are ours.

What it returns is looked at before the filter moves; a call that is refused leaves our half of the track as it was.
"""

import re
from dataclasses import replace
from math import isfinite

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.exceptions import InputError
from tmapr.fusion.capf import Correction, Fusion
from tmapr.plugins import Judgement, Offer, TrackingMethod, describe
from tmapr.retrieval.memory import Memory
from tmapr.tracking.settings import Tracking
from tmapr.tracking.track_keeper import LAYOUT as TRACK
from tmapr.tracking.track_keeper import Track, TrackKeeper
from tmapr.types import FARTHEST, Candidate, Estimate, Percept, Reason, Recognition, Verdict

LAYOUT = put("track.", TRACK)
"""Of our half; what the method keeps is checked by its own `restore`."""

_METHOD = "method."
_KINDS = "biufU"
_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)
_MOST = 100
_SHARPEST, _WIDEST = 1e-3, 1e6


class PluginTracker(TrackKeeper):
    """Owns a method of somebody else's package, made anew for every drive."""

    def __init__(self, offer: Offer, tracking: Tracking, fusion: Fusion, memory: Memory) -> None:
        super().__init__(fusion, memory, memory.reference.place)
        self._offer, self._options, self._memory = offer, tracking.options, memory
        self._method = self._make_method()

    def _make_method(self) -> TrackingMethod:
        made = self._offer.build("tracking", self._options, self._memory)
        if not isinstance(made, TrackingMethod):
            wanted = "judge(percept, recognition, belief), arrays() and restore(arrays)"
            raise self._offer.refuse(f"its maker returned {describe(made)}, which lacks one of {wanted}")
        return made

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""
        self._method = self._make_method()
        super().start_at(stamp, position, deviation)

    def advance(self, percept: Percept, recognition: Recognition) -> Estimate:
        """Have a usable frame judged, and correct the belief with what is accepted."""
        belief, correction, nis = self._predict(percept.stamp), self.track.correction, None
        seen = percept if self._fusion.apr else replace(percept, position=None)
        with self._offer.blaming("judging a frame"):
            judged = self._method.judge(seen, recognition, belief)
        accepted = _read(judged, self._offer)
        if seen.position is not None:
            belief = self._fusion.correct_apr(belief, seen.position)
        if accepted:
            position, deviation = accepted
            # Of a belief that may be anywhere not even the velocity is known: corrected, it would be invented.
            if judged.verdict.reason is Reason.RELOCALIZED or self._fusion.is_lost(belief):
                belief = self._fusion.relocalize(belief, position, deviation)
            else:
                covariance = np.eye(2) * deviation**2
                nis = self._fusion.measure_nis(belief, position, covariance)
                belief = self._fusion.correct(belief, position, covariance)
            correction = Correction(belief.stamp, belief.position)
        self.track = Track(belief, self.track.history, correction)
        status = self._fusion.status(belief, seen.position is not None, correction)
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
            broken = array.dtype.kind == "f" and not np.isfinite(array).all()
            if array.dtype.kind not in _KINDS or not array.dtype.itemsize or broken:
                what = "holds what is not finite" if broken else f"is {describe(array)}"
                raise self._offer.refuse(f"its array {name!r} {what}; keep finite numbers, truth values or text")
        return put("track.", self.track.arrays()) | put(_METHOD, given)

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken; ValueError where the method cannot."""
        track, method = Track.from_arrays(take(arrays, "track.")), self._make_method()
        try:
            with self._offer.blaming("taking up its arrays"):
                method.restore({name: np.array(array) for name, array in take(arrays, _METHOD).items()})
        except InputError as error:  # whoever reads the file says which one it is
            raise ValueError(str(error)) from error
        self._method, self.track = method, track


def _read(judged: object, offer: Offer) -> tuple[Float[np.ndarray, "2"], float] | None:
    """Position and deviation of what is accepted, None of what is not; anything else than a judgement is refused."""
    if not isinstance(judged, Judgement) or not isinstance(judged.verdict, Verdict):
        raise offer.refuse(f"judge() returned {describe(judged)} instead of a Judgement with a Verdict")
    verdict, candidate = judged.verdict, judged.candidate
    if not isinstance(verdict.reason, Reason) or not isinstance(candidate, Candidate | None):
        raise offer.refuse(f"judge() returned {describe(verdict.reason)} with {describe(candidate)}")
    for name, number in {"confidence": verdict.confidence, "innovation": verdict.innovation}.items():
        if number is not None and not _is_within(number, 0.0, FARTHEST):
            raise offer.refuse(f"judge() returned the {name} {describe(number)}; give a finite number, or none")
    if not verdict.accepted:
        return None
    position, deviation = judged.position, judged.deviation
    if position is None or not _is_place(position):
        raise offer.refuse(f"judge() accepted with the position {describe(position)}; give two numbers in metres")
    if deviation is None or not _is_within(deviation, _SHARPEST, _WIDEST):
        told = f"give its standard deviation, {_SHARPEST:g} to {_WIDEST:g} m"
        raise offer.refuse(f"judge() accepted a position with the deviation {describe(deviation)}; {told}")
    return np.array(position, dtype=float), float(deviation)


def _is_place(position: object) -> bool:
    if not isinstance(position, np.ndarray) or position.shape != (2,) or position.dtype.kind not in "fiu":
        return False
    return bool(np.abs(position).max() <= FARTHEST)  # which NaN is not


def _is_within(number: object, low: float, high: float) -> bool:
    if not isinstance(number, int | float | np.integer | np.floating) or isinstance(number, bool):
        return False
    return isfinite(number) and bool(low <= number <= high)
