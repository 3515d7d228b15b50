"""The second half of a frame's way as the paper has it: candidates are judged, the filter moves, and the track goes on.

The track is what is carried from frame to frame: the belief, the gates' memory and the last correction.
"""

from dataclasses import asdict, dataclass, replace

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.artifacts.layout import Array
from tmapr.fusion.capf import Correction, Fusion
from tmapr.retrieval.memory import Memory
from tmapr.tracking import History, Sighting, Tracking
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
            arrays |= put(prefix, _fields(part)) if part else {}
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


class PaperTracker:
    """Owns the track."""

    def __init__(self, tracking: Tracking, fusion: Fusion, memory: Memory) -> None:
        reference = memory.reference
        self.track = Track()
        self.placer = None
        self._gates = tracking.gates.fit(reference)
        self._fusion = fusion.fit(reference)
        self._mapped = memory.positions

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""
        self.track = Track(self._fusion.start(stamp, position, deviation))

    def answer_late(self, percept: Percept) -> Estimate | None:
        """The answer to a frame that came too late to move anything; None if its stamp is new."""
        return answer_late(self.track, self._fusion, percept)

    def measure_gap(self, stamp: int) -> float:
        """Seconds since the last frame that moved time on; 0 before the first."""
        return measure_gap(self.track.belief, stamp)

    def pass_over(self, percept: Percept) -> Estimate:
        """A frame that cannot be used: time goes on, and the belief becomes less certain."""
        self.track = replace(self.track, belief=self._predict(percept.stamp))
        return answer(self.track, self._fusion, percept, Verdict(Reason.FAULTY_FRAME))

    def advance(self, percept: Percept, recognition: Recognition) -> Estimate:
        """Judge what a usable frame looks like, and correct the belief with what is believed."""
        belief = self._predict(percept.stamp)
        seen = percept if self._fusion.apr else replace(percept, position=None)
        candidate, verdict = self._gates.judge(recognition, seen, belief, self.track.history)
        history = self._gates.remember(self.track.history, candidate, seen, belief, verdict)
        correction, nis = self.track.correction, None
        if seen.position is not None:
            belief = self._fusion.correct_apr(belief, seen.position)
        if candidate and verdict.accepted:
            if verdict.reason is Reason.RELOCALIZED or self._starts_again(belief):
                belief = self._fusion.relocalize(belief, candidate.position, self._gates.max_innovation)
            else:
                nis = self._fusion.nis(belief, candidate.position, verdict.confidence or 0.0)
            belief = self._fusion.correct_reference(belief, candidate.position, verdict.confidence or 0.0)
            correction = Correction(belief.stamp, belief.position)
        self.track = Track(belief, history, correction)
        status = self._fusion.status(belief, seen.position is not None, correction)
        return Estimate(belief, percept, candidate, verdict, status, recognition, nis)

    def score_label(self, percept: Percept, recognition: Recognition, truth: Float[np.ndarray, "2"]) -> bool:  # noqa: ARG002
        """The gates learn nothing from labels."""
        return False

    def expect_head(self, error: float) -> None:
        """The variance of a pose head's position is a setting here."""

    def learned(self) -> dict[str, np.ndarray]:
        """Nothing is kept from drive to drive."""
        return {}

    def restore_learned(self, arrays: Arrays) -> None:
        """Nothing to take up."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        return self.track.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        self.track = Track.from_arrays(arrays)

    def _starts_again(self, belief: Belief) -> bool:
        """Whether not even a velocity is known any more: corrected over hundreds of metres, one would be invented."""
        return self._fusion.is_lost(belief) and not self._gates.remembers(self.track.history, belief.stamp)

    def _predict(self, stamp: int) -> Belief:
        if self.track.belief:
            return self._fusion.predict(self.track.belief, stamp)
        return start_anywhere(self._fusion, stamp, self._mapped, self._gates.max_innovation)


def measure_gap(belief: Belief | None, stamp: int) -> float:
    """Seconds from a belief to a later stamp; 0 without one."""
    return (stamp - belief.stamp) / NANOSECONDS if belief else 0.0


def start_anywhere(fusion: Fusion, stamp: int, mapped: Float[np.ndarray, "refs 2"], least: float) -> Belief:
    """Where nobody said where we are: somewhere on the map, give or take at least so many metres."""
    spread = float(np.hypot(*mapped.std(axis=0)))
    return fusion.start(stamp, mapped.mean(axis=0), max(spread, least))


def answer_late(track: Track, fusion: Fusion, percept: Percept) -> Estimate | None:
    """The answer to a frame that came too late to move anything; None if its stamp is new."""
    belief = track.belief
    if belief is None or percept.stamp > belief.stamp:
        return None
    reason = Reason.REPEATED_STAMP if percept.stamp == belief.stamp else Reason.OLDER_STAMP
    return answer(track, fusion, percept, Verdict(reason))


def answer(track: Track, fusion: Fusion, percept: Percept, verdict: Verdict) -> Estimate:
    """The estimate for a frame that was not looked at, so that nothing localized it; the track has a belief by now."""
    if track.belief is None:
        raise ValueError("a track that has begun has a belief, and this one has none")
    return Estimate(track.belief, percept, None, verdict, fusion.status(track.belief, False, None))


def read_belief(arrays: Arrays) -> Belief:
    """The belief that arrays described; ValueError where its covariance is none."""
    np.linalg.cholesky(arrays["covariance"])
    return Belief(int(arrays["stamp"]), arrays["mean"], arrays["covariance"])


def _fields(part: Belief | Sighting | Correction) -> dict[str, np.ndarray]:
    return {name: np.array(field) for name, field in asdict(part).items() if field is not None}


def _sighting(arrays: Arrays) -> Sighting | None:
    return Sighting(int(arrays["stamp"]), arrays["position"], arrays.get("estimate")) if arrays else None
