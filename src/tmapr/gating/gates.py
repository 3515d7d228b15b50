"""The gates between a retrieved reference and the filter: eqs. (5) and (6), and a reason for every frame.

The innovation (5) is measured against the pose head's position or, without one, against the predicted belief, whose
own uncertainty then widens the gate. Continuity allows the *displacement* between the pose head's positions of the two
frames, not the summed path, which jitter stretches to kilometres, and never more than the top speed allows. The last
accepted reference expires with time, or when several candidates agree with one another and not with it: one wrong
accept can never lock the filter.

What a candidate looks like is judged by thresholds or, where odds were calibrated, by evidence that adds up: its own
log-odds, those of candidates before it that agree with it, and what it counts to lie where the camera was expected,
since coincidence seldom hits a circle of two metres.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field, field_validator

from tmapr.config import Settings
from tmapr.gating.odds import Odds
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
    evidence: float = 0.0
    """Log-odds that those in the row have gathered, never below even odds."""


_DISSENTING = (Reason.JUMPS, Reason.FAR_FROM_BELIEF)
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
    odds: Odds | None = Field(
        None, description="log-odds that a candidate is right, instead of the four thresholds on its looks"
    )
    min_odds: float = Field(4.0, description="log-odds from which a candidate is believed; 4 is 55 to 1")
    return_odds: float = Field(
        8.0, description="the same once the last accept is forgotten, as off the map: more than most frames give"
    )
    expected_odds: float = Field(8.0, ge=0, description="log-odds more for a candidate where one was expected")
    expected_radius: float = Field(
        1.0, ge=0, description="expected is within the belief's ellipse and so many metres more, after an accept"
    )
    carried_odds: float = Field(
        0.8, ge=0, le=1, description="share of the log-odds that agreeing candidates before it leave it"
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

    @field_validator("bounds")
    @classmethod
    def _check_bounds(cls, bounds: Bounds | None) -> Bounds | None:
        if bounds and not (bounds[0] <= bounds[2] and bounds[1] <= bounds[3]):
            raise ValueError("bounds must be x_min, y_min, x_max, y_max with min not above max")
        return bounds

    def admit(self, percept: Percept, belief: Belief, history: History, recognition: Recognition) -> Percept:
        """The percept without its position if that lies absurdly far from the belief.

        A filter that takes such a position for a measurement is thrown there at hundreds of metres per second and calls
        itself certain. If it is the belief that is wrong, the candidates soon overrule it, as without a pose head. Off
        the map a pose head still names some place on it, frame after frame, until the filter is sure of it: `familiar`
        also drops the position of a frame that does not look like the map, once a reference was accepted: before, the
        pose head is all there is.
        """
        if percept.position is None:
            return percept
        first = recognition.first if self.apr == "familiar" and history.accepted else None
        if first and self._judge_looks(first, recognition.leverage):
            return replace(percept, position=None)
        believable = _distance(percept.position, belief.position) <= self.max_apr_error + belief.semi_axis
        return percept if believable else replace(percept, position=None)

    def judge(
        self, recognition: Recognition, percept: Percept, belief: Belief, history: History
    ) -> tuple[Candidate | None, Verdict]:
        """The first accepted candidate, or the best one with the reason for its rejection."""
        rejections = []
        for candidate in recognition.candidates:
            verdict = self._judge_one(candidate, percept, belief, history, recognition.leverage)
            if verdict.accepted:
                return candidate, verdict
            rejections.append(verdict)
        return recognition.first, rejections[0] if rejections else Verdict(Reason.NO_CANDIDATE)

    def _judge_one(
        self, candidate: Candidate, percept: Percept, belief: Belief, history: History, leverage: float | None
    ) -> Verdict:
        here = Sighting(belief.stamp, candidate.position, percept.position)
        prior = self._prior_odds(candidate, belief, history, here) if self.odds else 0.0
        unlike = self._judge_looks(candidate, leverage, prior)
        return Verdict(unlike) if unlike else self._judge_motion(candidate, belief, history, here)

    def _prior_odds(self, candidate: Candidate, belief: Belief, history: History, here: Sighting) -> float:
        """Log-odds of a candidate's position before the frame is looked at.

        A camera that was on the map and is no longer recognised has probably left it, one that starts has not.
        """
        carried = self._carry_odds(history, here)
        if history.accepted and not self.remembers(history, belief.stamp):
            return carried - (self.return_odds - self.min_odds)
        return carried + (self.expected_odds if self._expected(candidate, belief, history) else 0.0)

    def _expected(self, candidate: Candidate, belief: Belief, history: History) -> bool:
        """Whether the candidate lies where a belief that is sure and was confirmed lately says the camera is."""
        if belief.semi_axis > self.max_jump or not self.remembers(history, belief.stamp):
            return False
        return _distance(candidate.position, belief.position) <= belief.semi_axis + self.expected_radius

    def _carry_odds(self, history: History, here: Sighting) -> float:
        """What candidates before this one that agree with it add: neighbouring frames err together, so not all."""
        return self.carried_odds * history.evidence if self._continues(history, here) else 0.0

    def _judge_looks(self, candidate: Candidate, leverage: float | None, prior: float = 0.0) -> Reason | None:
        """Why the frame does not look enough like the candidate, given the prior log-odds of its position."""
        if self.odds:
            if not self._inside(candidate.position):
                return Reason.OUT_OF_BOUNDS
            return Reason.UNCONFIRMED if self.odds.of(candidate, leverage) + prior < self.min_odds else None
        if leverage is not None and leverage > self.max_leverage:
            return Reason.UNFAMILIAR
        if candidate.similarity < self.min_similarity:
            return Reason.LOOKS_DIFFERENT
        if not self._inside(candidate.position):
            return Reason.OUT_OF_BOUNDS
        if candidate.support < self.min_support:
            return Reason.ISOLATED
        return Reason.AMBIGUOUS if candidate.margin < self.min_margin else None

    def _judge_motion(self, candidate: Candidate, belief: Belief, history: History, here: Sighting) -> Verdict:
        estimate, slack, too_far = belief.position, belief.semi_axis, Reason.FAR_FROM_BELIEF
        if here.estimate is not None:
            estimate, slack, too_far = here.estimate, 0.0, Reason.FAR_FROM_APR
        innovation = _distance(candidate.position, estimate)
        closeness = min(max(1.0 - innovation / self.max_innovation, self.confidence_floor), 1.0)
        confidence = max(candidate.similarity, 0.0) * closeness
        agreeing = self._count_agreeing(history, here)
        if innovation > self.max_innovation + slack:
            if agreeing >= self.recovery and too_far is Reason.FAR_FROM_BELIEF:
                return Verdict(Reason.RELOCALIZED, confidence, innovation)
            return Verdict(too_far, innovation=innovation)
        if agreeing < self.recovery and not self._agree(here, self._drop_stale(history.accepted, here.stamp)):
            return Verdict(Reason.JUMPS, innovation=innovation)
        return Verdict(Reason.ACCEPTED, confidence, innovation)

    def remember(
        self,
        history: History,
        candidate: Candidate | None,
        percept: Percept,
        belief: Belief,
        verdict: Verdict,
        leverage: float | None = None,
    ) -> History:
        """What to carry to the next frame; `belief` is the one the candidate was judged against.

        A frame that says nothing of motion (no candidate, a faulty image) leaves the dissent as it was. With odds, a
        candidate that was not believed for its looks leaves its evidence, but does not count among the dissenters.
        """
        if candidate is None:
            return history
        here = Sighting(belief.stamp, candidate.position, percept.position)
        if verdict.accepted:
            return History(accepted=here)
        dissents = verdict.reason in _DISSENTING
        if not dissents and not self.odds:
            return history
        own = self.odds.of(candidate, leverage) if self.odds else 0.0
        return replace(
            history,
            dissent=here,
            dissenters=self._count_agreeing(history, here) - (not dissents),
            evidence=max(0.0, own + self._carry_odds(history, here)),
        )

    def remembers(self, history: History, stamp: int) -> bool:
        """Whether a reference was accepted lately."""
        return self._drop_stale(history.accepted, stamp) is not None

    def _count_agreeing(self, history: History, here: Sighting) -> int:
        """Candidates in a row, this one among them, that agree with one another and were not accepted before it."""
        return history.dissenters + 1 if self._continues(history, here) else 1

    def _continues(self, history: History, here: Sighting) -> bool:
        """Whether the row goes on with this candidate."""
        dissent = self._drop_stale(history.dissent, here.stamp)
        return dissent is not None and self._agree(here, dissent)

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

    def _drop_stale(self, sighting: Sighting | None, stamp: int) -> Sighting | None:
        return sighting if sighting and stamp - sighting.stamp <= self.expiry * NANOSECONDS else None

    def _inside(self, position: Float[np.ndarray, "2"]) -> bool:
        if self.bounds is None:
            return True
        x_min, y_min, x_max, y_max = self.bounds
        return bool(x_min <= position[0] <= x_max and y_min <= position[1] <= y_max)


def _distance(a: Float[np.ndarray, "2"], b: Float[np.ndarray, "2"]) -> float:
    return float(np.hypot(*(a - b)))
