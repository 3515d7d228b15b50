"""What every tracker has and does: a belief that is predicted, and answers to frames that nothing is seen in."""

from abc import ABC, abstractmethod
from dataclasses import asdict

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.artifacts.layout import Array
from tmapr.fusion.capf import Correction, Fusion
from tmapr.retrieval.memory import Memory
from tmapr.tracking.gates import Sighting
from tmapr.types import FARTHEST, LATEST, Belief, Estimate, Percept, Reason, Recognition, Verdict

STAMP, POSITION = Array("i", "", -LATEST, LATEST, optional=True), Array("f", "2", -FARTHEST, FARTHEST, optional=True)
BELIEF = {"stamp": STAMP, "mean": Array("f", "4", optional=True), "covariance": Array("f", "4 4", optional=True)}
"""Of a belief's arrays."""
LAYOUT = {**put("belief.", BELIEF), **put("correction.", {"stamp": STAMP, "position": POSITION})}


class Tracker(ABC):
    """Owns what is carried from frame to frame; how a frame is judged is left to the method."""

    def __init__(self, fusion: Fusion, memory: Memory, around: float) -> None:
        self.belief: Belief | None = None
        self.correction: Correction | None = None
        """The last one, of a method that corrects the belief with candidates."""
        self._fusion, self._memory, self._around = fusion.fit(memory.reference), memory, around

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""
        self.belief, self.correction = self._fusion.start(stamp, position, deviation), None

    def answer_late(self, percept: Percept) -> Estimate | None:
        """The answer to a frame that came too late to move anything; None if its stamp is new."""
        if self.belief is None or percept.stamp > self.belief.stamp:
            return None
        repeated = percept.stamp == self.belief.stamp
        return self._answer(percept, self.belief, Reason.REPEATED_STAMP if repeated else Reason.OLDER_STAMP)

    def pass_over(self, percept: Percept) -> Estimate:
        """A frame that cannot be used: time goes on, and the belief becomes less certain."""
        self.belief = self._predict(percept.stamp)
        return self._answer(percept, self.belief, Reason.FAULTY_FRAME)

    @abstractmethod
    def advance(self, percept: Percept, recognition: Recognition) -> Estimate:
        """Judge what a usable frame looks like, and correct the belief with what is believed."""

    def score_label(self, percept: Percept, recognition: Recognition, truth: Float[np.ndarray, "2"]) -> bool:  # noqa: ARG002
        """Whether a labelled frame shows the map, and something else than the last one that did."""
        return False

    def expect_head(self, error: float) -> None:  # noqa: B027 (a setting says it, where nothing is measured)
        """Take the error of the pose head's validation, metres, if none was measured yet."""

    def learned(self) -> dict[str, np.ndarray]:
        """What stays when a drive ends."""
        return {}

    def restore_learned(self, arrays: Arrays) -> None:  # noqa: B027 (nothing stays)
        """Take up what was learned."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        return put("belief.", list_fields(self.belief)) | put("correction.", list_fields(self.correction))

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` of the same method were taken; ValueError where they cannot be."""
        belief, correction = take(arrays, "belief."), take(arrays, "correction.")
        if belief:
            np.linalg.cholesky(belief["covariance"])
        self.belief = Belief(int(belief["stamp"]), belief["mean"], belief["covariance"]) if belief else None
        self.correction = Correction(int(correction["stamp"]), correction["position"]) if correction else None

    def _predict(self, stamp: int) -> Belief:
        """The belief at a later stamp; where nobody said where we are, somewhere on the map."""
        if self.belief:
            return self._fusion.predict(self.belief, stamp)
        mapped = self._memory.positions
        return self._fusion.start(stamp, mapped.mean(axis=0), max(float(np.hypot(*mapped.std(axis=0))), self._around))

    def _answer(self, percept: Percept, belief: Belief, reason: Reason) -> Estimate:
        """The estimate for a frame that was not looked at, so that nothing localized it."""
        return Estimate(belief, percept, None, Verdict(reason), self._fusion.status(belief, False, None))


def list_fields(part: Belief | Correction | Sighting | None) -> dict[str, np.ndarray]:
    """As arrays, without those that have no value."""
    return {name: np.array(field) for name, field in asdict(part).items() if field is not None} if part else {}
