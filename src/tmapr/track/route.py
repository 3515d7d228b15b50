"""The second half of a frame's way with the route filter: it says where on the route, the Kalman filter where exactly.

No evidence counts twice. The route filter carries what all frames said of the place; from it the Kalman filter takes
only which place is meant, and from the frame its own likelihood around that place, weighed by how much of a new view
the frame is. Nothing goes back from the Kalman filter to the route filter.
"""

from dataclasses import asdict, replace
from math import hypot

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.artifacts.layout import Array
from tmapr.fusion.capf import Fusion
from tmapr.retrieval.memory import Memory
from tmapr.track.coverage import cover_modes
from tmapr.track.laying import lay_route_of
from tmapr.track.paper import BELIEF, measure_gap, read_belief, start_anywhere
from tmapr.track.standing import find_best, stand_out
from tmapr.tracking import Tracking
from tmapr.tracking.novelty import LAYOUT as NOVELTY
from tmapr.tracking.novelty import Novelty
from tmapr.tracking.place import LAYOUT as PLACER
from tmapr.tracking.place import Placer
from tmapr.tracking.placing import PLACING, Placing, raise_certainty
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
_CHECKED = 0.75
"""Views that should have gone by before a belief that moves is held against what was seen."""
_SLOW = 0.25
"""Of the mapped speed: a belief that stands is asked as often as if it moved so."""
_STANDING = 0.25
_BEST = 10
"""Matches that vote for a candidate's local support."""

LAYOUT = {
    **put("placer.", PLACER),
    **put("novelty.", NOVELTY),
    "standing": Array("f", "2", 0),
    **put("placing.", PLACING),
    **put("belief.", BELIEF),
}


