"""The gates between a retrieved reference and the filter: eqs. (5) and (6), and a reason for every frame.

The innovation (5) is measured against the pose head's position or, without one, against the predicted belief, whose
own uncertainty then widens the gate. Continuity allows the *displacement* between the pose head's positions of the two
frames, not the summed path, which jitter stretches to kilometres, and never more than the top speed allows. The last
accepted reference expires with time, or when several candidates agree with one another and not with it: one wrong
accept can never lock the filter. Where none is remembered, as after a detour off the map, a candidate is believed once
others have confirmed it: what resembles an unmapped street changes from frame to frame. A candidate that lies where
the camera was expected may look less like the frame: coincidence seldom hits a circle of two metres.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field, field_validator

from tmapr.config import Settings
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, Belief, Candidate, Percept, Reason, Verdict


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


_DISSENTING = (Reason.JUMPS, Reason.FAR_FROM_BELIEF, Reason.UNCONFIRMED)
Bounds = tuple[float, float, float, float]


class Gating(Settings):
    """The gates, in the order in which they are asked."""

    min_similarity: float = Field(
        0.6, ge=-1, le=1, description="cosine a candidate must reach; for the default descriptor"
    )
    max_leverage: float = Field(1.0, gt=0, description="leverage above which nothing is believed; 1 turns it off")
    bounds: Bounds | None = Field(
        None, description="x_min, y_min, x_max, y_max in metres: corrections are accepted only inside"
    )
    min_support: float = Field(0.0, ge=0, le=1, description="local support a candidate must have")
    min_margin: float = Field(0.0, ge=0, description="score margin a candidate must have, deviations")
    tracked_similarity: float | None = Field(
        None, ge=-1, le=1, description="cosine that suffices for a candidate where one was expected; none: no exception"
    )
    tracked_radius: float = Field(
        1.0, ge=0, description="expected is within the belief's ellipse and so many metres more, after an accept"
    )
    max_innovation: float = Field(20.0, gt=0, description="τ_p: distance to the pose head's position, metres")
    max_apr_error: float = Field(
        50.0, gt=0, description="beyond the belief's ellipse by more, the pose head's position is not believed, metres"
    )
    apr: Literal["always", "familiar"] = Field(
        "always", description="when the pose head is believed: always, or where the frame looks like the map"
    )
    confidence_floor: float = Field(0.1, gt=0, le=1, description="c_min: smallest factor of the confidence")
    max_jump: float = Field(10.0, gt=0, description="allowed beyond the displacement since the last accept, metres")
    max_speed: float = Field(20.0, gt=0, description="top speed, bounds the displacement between two frames, m/s")
    expiry: float = Field(10.0, gt=0, description="seconds after which an earlier candidate no longer counts")
    recovery: int = Field(
        5, ge=2, description="candidates that agree with one another and together overrule the last accept"
    )
    confirmation: int = Field(
        1, ge=1, description="candidates that must agree before one is believed where no accept is remembered"
    )

    @field_validator("bounds")
    @classmethod
    def _check_bounds(cls, bounds: Bounds | None) -> Bounds | None:
        if bounds and not (bounds[0] <= bounds[2] and bounds[1] <= bounds[3]):
            raise ValueError("bounds must be x_min, y_min, x_max, y_max with min not above max")
        return bounds

    def admit(
        self,
        percept: Percept,
        belief: Belief,
        history: History,
        candidates: Sequence[Candidate],
        leverage: float | None = None,
    ) -> Percept:
        """The percept without its position if that lies absurdly far from the belief.

        A filter that takes such a position for a measurement is thrown there at hundreds of metres per second and calls
        itself certain. If it is the belief that is wrong, the candidates soon overrule it, as without a pose head. Off
        the map a pose head still names some place on it, frame after frame, until the filter is sure of it: `familiar`
        also drops the position of a frame that does not look like the map, once a reference was accepted: before, the
        pose head is all there is.
        """
        if percept.position is None:
            return percept
        if self.apr == "familiar" and history.accepted and candidates and self._unlike(candidates[0], leverage):
            return replace(percept, position=None)
        believable = _distance(percept.position, belief.position) <= self.max_apr_error + belief.semi_axis
        return percept if believable else replace(percept, position=None)

    def judge(
        self,
        candidates: Sequence[Candidate],
        percept: Percept,
        belief: Belief,
        history: History,
        leverage: float | None = None,
    ) -> tuple[Candidate | None, Verdict]:
        """The first accepted candidate, or the best one with the reason for its rejection."""
        if not candidates:
            return None, Verdict(Reason.NO_CANDIDATE)
        verdicts = [self._judge_one(candidate, percept, belief, history, leverage) for candidate in candidates]
        for candidate, verdict in zip(candidates, verdicts, strict=True):
            if verdict.accepted:
                return candidate, verdict
        return candidates[0], verdicts[0]

    def _judge_one(
        self, candidate: Candidate, percept: Percept, belief: Belief, history: History, leverage: float | None
    ) -> Verdict:
        unlike = None if self._expected(candidate, belief, history) else self._unlike(candidate, leverage)
        return Verdict(unlike) if unlike else self._judge_motion(candidate, percept, belief, history)

    def _expected(self, candidate: Candidate, belief: Belief, history: History) -> bool:
        """Whether the candidate lies where a belief that is sure and was confirmed lately says the camera is."""
        if self.tracked_similarity is None or self._unexpired(history.accepted, belief.stamp) is None:
            return False
        near = _distance(candidate.position, belief.position) <= belief.semi_axis + self.tracked_radius
        return near and belief.semi_axis <= self.max_jump and candidate.similarity >= self.tracked_similarity

    def _unlike(self, candidate: Candidate, leverage: float | None) -> Reason | None:
        """Why the frame does not look like the candidate, whatever is known of motion."""
        if leverage is not None and leverage > self.max_leverage:
            return Reason.UNFAMILIAR
        if candidate.similarity < self.min_similarity:
            return Reason.LOOKS_DIFFERENT
        if not self._inside(candidate.position):
            return Reason.OUT_OF_BOUNDS
        if candidate.support < self.min_support:
            return Reason.ISOLATED
        return Reason.AMBIGUOUS if candidate.margin < self.min_margin else None

    def _judge_motion(self, candidate: Candidate, percept: Percept, belief: Belief, history: History) -> Verdict:
        estimate, slack, too_far = belief.position, belief.semi_axis, Reason.FAR_FROM_BELIEF
        if percept.position is not None:
            estimate, slack, too_far = percept.position, 0.0, Reason.FAR_FROM_APR
        innovation = _distance(candidate.position, estimate)
        here = Sighting(belief.stamp, candidate.position, percept.position)
        closeness = min(max(1.0 - innovation / self.max_innovation, self.confidence_floor), 1.0)
        confidence = max(candidate.similarity, 0.0) * closeness
        agreeing = self._agreeing(history, here)
        if innovation > self.max_innovation + slack:
            if agreeing >= self.recovery and too_far is Reason.FAR_FROM_BELIEF:
                return Verdict(Reason.RELOCALIZED, confidence, innovation)
            return Verdict(too_far, innovation=innovation)
        accepted = self._unexpired(history.accepted, here.stamp)
        if accepted is None and agreeing < self.confirmation:
            return Verdict(Reason.UNCONFIRMED, innovation=innovation)
        if agreeing < self.recovery and not self._agree(here, accepted):
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
        return replace(history, dissent=here, dissenters=self._agreeing(history, here))

    def _agreeing(self, history: History, here: Sighting) -> int:
        """Candidates in a row, this one among them, that agree with one another and were not accepted before it."""
        dissent = self._unexpired(history.dissent, here.stamp)
        return history.dissenters + 1 if dissent is not None and self._agree(here, dissent) else 1

    def _agree(self, here: Sighting, other: Sighting | None) -> bool:
        """Whether the candidates lie no farther apart than the camera moved; nothing contradicts None.

        Without a pose head only the top speed bounds that: a belief that followed a wrong accept says nothing. With one
        the top speed still does: a head that is tens of metres wrong would otherwise allow any jump.
        """
        if other is None:
            return True
        moved = self.max_speed * (here.stamp - other.stamp) / NANOSECONDS
        if here.estimate is not None and other.estimate is not None:
            moved = min(moved, _distance(here.estimate, other.estimate))
        return _distance(here.position, other.position) <= self.max_jump + moved

    def _unexpired(self, sighting: Sighting | None, stamp: int) -> Sighting | None:
        return sighting if sighting and stamp - sighting.stamp <= self.expiry * NANOSECONDS else None

    def _inside(self, position: Float[np.ndarray, "2"]) -> bool:
        if self.bounds is None:
            return True
        x_min, y_min, x_max, y_max = self.bounds
        return bool(x_min <= position[0] <= x_max and y_min <= position[1] <= y_max)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A similarity to accept from, and what it gave on the validation stream."""

    value: float
    precision: float
    recall: float


