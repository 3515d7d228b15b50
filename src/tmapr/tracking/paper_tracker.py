"""The second half of a frame's way as the paper has it: candidates are judged, and those believed correct a filter."""

from dataclasses import replace

import numpy as np

from tmapr.artifacts.arrays import Arrays
from tmapr.fusion.capf import Correction, Fusion
from tmapr.retrieval.memory import Memory
from tmapr.tracking.settings import Tracking
from tmapr.tracking.track_keeper import Track, TrackKeeper
from tmapr.types import Belief, Estimate, Percept, Reason, Recognition


class PaperTracker(TrackKeeper):
    """Judges by the gates."""

    def __init__(self, tracking: Tracking, fusion: Fusion, memory: Memory) -> None:
        self._gates = tracking.gates.fit(memory.reference)
        super().__init__(fusion, memory, self._gates.max_innovation)

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

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        return self.track.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        self.track = Track.from_arrays(arrays)

    def _starts_again(self, belief: Belief) -> bool:
        """Whether not even a velocity is known any more: corrected over hundreds of metres, one would be invented."""
        return self._fusion.is_lost(belief) and not self._gates.remembers(self.track.history, belief.stamp)
