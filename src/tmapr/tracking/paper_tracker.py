"""The second half of a frame's way as the paper has it: candidates are judged, and those believed correct a filter."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.artifacts.layout import Array
from tmapr.fusion.capf import Correction, Fusion
from tmapr.retrieval.memory import Memory
from tmapr.tracking import tracker
from tmapr.tracking.gates import History, Sighting
from tmapr.tracking.settings import Tracking
from tmapr.tracking.tracker import POSITION, STAMP, Tracker, list_fields
from tmapr.types import Estimate, Percept, Reason, Recognition

_SIGHTING = {"stamp": STAMP, "position": POSITION, "estimate": POSITION}
LAYOUT = {
    **tracker.LAYOUT,
    "dissenters": Array("i", "", 0),
    **put("accepted.", _SIGHTING),
    **put("dissent.", _SIGHTING),
}


class PaperTracker(Tracker):
    """Judges by the gates."""

    def __init__(self, tracking: Tracking, fusion: Fusion, memory: Memory) -> None:
        self._gates, self._history = tracking.gates.fit(memory.reference), History()
        super().__init__(fusion, memory, self._gates.max_innovation)

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""
        super().start_at(stamp, position, deviation)
        self._history = History()

    def advance(self, percept: Percept, recognition: Recognition) -> Estimate:
        """Judge what a usable frame looks like, and correct the belief with what is believed."""
        belief, history, nis = self._predict(percept.stamp), self._history, None
        seen = percept if self._fusion.apr else replace(percept, position=None)
        candidate, verdict = self._gates.judge(recognition, seen, belief, history)
        self._history = self._gates.remember(history, candidate, seen, belief, verdict)
        if seen.position is not None:
            belief = self._fusion.correct_apr(belief, seen.position)
        if candidate and verdict.accepted:
            # Without a recent accept the velocity of a lost belief is unknown: corrected, it would be invented.
            astray = self._fusion.is_lost(belief) and not self._gates.remembers(history, belief.stamp)
            if verdict.reason is Reason.RELOCALIZED or astray:
                belief = self._fusion.relocalize(belief, candidate.position, self._gates.max_innovation)
            else:
                nis = self._fusion.nis(belief, candidate.position, verdict.confidence or 0.0)
            belief = self._fusion.correct_reference(belief, candidate.position, verdict.confidence or 0.0)
            self.correction = Correction(belief.stamp, belief.position)
        self.belief = belief
        status = self._fusion.status(belief, seen.position is not None, self.correction)
        return Estimate(belief, percept, candidate, verdict, status, recognition, nis)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        seen = self._history
        sightings = put("accepted.", list_fields(seen.accepted)) | put("dissent.", list_fields(seen.dissent))
        return super().arrays() | sightings | {"dissenters": np.array(seen.dissenters)}

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        accepted, dissent = (_read_sighting(take(arrays, name)) for name in ("accepted.", "dissent."))
        super().restore(arrays)
        self._history = History(accepted, dissent, int(arrays["dissenters"]))


def _read_sighting(arrays: Arrays) -> Sighting | None:
    return Sighting(int(arrays["stamp"]), arrays["position"], arrays.get("estimate")) if arrays else None
