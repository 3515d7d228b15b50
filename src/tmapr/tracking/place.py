"""From views to a place: when a view is new, what it says, what the route filter makes of it, what the frame adds.

A frame that shows what the last view showed moves nothing and proves nothing: a minute's stop adds no certainty, and
one frame a second or thirty come to the same views.
"""

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.tracking.around import Around
from tmapr.tracking.between import lay_between
from tmapr.tracking.evidence import Scale, add_up, spread_matches, weigh
from tmapr.tracking.filter import RouteFilter
from tmapr.tracking.head import HeadTrust
from tmapr.tracking.level import Levels
from tmapr.tracking.placing import DOUBTED, SURE, Found, Looked, Placing, describe, reckon
from tmapr.tracking.reckoning import Reckoning, Turned
from tmapr.tracking.route import Route
from tmapr.tracking.smoothing import View, keep_view
from tmapr.tracking.speeds import FAR_VIEW, PRUNED, Step
from tmapr.types import FARTHEST, LATEST, NANOSECONDS, Comparison, Odometry, Percept

LIKELY = 0.5
"""Probability of a place from which on the drive's matches elsewhere are what they seem."""
ELSEWHERE = 1.5
"""Radii around a place from which on references are another one."""
_ROUNDING = 1e-6


LAYOUT = {
    "key": Array("f", "width", -1.01, 1.01, optional=True),
    "labelled": Array("f", "width", -1.01, 1.01, optional=True),
    "likelihoods": Array("f", "similarities place_weights"),
    "head": Array("f", "2", 0),
    "on": Array("f", "speeds references", 0, 1),
    "mimic": Array("f", "speeds references", 0, 1),
    "off": Array("f", "entered", 0, 1),
    "reach": Array("f", "entered", 0),
    "pace": Array("f", "speeds", 0, 1),
    "clock": Array("i", "2", -LATEST, LATEST),
    "view": Array("f", "2", 0, 1.01),
    "metres": Array("f", "measured"),
    "levels": Array("f", "4 measures"),
    "level_views": Array("f", "2", 0),
    "reckoned": Array("f", "reckoned", -FARTHEST, FARTHEST),
    "turned": Array("f", "4"),
}
"""Of what `Placer.arrays` gives."""


