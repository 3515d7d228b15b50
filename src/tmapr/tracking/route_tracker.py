"""The second half of a frame's way with the route filter: predict, weigh, judge, report.

The filter says where on the mapped route the camera may be, and how much better the map explains the view than its null
map does. Of these gains a proof adds up, which fades with the way driven; a place is `localized` if it is probable and
proven, and dead reckoning does not contradict it. A place that was jumped to has to be proven anew. Off the map the
Kalman filter only predicts; on it, what is told is the grid's own mean and spread, so that no evidence counts twice.
"""

from dataclasses import astuple
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
from tmapr.tracking.tracker import BELIEF, POSITION, STAMP, Tracker
from tmapr.tracking.trust import ODOMETRY, HeadTrust, OdometryTrust
from tmapr.types import (
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
    "anchor": POSITION,
    "seen": STAMP,
    "metres": Array("f", "measured"),
    "key": Array("f", "width", -1.01, 1.01, optional=True),
    "reckoned": POSITION,
    "reckoning": Array("f", "5"),
    "turned": Array("f", "4"),
    "judged": Array("b", "3"),
    "head": Array("f", "2", 0),
    "labelled": Array("f", "width", -1.01, 1.01, optional=True),
    **put("odometry.", ODOMETRY),
    **put("belief.", BELIEF),
}


