"""What the trackers share that correct a Kalman filter with one judged reference after the other.

The track is what is carried from frame to frame: the belief, the gates' memory and the last correction.
"""

from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.artifacts.layout import Array
from tmapr.fusion.capf import Correction, Fusion
from tmapr.retrieval.memory import Memory
from tmapr.tracking.gates import History, Sighting
from tmapr.types import FARTHEST, LATEST, NANOSECONDS, Belief, Estimate, Percept, Reason, Recognition, Verdict

_STAMP, _POSITION = Array("i", "", -LATEST, LATEST, optional=True), Array("f", "2", -FARTHEST, FARTHEST, optional=True)
BELIEF = {"stamp": _STAMP, "mean": Array("f", "4", optional=True), "covariance": Array("f", "4 4", optional=True)}
"""Of a belief's arrays."""

_SIGHTING = {"stamp": _STAMP, "position": _POSITION, "estimate": _POSITION}
LAYOUT = {
    "dissenters": Array("i", "", 0),
    **put("belief.", BELIEF),
    **put("accepted.", _SIGHTING),
    **put("dissent.", _SIGHTING),
    **put("correction.", {"stamp": _STAMP, "position": _POSITION}),
}


@dataclass(frozen=True, slots=True)
class Track:
    """Nothing yet before the first frame."""

    belief: Belief | None = None
    history: History = History()  # noqa: RUF009 (immutable)
    correction: Correction | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs to continue bit for bit."""
        parts = {
            "belief.": self.belief,
            "accepted.": self.history.accepted,
            "dissent.": self.history.dissent,
            "correction.": self.correction,
        }
        arrays = {"dissenters": np.array(self.history.dissenters)}
        for prefix, part in parts.items():
            arrays |= put(prefix, list_fields(part)) if part else {}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Track":
        """The track that `arrays` described."""
        belief, correction = take(arrays, "belief."), take(arrays, "correction.")
        accepted, dissent = _sighting(take(arrays, "accepted.")), _sighting(take(arrays, "dissent."))
        return cls(
            read_belief(belief) if belief else None,
            History(accepted, dissent, int(arrays["dissenters"])),
            Correction(int(correction["stamp"]), correction["position"]) if correction else None,
        )


class TrackKeeper:
    """Owns the track; who judges the frames is left to the method."""

    route: ClassVar[None] = None

    def __init__(self, fusion: Fusion, memory: Memory, around: float) -> None:
        self.track = Track()
        self._fusion = fusion.fit(memory.reference)
        self._mapped, self._around = memory.positions, around

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""
        self.track = Track(self._fusion.start(stamp, position, deviation))

    def answer_late(self, percept: Percept) -> Estimate | None:
        """The answer to a frame that came too late to move anything; None if its stamp is new."""
        reason = judge_stamp(self.track.belief, percept.stamp)
        return self._answer(percept, Verdict(reason)) if reason else None

    def measure_gap(self, stamp: int) -> float:
        """Seconds since the last frame that moved time on; 0 before the first."""
        return measure_gap(self.track.belief, stamp)

    def pass_over(self, percept: Percept) -> Estimate:
        """A frame that cannot be used: time goes on, and the belief becomes less certain."""
        self.track = replace(self.track, belief=self._predict(percept.stamp))
        return self._answer(percept, Verdict(Reason.FAULTY_FRAME))

    def score_label(self, percept: Percept, recognition: Recognition, truth: Float[np.ndarray, "2"]) -> bool:  # noqa: ARG002
        """Nothing is learned from labels."""
        return False

    def expect_head(self, error: float) -> None:
        """The variance of a pose head's position is a setting here."""

    def learned(self) -> dict[str, np.ndarray]:
        """Nothing is kept from drive to drive."""
        return {}

    def restore_learned(self, arrays: Arrays) -> None:
        """Nothing to take up."""

    def _predict(self, stamp: int) -> Belief:
        if self.track.belief:
            return self._fusion.predict(self.track.belief, stamp)
        return start_anywhere(self._fusion, stamp, self._mapped, self._around)

    def _answer(self, percept: Percept, verdict: Verdict) -> Estimate:
        """The estimate for a frame that was not looked at, so that nothing localized it; there is a belief by now."""
        belief = self.track.belief
        if belief is None:
            raise ValueError("a track that has begun has a belief, and this one has none")
        return Estimate(belief, percept, None, verdict, self._fusion.status(belief, False, None))


def judge_stamp(belief: Belief | None, stamp: int) -> Reason | None:
    """Why a frame came too late to move anything."""
    if belief is None or stamp > belief.stamp:
        return None
    return Reason.REPEATED_STAMP if stamp == belief.stamp else Reason.OLDER_STAMP


def measure_gap(belief: Belief | None, stamp: int) -> float:
    """Seconds from a belief to a later stamp; 0 without one."""
    return (stamp - belief.stamp) / NANOSECONDS if belief else 0.0


def start_anywhere(fusion: Fusion, stamp: int, mapped: Float[np.ndarray, "refs 2"], least: float) -> Belief:
    """Where nobody said where we are: somewhere on the map, give or take at least so many metres."""
    spread = float(np.hypot(*mapped.std(axis=0)))
    return fusion.start(stamp, mapped.mean(axis=0), max(spread, least))


def read_belief(arrays: Arrays) -> Belief:
    """The belief that arrays described; ValueError where its covariance is none."""
    np.linalg.cholesky(arrays["covariance"])
    return Belief(int(arrays["stamp"]), arrays["mean"], arrays["covariance"])


def list_fields(part: Belief | Sighting | Correction) -> dict[str, np.ndarray]:
    """As arrays, without those that have no value."""
    return {name: np.array(field) for name, field in asdict(part).items() if field is not None}


def _sighting(arrays: Arrays) -> Sighting | None:
    return Sighting(int(arrays["stamp"]), arrays["position"], arrays.get("estimate")) if arrays else None
