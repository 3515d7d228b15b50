"""The second half of a frame's way with the route filter: predict, weigh, judge, report.

The filter says where on the mapped route the camera may be, and how much better the map explains the view than its null
map does. Of these gains a proof adds up, which fades with the way driven; a place is `localized` if it is probable and
proven, and dead reckoning does not contradict it. A place that was jumped to has to be proven anew. Off the map the
Kalman filter only predicts; on it, what is told is the grid's own mean and spread, so that no evidence counts twice.
"""

from dataclasses import replace
from math import isnan

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.artifacts.layout import Array
from tmapr.fusion.capf import Fusion
from tmapr.retrieval.memory import Memory
from tmapr.tracking import route_filter
from tmapr.tracking.evidence import weigh
from tmapr.tracking.margin import stand_out
from tmapr.tracking.proof import Proof
from tmapr.tracking.reckoning import Reckoning, Turned
from tmapr.tracking.route import lay_route
from tmapr.tracking.route_filter import Motion, Peak, RouteFilter
from tmapr.tracking.self_training import View
from tmapr.tracking.settings import Tracking
from tmapr.tracking.track_keeper import BELIEF, judge_stamp, list_fields, measure_gap, read_belief, start_anywhere
from tmapr.tracking.trust import ODOMETRY, HeadTrust, OdometryTrust
from tmapr.types import (
    FARTHEST,
    LATEST,
    NANOSECONDS,
    Belief,
    Candidate,
    Comparison,
    Estimate,
    Percept,
    Reason,
    Recognition,
    RouteBelief,
    Status,
    Verdict,
    measure_distance,
)

_LIKELY = 0.5
"""Probability of a place from which on it is more than all others together."""
_BEST = 10
"""Matches that vote for a candidate's local support."""
_TOLD = 1e-3
"""Probability from which on a reference is named."""

LAYOUT = {
    **put("filter.", route_filter.LAYOUT),
    "proof": Array("f", "4"),
    "anchor": Array("f", "2", -FARTHEST, FARTHEST, optional=True),
    "seen": Array("i", "", -LATEST, LATEST, optional=True),
    "metres": Array("f", "measured"),
    "key": Array("f", "width", -1.01, 1.01, optional=True),
    "reckoned": Array("f", "reckoned", -FARTHEST, FARTHEST),
    "turned": Array("f", "4"),
    "judged": Array("b", "2"),
    "head": Array("f", "2", 0),
    "labelled": Array("f", "width", -1.01, 1.01, optional=True),
    **put("odometry.", ODOMETRY),
    **put("belief.", BELIEF),
}