def threshold_for_precision(
    similarities: Float[np.ndarray, " n"], correct: Bool[np.ndarray, " n"], precision: float
) -> Threshold:
    """The lowest similarity from which a validation stream's candidates reach a precision.

    Recall here is over the correct candidates. A target the stream never reaches is refused: a threshold above
    everything ever seen would be an invention.
    """
    if not 0 < precision <= 1:
        raise ValueError(f"precision must be in (0, 1], got {precision}")
    if not len(similarities):
        raise InputError("no candidate on the validation stream; a threshold cannot be chosen from nothing")
    order = np.argsort(-similarities, kind="stable")
    hits = np.cumsum(correct[order])
    reached = hits / np.arange(1, len(order) + 1)
    # Equal similarities stand or fall together, so only the last of each run is a possible cut.
    ends = np.append(np.diff(similarities[order]) != 0, True)
    good = np.flatnonzero(ends & (reached >= precision))
    if not len(good):
        raise InputError(
            f"no threshold gives precision {precision:g} on the validation stream; the best is"
            f" {reached[ends].max():.3f}; ask for less, or map with a better descriptor"
        )
    cut = int(good[-1])
    return Threshold(float(similarities[order][cut]), float(reached[cut]), float(hits[cut] / max(int(hits[-1]), 1)))


def _distance(a: Float[np.ndarray, "2"], b: Float[np.ndarray, "2"]) -> float:
    return float(np.hypot(*(a - b)))