class RouteTracker:
    """Owns the belief over the route and the Kalman filter's."""

    def __init__(self, tracking: Tracking, fusion: Fusion, memory: Memory) -> None:
        reference = memory.reference
        self.placer = Placer(lay_route_of(memory), tracking.radius or reference.place)
        self.novelty = Novelty(self.placer.route.view)
        self.belief: Belief | None = None
        self._memory = memory
        self._certainty = tracking.certainty
        self._fusion = fusion.fit(reference)
        self._share = np.empty(len(memory))
        self._share[self.placer.route.rows] = self.placer.filter.share
        self._placing: Placing | None = None
        self._expected = self._seen = 0.0
        """Views that the belief's speed promised, and those that came, since both were compared."""

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""
        self.placer.new_drive()
        self.placer.start_around(position, deviation)
        self.belief = self._fusion.start(stamp, position, deviation)
        self._placing = None
        self._expected = self._seen = 0.0
        self.novelty.forget()

    def answer_late(self, percept: Percept) -> Estimate | None:
        """The answer to a frame that came too late to move anything; None if its stamp is new."""
        if self.belief is None or percept.stamp > self.belief.stamp:
            return None
        reason = Reason.REPEATED_STAMP if percept.stamp == self.belief.stamp else Reason.OLDER_STAMP
        return self._answer(self.belief, percept, Verdict(reason))

    def measure_gap(self, stamp: int) -> float:
        """Seconds since the last frame that moved time on; 0 before the first."""
        return measure_gap(self.belief, stamp)

    def pass_over(self, percept: Percept) -> Estimate:
        """A frame that cannot be used: time goes on, and the belief becomes less certain."""
        self._note_motion(percept)
        self.belief = self._predict(percept.stamp)
        return self._answer(self.belief, percept, Verdict(Reason.FAULTY_FRAME))

    def advance(self, percept: Percept, recognition: Recognition) -> Estimate:
        """Place a usable frame, and correct the belief with what it adds."""
        head, familiar = percept.position if self._fusion.apr else None, recognition.familiar
        if familiar is not None and self.novelty.judge(familiar, percept.descriptor):
            return self._disregard(percept, recognition)
        self._note_motion(percept)
        if recognition.comparison is None:
            return self._follow_head(percept, recognition, head)
        placing = self.placer.observe(percept, recognition.comparison, head)
        if placing.new_view and familiar is not None:
            self.novelty.learn(familiar)
        before = self.belief
        belief = self._predict(percept.stamp, placing)
        off = placing.p_off_map > _LIKELY and self.placer.reckoning.known
        belief, verdict, nis = self._reckon(belief, placing) if off else self._correct(belief, placing, before)
        candidate = self._name_candidate(percept, recognition.comparison, placing)
        belief, used = (belief, False) if head is None else self._heed_head(belief, placing, verdict, head)
        self.belief, self._placing = belief, placing
        return self._answer(belief, percept, verdict, recognition, candidate, nis, used)

    def _disregard(self, percept: Percept, recognition: Recognition) -> Estimate:
        """A frame that looks like nothing mapped: time goes on, and nothing is said of any place."""
        self._note_motion(replace(percept, shift=None))
        self.placer.view = None
        self.belief = self._predict(percept.stamp)
        verdict = Verdict(Reason.LOOKS_DIFFERENT)
        return self._answer(self.belief, percept, verdict, recognition, strange=True)

    def _note_motion(self, percept: Percept) -> None:
        seconds = self.measure_gap(percept.stamp)
        self.placer.note_motion(percept.motion, seconds)
        rate, gain = percept.motion.yaw_rate if percept.motion else None, self._memory.turn_gain
        if rate is not None:
            self.placer.note_turn(rate * seconds)
        elif not percept.fault:  # after a picture that cannot be used, the next one tells of both
            self.placer.note_turn(None if percept.shift is None or np.isnan(gain) else gain * percept.shift)

    def _predict(self, stamp: int, placing: Placing | None = None) -> Belief:
        if self.belief:
            # Who drives faster than the mapping drive did also brakes and turns harder.
            faster = hypot(*self.belief.mean[2:].tolist()) / self.placer.route.speed
            return self._fusion.predict(self.belief, stamp, max(1.0, faster**2))
        if placing:
            return self._fusion.start(stamp, placing.position, self.placer.radius)
        return start_anywhere(self._fusion, stamp, self._memory.positions, self.placer.radius)

    def _reckon(self, belief: Belief, placing: Placing) -> tuple[Belief, Verdict, None]:
        """Follow way and turns off the map: what a frame says of places is wrong there."""
        verdict = Verdict(Reason.OFF_MAP, placing.p_place, measure_distance(placing.position, belief.position))
        position, spread = self.placer.reckoning.position, self.placer.reckoning.spread
        if placing.new_view and position is not None:
            belief = self._fusion.relocalize(belief, position, max(spread, self.placer.radius / 2))
        return belief, verdict, None

    def _correct(self, belief: Belief, placing: Placing, before: Belief | None) -> tuple[Belief, Verdict, float | None]:
        innovation = measure_distance(placing.position, belief.position)
        if innovation > self.placer.radius + belief.semi_axis:
            if placing.p_place <= placing.p_off_map:
                reason = Reason.OFF_MAP if placing.p_off_map > _LIKELY else Reason.AMBIGUOUS
                return belief, Verdict(reason, placing.p_place, innovation), None
            belief = self._fusion.relocalize(belief, placing.position, self.placer.radius)
            return belief, Verdict(Reason.RELOCALIZED, placing.p_place, innovation), None
        stands = self._watch_standing(belief, placing, before)
        share = placing.share if stands is None else 1.0
        nis = None
        if share > 0:
            covariance = placing.covariance / share
            nis = self._fusion.measure_nis(belief, placing.position, covariance)
            belief = self._fusion.correct(belief, placing.position, covariance)
        if stands is not None:
            belief = self._fusion.slow_down(belief, stands)
        return belief, Verdict(Reason.ACCEPTED, placing.p_place, innovation), nis

    def _watch_standing(self, belief: Belief, placing: Placing, before: Belief | None) -> float | None:
        """What share of the belief's speed was seen, if the camera stands although the belief moves.

        Such a frame corrects in full, whatever is new in it: otherwise the belief would drive on through a stop.
        """
        seconds = (belief.stamp - before.stamp) / NANOSECONDS if before else 0.0
        speed = max(hypot(*belief.mean[2:].tolist()), _SLOW * self.placer.route.speed)
        self._expected += speed * seconds / placing.view_metres
        self._seen += placing.share
        if self._expected < _CHECKED:
            return None
        seen = self._seen / self._expected
        self._expected = self._seen = 0.0
        return seen if seen < _STANDING else None

    def _heed_head(
        self, belief: Belief, placing: Placing, verdict: Verdict, head: Float[np.ndarray, "2"]
    ) -> tuple[Belief, bool]:
        """Measure the pose head where the place is certain; follow it, as far as it earned that, where the map ends."""
        trust = self.placer.head
        if placing.p_place >= self._certainty and verdict.accepted:
            if placing.new_view:
                trust.measure(head, belief.position)
            return belief, False
        if verdict.accepted or not trust.known:
            return belief, False
        away, _ = self.placer.route.tree.query(head)
        variance = (trust.variance + float(away) ** 2) / max(trust.share_of(placing.share), 1e-3)
        return self._fusion.correct(belief, head, np.eye(2) * variance), True

    def _follow_head(self, percept: Percept, recognition: Recognition, head: Float[np.ndarray, "2"] | None) -> Estimate:
        """Without a search in the map the pose head is all there is."""
        belief = self._predict(percept.stamp)
        if head is not None:
            belief = self._fusion.correct_apr(belief, head)
        self.belief = belief
        verdict = Verdict(Reason.NO_CANDIDATE)
        return self._answer(belief, percept, verdict, recognition, used=head is not None)

    def _answer(
        self,
        belief: Belief,
        percept: Percept,
        verdict: Verdict,
        recognition: Recognition | None = None,
        candidate: Candidate | None = None,
        nis: float | None = None,
        used: bool = False,
        strange: bool = False,
    ) -> Estimate:
        # The last place that was seen is history for a frame that came late, is faulty or looks like nothing mapped.
        placing = None if strange or recognition is None else self._placing
        status, told = self._find_status(belief, placing, used), belief
        if self._placing:
            modes, radius = self.placer.filter.list_modes, self.placer.radius
            told = replace(belief, covariance=cover_modes(belief, self._placing, modes, radius))
        route = None
        if placing:
            said = placing.p_place, placing.p_off_map, placing.rows, placing.masses, placing.new_view
            route = RouteBelief(*said)
        return Estimate(told, percept, candidate, verdict, status, recognition, nis, route)

    def _find_status(self, belief: Belief, placing: Placing | None, used: bool) -> Status:
        if placing:
            share = float(self._share[self.placer.around.find_rows(placing.peak)].sum())
            off = measure_distance(placing.position, belief.position)
            if placing.p_place >= raise_certainty(self._certainty, share) and off <= self.placer.radius:
                return Status.LOCALIZED
        if used:
            return Status.APR_ONLY
        return Status.LOST if belief.semi_axis > self.placer.radius else Status.PREDICTING

    def _name_candidate(self, percept: Percept, compared: Comparison, placing: Placing) -> Candidate:
        """The reference at the believed place that the frame looks most like."""
        memory, near = self._memory, placing.near
        row = int(find_best(compared.similarity, compared.place, near))
        # Not by every reference's distance: a map may have many.
        around = self.placer.around.find_rows(row)
        score, support, margin = stand_out(compared.similarity, compared.place, row, around, _BEST)
        similarity = memory.measure_cosine(row, percept.descriptor)
        return memory.name_candidate(row, similarity=similarity, score=score, support=support, margin=margin)

    def score_label(self, percept: Percept, recognition: Recognition, truth: Float[np.ndarray, "2"]) -> bool:
        """Learn from a labelled frame, before it is learned, how sharp evidence is."""
        return recognition.comparison is not None and self.placer.learn(percept, recognition.comparison, truth)

    def expect_head(self, error: float) -> None:
        """Take the error of the pose head's validation, metres, if none was measured yet."""
        self.placer.head.expect(error)

    def learned(self) -> dict[str, np.ndarray]:
        """What stays when a drive ends."""
        return self.placer.learned()

    def restore_learned(self, arrays: Arrays) -> None:
        """Take up what was learned."""
        self.placer.restore_learned(arrays)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        arrays = put("placer.", self.placer.arrays()) | {"standing": np.array([self._expected, self._seen])}
        arrays |= put("novelty.", self.novelty.arrays())
        if self._placing:
            arrays |= put("placing.", {name: np.array(value) for name, value in asdict(self._placing).items()})
        if self.belief:
            stamp, mean, covariance = np.array(self.belief.stamp), self.belief.mean, self.belief.covariance
            arrays |= put("belief.", {"stamp": stamp, "mean": mean, "covariance": covariance})
        return arrays

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        self.placer.restore(take(arrays, "placer."))
        self.novelty.restore(take(arrays, "novelty."))
        self._expected, self._seen = (float(value) for value in arrays["standing"])
        placing, belief = take(arrays, "placing."), take(arrays, "belief.")
        self._placing = Placing.from_arrays(placing, len(self._memory)) if placing else None
        if belief:
            self.belief = read_belief(belief)