class RouteTracker:
    """Owns the belief over the route, the proof of it, and what dead reckoning says beside them."""

    def __init__(self, tracking: Tracking, fusion: Fusion, memory: Memory) -> None:
        reference, model = memory.reference, tracking.model
        self.route = lay_route(memory, model)
        self.radius = tracking.radius or reference.place
        self.filter = RouteFilter(self.route, model)
        self.head = HeadTrust(2.0 * float(np.hypot(*memory.positions.std(axis=0))), model)
        self._memory, self._model, self._certainty = memory, model, tracking.certainty
        self._fusion = fusion.fit(reference)
        self._labelled: Float[np.ndarray, " dim"] | None = None
        """The last labelled view."""
        self._begin()

    def _begin(self) -> None:
        self.belief: Belief | None = None
        self.view: View | None = None
        """Where the frame just observed was taken, if it was a new view."""
        self._forget_way()
        self._seen: int | None = None
        """The stamp of the last frame that was weighed."""
        self._metres: float | None = 0.0
        """Driven since, if odometry told it."""
        self._key: Float[np.ndarray, " dim"] | None = None
        self._odometry = OdometryTrust(self._model.same_odometry)

    def _forget_way(self) -> None:
        self._proof = Proof(self.radius, self._certainty, self._model)
        self._viewed = 0.0
        """Metres since dead reckoning was asked last."""
        self._reckoning, self._turned = Reckoning(self.radius, self._model), Turned()
        self._doubted = self._claimed = False
        """Whether the last proven place is contradicted; whether there was one in the last frame."""

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""
        self._begin()
        self.filter.start_around(position, deviation)
        self.belief = self._fusion.start(stamp, position, deviation)

    def answer_late(self, percept: Percept) -> Estimate | None:
        """The answer to a frame that came too late to move anything; None if its stamp is new."""
        reason = judge_stamp(self.belief, percept.stamp)
        return self._report(percept, Verdict(reason)) if reason else None

    def measure_gap(self, stamp: int) -> float:
        """Seconds since the last frame that moved time on; 0 before the first."""
        return measure_gap(self.belief, stamp)

    def pass_over(self, percept: Percept) -> Estimate:
        """A frame that cannot be used: time goes on, and the belief becomes less certain."""
        self._note_motion(percept)
        self.belief = self._predict(percept.stamp)
        return self._report(percept, Verdict(Reason.FAULTY_FRAME))

    def advance(self, percept: Percept, recognition: Recognition) -> Estimate:
        """Predict, weigh, judge, report."""
        self._note_motion(percept)
        head = percept.position if self._fusion.apr else None
        if recognition.comparison is None:
            return self._follow_head(percept, recognition, head)
        motion = self._measure_motion(percept)
        evidence = weigh(recognition.comparison, self.route, self._model, self.radius)
        gain = self.filter.observe(evidence, motion)
        peak = self.filter.find_peak(evidence, self.radius)
        proven = self._proof.judge(peak, gain, motion)
        proven = self._reckon(peak, proven, motion) and proven
        predicted = self._predict(percept.stamp)
        self.belief, verdict = self._place(peak, predicted, proven)
        used = head is not None and self._heed_head(head, peak, proven, predicted, motion)
        where = self.filter.weigh_references(_TOLD / 100)
        near = peak.near[where[peak.near] > 0.0] if proven else peak.near[:0]
        self.view = View(near, where[near] / where[near].sum()) if motion.new_view else None
        rows = np.flatnonzero(where > _TOLD)
        route = RouteBelief(peak.probability, self.filter.off, self.route.rows[rows], where[rows], motion.new_view)
        candidate = self._name_candidate(percept, recognition.comparison, peak)
        estimate = self._report(percept, verdict, recognition, candidate, route, proven, used)
        if verdict.reason is not Reason.ACCEPTED:
            return estimate
        return replace(estimate, nis=self._fusion.measure_nis(predicted, peak.position, peak.covariance))

    def _note_motion(self, percept: Percept) -> None:
        """Add the way and the turn since the last frame, if anything told them."""
        seconds = self.measure_gap(percept.stamp)
        heard = self._odometry.heed(percept.motion)
        speed, rate = (heard.speed, heard.yaw_rate) if heard else (None, None)
        self._metres = None if speed is None or self._metres is None else self._metres + speed * seconds
        gain = self._memory.turn_gain
        if rate is not None:
            self._turned.add(rate * seconds, self._model.unseen_turn)
        elif not percept.fault:  # after a picture that cannot be used, the next one tells of both
            seen = None if percept.shift is None or isnan(gain) else gain * percept.shift
            self._turned.add(seen, self._model.unseen_turn)

    def _measure_motion(self, percept: Percept) -> Motion:
        """What is known of the motion since the last frame that was weighed."""
        first, model = self._seen is None, self._model
        seconds = 0.0 if self._seen is None else (percept.stamp - self._seen) / NANOSECONDS
        told = None if first else self._metres
        if seconds > model.longest_gap:
            self.filter.restart()
            self._forget_way()
            seconds, told = 0.0, None
        change = np.inf if self._key is None else (1.0 - float(self._key @ percept.descriptor)) / self.route.view
        metres = self.filter.pace * seconds if told is None else abs(told)
        self._seen, self._metres = percept.stamp, 0.0
        self._viewed += metres
        if change >= 1.0:
            self._key = percept.descriptor.copy()  # a program may fill its array with the next frame
            self._odometry.see_view()
        return Motion(seconds, metres, told, 1.0 if first else min(metres / model.view, 1.0), bool(change >= 1.0))

    def _reckon(self, peak: Peak, proven: bool, motion: Motion) -> bool:
        """Whether dead reckoning has nothing against the place; asked once a view, and of what is newly proven."""
        news, self._claimed = proven and not self._claimed, proven
        if self._viewed < self._model.view and not news:
            return not self._doubted
        self._reckoning.advance(self._turned, self._viewed, motion.told is not None)
        self._turned, self._viewed, self._doubted = self._turned.begin_anew(), 0.0, False
        if proven:
            headings = self.route.headings
            self._doubted = self._reckoning.doubts(peak.position, headings[peak.near])
            if not self._doubted:
                self._reckoning.settle(peak.position, float(headings[peak.reference]))
        return not self._doubted

    def _place(self, peak: Peak, predicted: Belief, proven: bool) -> tuple[Belief, Verdict]:
        """The belief at the place, if it is likelier than to be off the map; else as predicted, or as reckoned."""
        off, away = self.filter.off, measure_distance(peak.position, predicted.position)
        reckoned = self._reckoning.position if self._reckoning.known else None
        elsewhere = reckoned is not None and not proven and self._reckoning.contradicts(peak.position)
        if peak.probability > max(off, _LIKELY) and not self._doubted and not elsewhere:
            near = away <= self.radius + predicted.semi_axis
            reason = Reason.ACCEPTED if near else Reason.RELOCALIZED
            mean, covariance = self.filter.describe(peak, self._certainty)
            return Belief(predicted.stamp, mean, covariance), Verdict(reason, peak.probability, away)
        if self._viewed == 0.0 and reckoned is not None:
            spread = max(self._reckoning.spread, self.radius / 2.0)
            predicted = self._fusion.relocalize(predicted, reckoned, spread)
        unclear = Reason.AMBIGUOUS if reckoned is None else Reason.FAR_FROM_BELIEF
        return predicted, Verdict(Reason.OFF_MAP if off > _LIKELY else unclear, peak.probability, away)

    def _predict(self, stamp: int) -> Belief:
        if self.belief:
            return self._fusion.predict(self.belief, stamp)
        return start_anywhere(self._fusion, stamp, self._memory.positions, self.radius)

    def _heed_head(
        self, head: Float[np.ndarray, "2"], peak: Peak, proven: bool, predicted: Belief, motion: Motion
    ) -> bool:
        """Measure the pose head where the place is proven; follow it, as far as it earned that, where nothing else is.

        Whether it was followed.
        """
        if proven and motion.new_view:
            self.head.measure(head, peak.position)
        if self.belief is None or self.belief.semi_axis <= self.radius or not self.head.known:
            return False
        away, _ = self.route.references.query(head)
        self.belief = self._fusion.correct(predicted, head, self.head.weigh(float(away), motion.power))
        return True

    def _follow_head(self, percept: Percept, recognition: Recognition, head: Float[np.ndarray, "2"] | None) -> Estimate:
        """Without a search in the map the pose head is all there is."""
        self.belief, self.view = self._predict(percept.stamp), None
        if head is not None:
            self.belief = self._fusion.correct_apr(self.belief, head)
        return self._report(percept, Verdict(Reason.NO_CANDIDATE), recognition, used=head is not None)

    def _report(
        self,
        percept: Percept,
        verdict: Verdict,
        recognition: Recognition | None = None,
        candidate: Candidate | None = None,
        route: RouteBelief | None = None,
        proven: bool = False,
        used: bool = False,
    ) -> Estimate:
        if self.belief is None:
            raise ValueError("a drive that has begun has a belief, and this one has none")
        lost = Status.LOST if self.belief.semi_axis > self.radius else Status.PREDICTING
        status = Status.LOCALIZED if proven else Status.APR_ONLY if used else lost
        return Estimate(self.belief, percept, candidate, verdict, status, recognition, None, route)

    def _name_candidate(self, percept: Percept, compared: Comparison, peak: Peak) -> Candidate:
        """The reference at the believed place that the frame looks most like."""
        memory, near = self._memory, self.route.rows[peak.near]
        row = int(near[np.argmax(compared.similarity[near] + compared.place[near])])
        score, support, margin = stand_out(compared.similarity, compared.place, row, near, _BEST)
        similarity = memory.measure_cosine(row, percept.descriptor)
        return memory.name_candidate(row, similarity=similarity, score=score, support=support, margin=margin)

    def weigh(self, recognition: Recognition) -> Float[np.ndarray, " refs"]:
        """The log-evidence of each reference along the route."""
        if recognition.comparison is None:
            raise ValueError("views are weighed in a map that is searched")
        return weigh(recognition.comparison, self.route, self._model, self.radius)

    def score_label(self, percept: Percept, recognition: Recognition, truth: Float[np.ndarray, "2"]) -> bool:
        """Whether a labelled frame shows the map, and something else than the last one that did."""
        distance, _ = self.route.references.query(truth)
        seen = self._labelled is not None and 1.0 - float(self._labelled @ percept.descriptor) < self.route.view
        if recognition.comparison is None or distance > self.radius or seen:
            return False
        self._labelled = percept.descriptor.copy()
        return True

    def expect_head(self, error: float) -> None:
        """Take the error of the pose head's validation, metres, if none was measured yet."""
        self.head.expect(error)

    def learned(self) -> dict[str, np.ndarray]:
        """What stays when a drive ends."""
        labelled = {} if self._labelled is None else {"labelled": self._labelled}
        return labelled | {"head": np.array([self.head.variance, self.head.views])}

    def restore_learned(self, arrays: Arrays) -> None:
        """Take up what was learned."""
        self.head.variance, self.head.views = (float(value) for value in arrays["head"])
        self._labelled = np.array(arrays["labelled"]) if "labelled" in arrays else None

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        known = {"anchor": self._proof.anchor, "key": self._key, "seen": self._seen}
        arrays = {name: np.array(value) for name, value in known.items() if value is not None} | self.learned()
        arrays |= put("filter.", self.filter.arrays()) | put("odometry.", self._odometry.arrays())
        arrays |= put("belief.", list_fields(self.belief)) if self.belief else {}
        return arrays | {
            "proof": np.array([*self._proof.numbers(), self._viewed]),
            "metres": np.array([] if self._metres is None else [self._metres]),
            "reckoned": self._reckoning.numbers(),
            "turned": self._turned.numbers(),
            "judged": np.array([self._doubted, self._claimed]),
        }

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        self._begin()
        self.filter.restore(take(arrays, "filter."))
        *proof, self._viewed = arrays["proof"].tolist()
        self._proof.restore(proof, np.array(arrays["anchor"]) if "anchor" in arrays else None)
        self._odometry.restore(take(arrays, "odometry."))
        self._metres = float(arrays["metres"][0]) if len(arrays["metres"]) else None
        self._key = np.array(arrays["key"]) if "key" in arrays else None
        self._seen = int(arrays["seen"]) if "seen" in arrays else None
        self._reckoning.restore(arrays["reckoned"])
        self._turned = Turned.from_numbers(arrays["turned"])
        self._doubted, self._claimed = arrays["judged"].tolist()
        self.restore_learned(arrays)
        belief = take(arrays, "belief.")
        self.belief = read_belief(belief) if belief else None
