"""The gates between a retrieved reference and the filter: eqs. (5) and (6), and a reason for every frame.

The innovation (5) is measured against the pose head's position or, without one, against the predicted belief, whose
own uncertainty then widens the gate. Continuity allows the *displacement* between the pose head's positions of the two
frames, not the summed path, which jitter stretches to kilometres. The last accepted reference expires with time, or
when several candidates agree with one another and not with it: one wrong accept can never lock the filter.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from pydantic import Field, field_validator

from tmapr.config import Settings, filled
from tmapr.reference import SPEED_TOLERANCE, Reference
from tmapr.types import NANOSECONDS, Belief, Candidate, Percept, Reason, Recognition, Verdict


@dataclass(frozen=True, slots=True)
class Sighting:
    """A candidate's position, and what the pose head said of the frame that saw it, if there is one."""

    stamp: int
    position: Float[np.ndarray, "2"]
    estimate: Float[np.ndarray, "2"] | None


@dataclass(frozen=True, slots=True)
class History:
    """What the gates remember: the last accepted sighting, and the rejected ones in a row that agree."""

    accepted: Sighting | None = None
    dissent: Sighting | None = None
    dissenters: int = 0


_DISSENTING = (Reason.JUMPS, Reason.FAR_FROM_BELIEF)
Bounds = tuple[float, float, float, float]


class Gates(Settings):
    """The gates, in the order in which they are asked."""

    min_similarity: float = Field(0.6, ge=-1, le=1, description="cosine to reach; for the default descriptor")
    bounds: Bounds | None = Field(None, description="x_min, y_min, x_max, y_max, metres: accepted only inside")
    min_margin: float = Field(0.0, ge=0, description="score margin a candidate must have, deviations; 0: not asked")
    max_innovation: float = Field(0.0, ge=0, description="τ_p: metres to the pose head; 0: by the reference")
    confidence_floor: float = Field(0.1, gt=0, le=1, description="c_min: smallest factor of the confidence")
    max_jump: float = Field(0.0, ge=0, description="metres beyond the motion since an accept; 0: by the reference")
    max_speed: float = Field(0.0, ge=0, description="top speed, bounds a displacement, m/s; 0: by the reference")
    expiry: float = Field(0.0, ge=0, description="seconds for which a candidate counts; 0: by the reference")
    recovery: int = Field(5, ge=2, description="candidates that agree and together overrule the last accept")

    def fit(self, reference: Reference) -> "Gates":
        """What is 0 becomes what the reference says; only then can the gates be asked."""
        told = {"max_innovation": 2.0 * reference.place, "max_jump": reference.place, "expiry": reference.straight / 2}
        return filled(self, told | {"max_speed": SPEED_TOLERANCE * reference.top_speed})

    @field_validator("bounds")
    @classmethod
    def _check_bounds(cls, bounds: Bounds | None) -> Bounds | None:
        if bounds and not (bounds[0] <= bounds[2] and bounds[1] <= bounds[3]):
            raise ValueError("bounds must be x_min, y_min, x_max, y_max with min not above max")
        return bounds

    def judge(
        self, recognition: Recognition, percept: Percept, belief: Belief, history: History
    ) -> tuple[Candidate | None, Verdict]:
        """The first accepted candidate, or the best one with the reason for its rejection."""
        rejections = []
        for candidate in recognition.candidates:
            verdict = self._judge_one(candidate, percept, belief, history)
            if verdict.accepted:
                return candidate, verdict
            rejections.append(verdict)
        return recognition.first, rejections[0] if rejections else Verdict(Reason.NO_CANDIDATE)

    def _judge_one(self, candidate: Candidate, percept: Percept, belief: Belief, history: History) -> Verdict:
        if candidate.similarity < self.min_similarity:
            return Verdict(Reason.LOOKS_DIFFERENT)
        x, y = candidate.position
        if self.bounds and not (self.bounds[0] <= x <= self.bounds[2] and self.bounds[1] <= y <= self.bounds[3]):
            return Verdict(Reason.OUT_OF_BOUNDS)
        if self.min_margin and candidate.margin < self.min_margin:
            return Verdict(Reason.AMBIGUOUS)
        here = Sighting(belief.stamp, candidate.position, percept.position)
        estimate, slack, too_far = belief.position, belief.semi_axis, Reason.FAR_FROM_BELIEF
        if here.estimate is not None:
            estimate, slack, too_far = here.estimate, 0.0, Reason.FAR_FROM_APR
        innovation = _distance(candidate.position, estimate)
        closeness = min(max(1.0 - innovation / self.max_innovation, self.confidence_floor), 1.0)
        confidence = max(candidate.similarity, 0.0) * closeness
        agreeing, accepted = self._count_agreeing(history, here), self._drop_stale(history.accepted, here.stamp)
        if innovation > self.max_innovation + slack:
            if agreeing >= self.recovery and too_far is Reason.FAR_FROM_BELIEF:
                return Verdict(Reason.RELOCALIZED, confidence, innovation)
            return Verdict(too_far, innovation=innovation)
        if agreeing < self.recovery and accepted and not self._agree(here, accepted):
            return Verdict(Reason.JUMPS, innovation=innovation)
        return Verdict(Reason.ACCEPTED, confidence, innovation)

    def remember(
        self, history: History, candidate: Candidate | None, percept: Percept, belief: Belief, verdict: Verdict
    ) -> History:
        """What to carry to the next frame; `belief` is the one the candidate was judged against.

        A frame that says nothing of motion (no candidate, a faulty image) leaves the dissent as it was.
        """
        if candidate is None or not (verdict.accepted or verdict.reason in _DISSENTING):
            return history
        here = Sighting(belief.stamp, candidate.position, percept.position)
        if verdict.accepted:
            return History(accepted=here)
        return replace(history, dissent=here, dissenters=self._count_agreeing(history, here))

    def remembers(self, history: History, stamp: int) -> bool:
        """Whether a reference was accepted lately."""
        return self._drop_stale(history.accepted, stamp) is not None

    def _count_agreeing(self, history: History, here: Sighting) -> int:
        """Candidates in a row, this one among them, that agree with one another and were not accepted before it."""
        dissent = self._drop_stale(history.dissent, here.stamp)
        return history.dissenters + 1 if dissent and self._agree(here, dissent) else 1

    def _agree(self, here: Sighting, other: Sighting) -> bool:
        """Whether the candidates lie no farther apart than the camera moved.

        Without a pose head only the top speed bounds that: a belief that followed a wrong accept says nothing. With one
        the top speed still does: a head that is tens of metres wrong would otherwise allow any jump.
        """
        moved = self.max_speed * (here.stamp - other.stamp) / NANOSECONDS
        if here.estimate is not None and other.estimate is not None:
            moved = min(moved, _distance(here.estimate, other.estimate))
        return _distance(here.position, other.position) <= self.max_jump + moved

    def _drop_stale(self, sighting: Sighting | None, stamp: int) -> Sighting | None:
        return sighting if sighting and stamp - sighting.stamp <= self.expiry * NANOSECONDS else None


def _distance(a: Float[np.ndarray, "2"], b: Float[np.ndarray, "2"]) -> float:
    return float(np.hypot(*(a - b)))