class Placer:
    """Owns the belief over the route and what was learned of evidence and pose head."""

    def __init__(self, route: Route, radius: float) -> None:
        self.route, self.radius = route, radius
        self.filter = RouteFilter(route)
        self.around = Around(route, radius)
        self._between = lay_between(route, radius)
        self.scale = Scale()
        self.head = HeadTrust(float(np.hypot(*route.positions.std(axis=0))) * 2.0)
        self._usual = float(np.median(route.lengths))
        self._labelled: Float[np.ndarray, " dim"] | None = None
        """The last labelled view that was scored."""
        self.new_drive()

    def new_drive(self) -> None:
        """Forget where the camera is; what was learned stays."""
        self.filter.restart()
        self._key: Float[np.ndarray, " dim"] | None = None
        self._stamp = 0
        self._seen = 0.0
        self._metres: float | None = 0.0
        self._peak, self._p_place = 0, 0.0
        self.levels = Levels(2)
        self.reckoning = Reckoning(self.radius)
        self._turned = Turned()
        self.view: View | None = None
        """What is believed of the frame just observed, if it was a new view."""

    def start_around(self, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Near a position somebody told: see `RouteFilter`."""
        self.filter.start_around(position, deviation)

    def observe(self, percept: Percept, compared: Comparison, head: Float[np.ndarray, "2"] | None) -> Placing:
        """Take in a usable frame."""
        ordered = self._order(compared)
        change = np.inf if self._key is None else (1.0 - float(self._key @ percept.descriptor)) / self.route.view
        share = min(max(change - self._seen, 0.0), 1.0)
        self._seen = max(self._seen, min(change, 1.0))
        self.view = None
        if change >= 1.0:
            self._take_view(percept, ordered, head, float(change))
        looked = Looked(ordered, self.scale.weights, share, change >= 1.0)
        return describe(self.route, self._between, self.around, self._find(), looked)

    def _order(self, compared: Comparison) -> Comparison:
        """As the route was driven."""
        return spread_matches(compared.take(self.route.rows), self.route.positions, self.route.tree, self.radius)

    def note_motion(self, motion: Odometry | None, seconds: float) -> None:
        """Add the way since the last frame, if anything measured it."""
        speed = motion.speed if motion else None
        self._metres = None if speed is None or self._metres is None else self._metres + speed * seconds

    def note_turn(self, turn: float | None) -> None:
        """Add the turn since the last frame that could be used, in radians, if anything told it."""
        self._turned.add(turn)

    def _take_view(
        self, percept: Percept, ordered: Comparison, head: Float[np.ndarray, "2"] | None, change: float
    ) -> None:
        first, filter_ = self._key is None, self.filter
        arriving = np.zeros(len(self.route))
        seconds = 0.0 if first else (percept.stamp - self._stamp) / NANOSECONDS
        if not first:
            arriving = filter_.predict(Step(seconds, change, self._metres))
        new = min(1.0, filter_.metres_a_view / self._usual)
        evidence = new * weigh(ordered, filter_.share, self.scale.weights)
        if head is not None:
            evidence = evidence + self.head.weigh(head, self.route.positions, filter_.share, first)
        filter_.update(evidence, arriving)
        self._peak, self._p_place = filter_.find_peak(self.radius)
        self._weigh_level(ordered, new)
        driven = filter_.metres_a_view * min(change, FAR_VIEW) if self._metres is None or first else abs(self._metres)
        step = Step(seconds, change, self._metres)
        doubted = reckon(self.reckoning, self._turned, step, self._find(), self.route, self.around)
        self._p_place = DOUBTED if doubted else self._p_place
        self.view = keep_view(filter_.where, driven, DOUBTED if doubted else 1.0)
        # A copy: a program may fill its array with the next frame.
        self._key, self._stamp, self._seen, self._metres = percept.descriptor.copy(), percept.stamp, 0.0, 0.0
        self._turned = self._turned.begin_anew()

    def _weigh_level(self, ordered: Comparison, new: float) -> None:
        """Hold the match at the believed place against the drive's own matches, and against the best one elsewhere."""
        measures = [add_up(ordered, self.scale.weights)]
        measures.append(measures[0] if ordered.cosine is None else ordered.cosine)
        tree, peak = self.route.tree, self.route.positions[self._peak]
        elsewhere = np.ones(len(self.route), dtype=bool)
        elsewhere[tree.query_ball_point(peak, ELSEWHERE * self.radius)] = False
        if not elsewhere.any():
            return
        near = tree.query_ball_point(peak, self.radius)
        here = np.array([measure[near].max() for measure in measures])
        wrong = np.array([measure[elsewhere].max() for measure in measures])
        self.filter.weigh_map(new * self.levels.weigh(here, wrong))
        self._peak, self._p_place = self.filter.find_peak(self.radius)
        if self._p_place > LIKELY:
            self.levels.learn(here, wrong, self._p_place > SURE, new)

    def _find(self) -> Found:
        """What is believed by now."""
        filter_ = self.filter
        return Found(filter_.where, filter_.p_off, filter_.metres_a_view, self._peak, self._p_place)

    def learn(self, percept: Percept, compared: Comparison, truth: Float[np.ndarray, "2"]) -> bool:
        """Score a labelled frame before it is learned: it says how sharp evidence is. Whether it is a new view."""
        distance, _ = self.route.tree.query(truth)
        seen = self._labelled is not None and 1.0 - float(self._labelled @ percept.descriptor) < self.route.view
        if distance > self.radius or seen:
            return False
        right: Bool[np.ndarray, " refs"] = np.zeros(len(self.route), dtype=bool)
        right[self.route.tree.query_ball_point(truth, distance + self.route.spacing / 2)] = True
        self.scale.learn(self._order(compared), self.filter.share, right)
        self._labelled = percept.descriptor.copy()
        return True

    def learned(self) -> dict[str, np.ndarray]:
        """What stays when a drive ends."""
        labelled = {} if self._labelled is None else {"labelled": self._labelled}
        head = np.array([self.head.variance, self.head.views])
        return labelled | {"likelihoods": self.scale.likelihoods, "head": head}

    def restore_learned(self, arrays: Arrays) -> None:
        """Take up what was learned."""
        if arrays["likelihoods"].shape != self.scale.likelihoods.shape:
            raise ValueError(f"likelihoods have the shape {arrays['likelihoods'].shape}")
        self.scale.likelihoods = np.array(arrays["likelihoods"])
        self.head.variance, self.head.views = (float(value) for value in arrays["head"])
        self._labelled = np.array(arrays["labelled"]) if "labelled" in arrays else None

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        key = {} if self._key is None else {"key": self._key}
        state = self.filter
        return key | self.learned() | {
            "on": state.on, "mimic": state.mimic, "off": state.off, "reach": state.reach, "pace": state.pace,
            "clock": np.array([self._stamp, self._peak], dtype=np.int64),
            "view": np.array([self._seen, self._p_place]),
            "metres": np.array([] if self._metres is None else [self._metres]),
            "levels": np.concatenate([self.levels.means, self.levels.variances]), "level_views": self.levels.views,
            "reckoned": self.reckoning.numbers(), "turned": self._turned.numbers(),
        }  # fmt: skip

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        state = self.filter
        for name in ("on", "mimic", "off", "reach", "pace"):
            if arrays[name].shape != getattr(state, name).shape:
                raise ValueError(f"{name} has the shape {arrays[name].shape}")
            setattr(state, name, np.array(arrays[name]))
        totals = float(state.on.sum() + state.mimic.sum() + state.off.sum()), float(state.pace.sum())
        # What is pruned is not made up for: a billionth a reference.
        if max(abs(total - 1.0) for total in totals) > _ROUNDING + PRUNED * 2 * len(self.route):
            raise ValueError(f"probabilities add up to {totals[0]:g} and those of speeds to {totals[1]:g}")
        self._key = np.array(arrays["key"]) if "key" in arrays else None
        self._stamp, self._peak = (int(value) for value in arrays["clock"])
        if not 0 <= self._peak < len(self.route):
            raise ValueError(f"the peak is at {self._peak} of {len(self.route)} references")
        self._seen, self._p_place = (float(value) for value in arrays["view"])
        self._metres = float(arrays["metres"][0]) if len(arrays["metres"]) else None
        if arrays["levels"].shape[1:] != self.levels.means.shape[1:]:
            raise ValueError(f"levels have the shape {arrays['levels'].shape}")
        self.levels.means, self.levels.variances = np.split(np.array(arrays["levels"]), 2)
        self.levels.views = np.array(arrays["level_views"])
        self.reckoning, self._turned = Reckoning(self.radius), Turned.from_numbers(arrays["turned"])
        self.reckoning.restore(arrays["reckoned"])
        self.restore_learned(arrays)


def weigh_route(compared: Comparison | None, placer: Placer | None) -> Float[np.ndarray, " refs"]:
    """The log-evidence of each reference along the route, of a view that was compared with all of them."""
    if compared is None or placer is None:
        raise ValueError("views are weighed by the route filter, in a map that is searched")
    return weigh(compared.take(placer.route.rows), placer.filter.share, placer.scale.weights)
