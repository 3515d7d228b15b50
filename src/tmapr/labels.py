"""Which frames are learned from, with what position, and when.

`fused` is what a robot has in the field. With the paper's method it is here: its own corrected estimate, where it is
localized, a reference was accepted and the covariance is small; with the route filter it is its smoothed past, in
`learning`. `truth` is an upper bound. A true position learned right after its frame tells the next frame the answer, so
labels arrive a number of frames late.
"""

from collections import deque
from dataclasses import replace
from typing import Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.config import Settings, changed, filled
from tmapr.reference import Reference
from tmapr.types import FARTHEST, LATEST, Estimate, Percept, Reason, Status


class Labels(Settings):
    """Learning while localizing."""

    mode: Literal["off", "fused", "truth"] = Field("off", description="off | fused | truth")
    delay: int = Field(120, ge=0, description="frames by which a true label is late")
    max_semi_axis: float = Field(
        0.0, ge=0, description="fused: largest 95 % semi-axis to learn from, metres; 0: by the reference"
    )
    min_support: float = Field(0.5, ge=0, le=1, description="fused with H: local support needed to learn")
    min_margin: float = Field(0.5, ge=0, description="fused with H: score margin needed to learn, deviations")

    def fit(self, reference: Reference) -> "Labels":
        """What is 0 becomes what the reference says: a label may be wrong by a place, not by more."""
        return filled(self, {"max_semi_axis": reference.place})

    @property
    def description(self) -> str:
        """The mode as reports print it: `truth+120` says that labels came 120 frames late."""
        return f"truth+{self.delay}" if self.mode == "truth" else self.mode

    @property
    def streamed(self) -> "Labels":
        """As `data.stream` learns: from the truth, which comes late, unless it is to teach itself."""
        return self if self.mode == "fused" else changed(self, {"mode": "truth"})


LAYOUT = {
    "held": Array("b", "frames"),
    "stamps": Array("i", "held", -LATEST, LATEST),
    "descriptors": Array("f", "held numbers"),
    "positions": Array("f", "held 2", -FARTHEST, FARTHEST),
}
"""Of what `Teacher.arrays` gives."""

Label = tuple[Percept, Float[np.ndarray, "2"]]
"""A frame with the descriptor that is learned of it, under the map's condition as when it was seen; its position."""
_NOTHING_NEW = (Reason.FAULTY_FRAME, Reason.REPEATED_STAMP)


class Teacher:
    """Holds labels until they are due."""

    def __init__(self, labels: Labels, dual_constraints: bool) -> None:
        self._labels = labels
        self._dual_constraints = dual_constraints
        self._waiting: deque[Label | None] = deque()

    @property
    def mode(self) -> str:
        """Where labels come from."""
        return self._labels.mode

    def due(self, estimate: Estimate, truth: Float[np.ndarray, "2"] | None) -> list[Label]:
        """The labels to learn after this frame: at most one, or more if the delay was shortened meanwhile."""
        if self._labels.mode == "truth":
            usable = not estimate.percept.fault and estimate.verdict.reason not in _NOTHING_NEW
            self._waiting.append((_keep(estimate), truth.copy()) if usable and truth is not None else None)
            ripe = len(self._waiting) - self._labels.delay
            return [label for label in (self._waiting.popleft() for _ in range(ripe)) if label]
        if self._labels.mode == "fused" and self._certain(estimate):
            return [(_keep(estimate), estimate.position)]
        return []

    def hand_over(self) -> list[Label]:
        """The true labels that still wait, all at once: their drive has ended."""
        if self._labels.mode != "truth":
            return []
        rest = [label for label in self._waiting if label]
        self._waiting.clear()
        return rest

    def _certain(self, estimate: Estimate) -> bool:
        candidate = estimate.candidate
        if candidate is None or not estimate.verdict.accepted or estimate.status is not Status.LOCALIZED:
            return False
        if estimate.belief.semi_axis > self._labels.max_semi_axis:
            return False
        supported = candidate.support >= self._labels.min_support
        unrivalled = candidate.margin >= self._labels.min_margin
        return not self._dual_constraints or (supported and unrivalled)

    def arrays(self) -> dict[str, np.ndarray]:
        """The labels still waiting."""
        held = [label for label in self._waiting if label]
        width = len(held[0][0].descriptor) if held else 0
        return {
            "held": np.array([label is not None for label in self._waiting], dtype=bool),
            "stamps": np.array([percept.stamp for percept, _ in held], dtype=np.int64),
            "descriptors": np.array([percept.descriptor for percept, _ in held]).reshape(len(held), width),
            "positions": np.array([position for _, position in held]).reshape(len(held), 2),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take up the labels that `arrays` described; learning needs only their descriptor and position."""
        if int(np.count_nonzero(arrays["held"])) != len(arrays["stamps"]):
            raise ValueError(f"{len(arrays['stamps'])} labels are held in other frames than those that say so")
        rows = zip(arrays["stamps"].tolist(), arrays["descriptors"], arrays["positions"], strict=True)
        self._waiting = deque()
        for held in arrays["held"]:
            if not held:
                self._waiting.append(None)
                continue
            stamp, descriptor, position = next(rows)
            self._waiting.append((Percept(stamp, descriptor), position))


def _keep(estimate: Estimate) -> Percept:
    """A copy: a program may fill its arrays with the next frame."""
    seen = estimate.recognition.view if estimate.recognition else None
    descriptor = np.array(estimate.percept.descriptor if seen is None else seen)
    return replace(estimate.percept, descriptor=descriptor, keypoints=None)