class RouteTracker(Tracker):
    """Owns the belief over the route, the proof of it, and what dead reckoning says beside them."""

    def __init__(self, tracking: Tracking, fusion: Fusion, memory: Memory) -> None:
        reference, model = memory.reference, tracking.model
        self.route = lay_route(memory, model)
        self.radius = tracking.radius or reference.place
        super().__init__(fusion, memory, self.radius)
        self.filter = RouteFilter(self.route, model)
        self.head = HeadTrust(2.0 * float(np.hypot(*memory.positions.std(axis=0))), model)
        self._model, self._certainty = model, tracking.certainty
        self._labelled: Float[np.ndarray, " dim"] | None = None
        """The last labelled view."""
        self._begin()

    def _begin(self) -> None:
        self.belief = None
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
        super().start_at(stamp, position, deviation)

    def pass_over(self, percept: Percept) -> Estimate:
        """A frame that cannot be used: time goes on, and the belief becomes less certain."""
        self._note_motion(percept)
        return super().pass_over(percept)

    def advance(self, percept: Percept, recognition: Recognition) -> Estimate:
        """Predict, weigh, judge, report."""
        self._note_motion(percept)
        head = percept.position if self._fusion.apr else None
        if recognition.comparison is None:
            return self._follow_head_alone(percept, recognition, head)
        motion = self._measure_motion(percept)
        evidence = weigh(recognition.comparison, self.route, self._model, self.radius)
        gain = self.filter.observe(evidence, motion)
        peak = self.filter.find_peak(evidence, self.radius)
        proven = self._proof.judge(peak, gain, motion)
        proven = self._reckon(peak, proven) and proven
        predicted = self._predict(percept.stamp)
        belief, verdict = self._place(peak, predicted, proven)
        if head is not None and proven and motion.new_view:
            self.head.measure(head, peak.position)
        led = self._follow_head(head, predicted, motion.power) if belief.semi_axis > self.radius else None
        self.belief = led or belief
        where = self.filter.weigh_references(_TOLD / 100)
        near = peak.near[where[peak.near] > 0.0] if proven else peak.near[:0]
        self.view = View(near, where[near] / where[near].sum()) if motion.new_view else None
        rows = np.flatnonzero(where > _TOLD)
        route = RouteBelief(peak.probability, self.filter.off, self.route.rows[rows], where[rows], motion.new_view)
        candidate = self._name_candidate(percept, recognition.comparison, peak)
        status = Status.LOCALIZED if proven else self._fusion.status(self.belief, led is not None, None)
        followed = verdict.reason is Reason.ACCEPTED
        nis = self._fusion.measure_nis(predicted, peak.position, peak.covariance) if followed else None
        return Estimate(self.belief, percept, candidate, verdict, status, recognition, nis, route)

    def _note_motion(self, percept: Percept) -> None:
        """Add the way and the turn since the last frame, if anything told them."""
        seconds = (percept.stamp - self.belief.stamp) / NANOSECONDS if self.belief else 0.0
        heard = self._odometry.heed(percept.motion)
        speed, rate = (heard.speed, heard.yaw_rate) if heard else (None, None)
        self._metres = None if speed is None or self._metres is None else self._metres + speed * seconds
        gain = self._memory.turn_gain
        if rate is not None:
            self._turned.add(rate * seconds)
        elif not percept.fault:  # after a picture that cannot be used, the next one tells of both
            self._turned.add(None if percept.shift is None or isnan(gain) else gain * percept.shift)

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

    def _reckon(self, peak: Peak, proven: bool) -> bool:
        """Whether dead reckoning has nothing against the place: direction in each frame, distance once a view."""
        news, self._claimed = proven and not self._claimed, proven
        if self._viewed < self._model.view and not news:
            if proven and not self._doubted:
                self._doubted = self._reckoning.looks_elsewhere(self._read_headings(peak), self._turned.radians)
            return not self._doubted
        self._reckoning.advance(self._turned, self._viewed)
        self._turned, self._viewed, self._doubted = self._turned.begin_anew(), 0.0, False
        if proven:
            self._doubted = self._reckoning.doubts(peak.position, self._read_headings(peak))
            if not self._doubted:
                self._reckoning.settle(peak.position, float(self.route.headings[peak.reference]))
        return not self._doubted

    def _read_headings(self, peak: Peak) -> Float[np.ndarray, " around"]:
        """Which way the mapped traverses look at a place: nearer than its radius, since at a corner they turn."""
        away = np.hypot(*(self.route.positions[peak.near] - peak.position).T)
        around = away <= max(self._model.settled * self.radius, away.min())
        headings: Float[np.ndarray, " around"] = self.route.headings[peak.near[around]]
        return headings

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

    def _follow_head(self, head: Float[np.ndarray, "2"] | None, predicted: Belief, share: float) -> Belief | None:
        """What a pose head makes of a prediction, as far as it earned that; None where it knows nothing."""
        if head is None or not self.head.known:
            return None
        away, _ = self.route.references.query(head)
        return self._fusion.correct(predicted, head, self.head.weigh(float(away), share))

    def _follow_head_alone(
        self, percept: Percept, recognition: Recognition, head: Float[np.ndarray, "2"] | None
    ) -> Estimate:
        """Without a search in the map the pose head is all there is."""
        belief, self.view = self._predict(percept.stamp), None
        self.belief = belief if head is None else self._fusion.correct_apr(belief, head)
        status = self._fusion.status(self.belief, head is not None, None)
        return Estimate(self.belief, percept, None, Verdict(Reason.NO_CANDIDATE), status, recognition)

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
        proof, reckoning = self._proof, self._reckoning
        parts = put("filter.", self.filter.arrays()) | put("odometry.", self._odometry.arrays())
        known = {"anchor": proof.anchor, "key": self._key, "seen": self._seen, "reckoned": reckoning.position}
        parts |= {name: np.array(value) for name, value in known.items() if value is not None}
        numbers = {
            "proof": (proof.nats, proof.way, proof.moved, self._viewed),
            "metres": () if self._metres is None else (self._metres,),
            "reckoning": (reckoning.heading, reckoning.doubt, reckoning.spread, reckoning.doubted, reckoning.confirmed),
            "turned": astuple(self._turned),
            "judged": (self._doubted, self._claimed, proof.held),
        }
        return super().arrays() | self.learned() | parts | {name: np.array(value) for name, value in numbers.items()}

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        self._begin()
        super().restore(arrays)
        self.filter.restore(take(arrays, "filter."))
        self._odometry.restore(take(arrays, "odometry."))
        proof, reckoning = self._proof, self._reckoning
        proof.anchor, self._key, reckoning.position = (
            np.array(arrays[name]) if name in arrays else None for name in ("anchor", "key", "reckoned")
        )
        proof.nats, proof.way, proof.moved, self._viewed = arrays["proof"].tolist()
        reckoning.heading, reckoning.doubt, reckoning.spread, *doubted = arrays["reckoning"].tolist()
        reckoning.doubted, reckoning.confirmed = doubted
        self._metres = float(arrays["metres"][0]) if len(arrays["metres"]) else None
        self._seen = int(arrays["seen"]) if "seen" in arrays else None
        self._turned = Turned(*arrays["turned"].tolist())
        self._doubted, self._claimed, proof.held = arrays["judged"].tolist()
        self.restore_learned(arrays)
