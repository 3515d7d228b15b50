"""One Bayes filter over the route: where on it, how fast, or off the map and for how long.

Three kinds of states share the probability:

    on        a reference and a speed: the camera is on the mapped way there
    off       for each place that it was left from, off the map, with a reach that grows with the way driven since: what
              lies farther away is no candidate, however alike it looks
    mimic     off the map, in a street that looks like this reference: neighbouring views err together, so a wrong match
              persists for some metres, and only a match that outlives them is believed

A step is a new view, not a frame. Evidence is relative to the map: exp of it is 1 in the mean over the route, so a view
off the map, which may look like anything, has evidence 0.
"""

import numpy as np
from jaxtyping import Float, Int

from tmapr.tracking.masses import Masses, Seeds
from tmapr.tracking.motion import Cells, Motion, Turns, arrive, change_speeds, weigh_views
from tmapr.tracking.route import Route
from tmapr.tracking.speeds import (
    ANYWHERE,
    BACKWARDS,
    CARRIED,
    CHANGE,
    FAR_VIEW,
    HALF_STEP,
    HALTED,
    HOP,
    LEAST,
    LEAVE,
    MIMIC,
    ODOMETRY_ERROR,
    PEAKS,
    PRUNED,
    REACH,
    REDRAW,
    RETURN,
    SPEEDS,
    START_OFF,
    START_WRONG,
    STUCK,
    UNMASK,
    VIEW_SPREAD,
    Step,
    Ways,
    make_prior,
)

_COMPASS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
_ALIKE = np.ones((1, len(SPEEDS)))
"""Weights of ways that fit equally well, everywhere."""
ALIKE = 1.0 - 1e-9
"""Share of the most probability around a reference from which on another one has as much, but for rounding."""


class RouteFilter:
    """Owns the belief over a route."""

    def __init__(self, route: Route, pruned: float = PRUNED) -> None:
        self.route = route
        self._pruned = pruned
        cells = Cells(route.edges, route.first, route.last, route.closed, route.drive_of, route.lengths)
        widths = route.widths
        self._length = float(widths.sum())
        self.share = widths / self._length
        self._usual = float(np.median(route.lengths))
        self._log_lengths = np.log(route.lengths)
        self._turns = Turns(make_prior(), REDRAW, CHANGE, int(BACKWARDS.sum()))
        self._on, self._mimic = Masses(cells, self._turns), Masses(cells, self._turns)
        places, self._place_of = np.unique(route.places, return_inverse=True)
        weight = np.bincount(self._place_of, self.share, len(places))
        self.place_share = weight
        where = (self.share[:, None] * route.positions).T
        self.centres = np.column_stack([np.bincount(self._place_of, axis, len(places)) / weight for axis in where])
        self._extent = float(np.hypot(*np.ptp(self.centres, axis=0)))
        order = np.argsort(route.links[:, 0], kind="stable")
        self._targets = np.ascontiguousarray(route.links[order, 1])
        self._first_target = np.searchsorted(route.links[order, 0], np.arange(len(route) + 1))
        self.restart()

    def restart(self) -> None:
        """Anywhere on the map, at any speed; or off it."""
        anywhere = self._turns.prior[:, None] * self.share[None, :]
        self.on = (1.0 - START_OFF) * anywhere
        self.mimic = 0.5 * START_OFF * anywhere
        self._begun = 0.0
        """Mimics that have begun since the last view: anywhere, as fast as it is driven off the map."""
        self.off = 0.5 * START_OFF * self.place_share
        self.reach = np.full(len(self.place_share), ANYWHERE)
        self.pace = self._turns.prior.copy()
        """How fast it is driven off the map."""

    def start_around(self, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Near a position somebody told, or off the map, or, if that was wrong, anywhere."""
        self.restart()
        squared = ((self.route.positions - position) ** 2).sum(axis=1)
        near = self.share * np.exp(-0.5 * (squared - squared.min()) / deviation**2)
        believed = (1.0 - START_WRONG) * near / near.sum() + START_WRONG * self.share
        self.on = (1.0 - START_OFF) * self._turns.prior[:, None] * believed[None, :]

    @property
    def on(self) -> Float[np.ndarray, "speeds refs"]:
        """Probability of each speed and reference on the map."""
        return self._on.by_speed

    @on.setter
    def on(self, mass: Float[np.ndarray, "speeds refs"]) -> None:
        self._on.by_speed = mass

    @property
    def mimic(self) -> Float[np.ndarray, "speeds refs"]:
        """Probability of looking like each reference, moving along it at each speed, while off the map."""
        return self._mimic.by_speed

    @mimic.setter
    def mimic(self, mass: Float[np.ndarray, "speeds refs"]) -> None:
        self._mimic.by_speed = mass

    @property
    def active(self) -> Int[np.ndarray, " rows"]:
        """The references where the camera may be."""
        return self._on.rows

    @property
    def where(self) -> Float[np.ndarray, " refs"]:
        """Probability of each reference."""
        return self._on.sums

    @property
    def p_off(self) -> float:
        """Probability of being off the map."""
        return float(self.off.sum()) + self._mimic.total + self._begun

    @property
    def metres_a_view(self) -> float:
        """Metres of a new view where the camera may be."""
        where = self.where
        return float(where @ self.route.lengths + (1.0 - where.sum()) * self._usual)

    def predict(self, step: Step) -> Float[np.ndarray, " refs"]:
        """Move everything; returns what arrives at each reference from elsewhere, at speeds `pace`."""
        if step.seconds * self.route.speed > self._length and step.metres is None and step.saturated:
            self.restart()  # as long as the whole route takes: nothing is left of what was known
            return np.zeros(len(self.route))
        metres = self._estimate_metres(step)
        ways = self._displace(step)
        left = self._move_on(step, ways, metres)
        return self._move_off(step, ways, metres, left)

    def _estimate_metres(self, step: Step) -> float:
        """How far it is to the new view, in the mean."""
        if step.metres is not None:
            return abs(step.metres)
        seen = self.metres_a_view * min(step.change, FAR_VIEW)
        if not step.saturated:
            return seen
        speeds = self._on.speeds + self.p_off * self.pace
        return max(seen, float(speeds @ np.abs(SPEEDS)) * self.route.speed * step.seconds)

    def _displace(self, step: Step) -> Ways:
        """How far each speed moves."""
        if step.metres is not None:
            told = np.where((step.metres < 0) == BACKWARDS, step.metres, 0.0)
            slack = ODOMETRY_ERROR * abs(step.metres)
            return Ways(told - slack, told, told + slack)
        middle = SPEEDS * self.route.speed * step.seconds
        near, far = np.sort([middle / HALF_STEP, middle * HALF_STEP], axis=0)
        return Ways(near, middle, far)

    def _weigh_view(self, step: Step, ways: Ways, log_lengths: np.ndarray) -> np.ndarray:
        """How well the change of view fits each way where views are so long, [place, speed], 1 being usual."""
        if step.metres is not None:
            return np.where((step.metres < 0) == BACKWARDS, _ALIKE, 0.0)
        way = np.log(np.maximum(np.abs(ways.middle), 1e-9))
        expected = log_lengths + np.log(min(step.change, FAR_VIEW))
        weights: np.ndarray = weigh_views(way, expected, step.saturated, VIEW_SPREAD, LEAST)
        return weights

    def _move_on(self, step: Step, ways: Ways, metres: float) -> Float[np.ndarray, " refs"]:
        """Move what is on the map; returns what left it at each reference."""
        fits = self._weigh_view(step, ways, self._log_lengths[self.active])
        halted = 0.0 if step.metres is not None else HALTED / 4 if step.saturated else HALTED
        over = self._on.advance(Motion(fits, ways.near, ways.far, halted, step.reach))
        if len(self._targets):
            self._on.hop(float(-np.expm1(-HOP * metres)), self._first_target, self._targets)
        leaving = float(-np.expm1(-LEAVE * metres))
        left: Float[np.ndarray, " refs"] = leaving * self.where + over
        self._on.scale(1.0 - leaving)
        return left

    def _move_off(
        self, step: Step, ways: Ways, metres: float, left: Float[np.ndarray, " refs"]
    ) -> Float[np.ndarray, " refs"]:
        """Move what is off the map; returns what comes back."""
        pace = np.empty(len(self.pace))
        change_speeds(self.pace, self._turns, pace)
        pace *= self._weigh_view(step, ways, np.log([self._usual]))[0]
        fit = float(pace.sum())
        self.pace = pace / fit
        self.off = self.off * fit
        self.reach = self.reach + REACH * metres
        returning, masking = -np.expm1(-RETURN * metres), -np.expm1(-MIMIC * metres)
        back = self._arrive(returning * self.off)
        self._begun = float(self.off.sum()) * (1.0 - returning) * masking
        self.off = self.off * (1.0 - returning) * (1.0 - masking)
        self.off = self._deal_out(self._move_mimics(step, ways, metres, fit))
        came = np.bincount(self._place_of, left, len(self.off))
        whole = self.off + came
        fresh = 3.0 * self.route.spacing
        self.reach = np.where(whole > 0, (self.off * self.reach + came * fresh) / np.maximum(whole, 1e-300), self.reach)
        self.off = whole
        return back

    def _deal_out(self, mass: float) -> Float[np.ndarray, " places"]:
        """What is off the map with so much more of it, left from the same places as the rest."""
        total = self.off.sum()
        dealt: Float[np.ndarray, " places"] = self.off + mass * (self.off / total if total > 0 else self.place_share)
        return dealt

    def _move_mimics(self, step: Step, ways: Ways, metres: float, fit: float) -> float:
        """Wrong matches move as right ones do, or stay behind; returns what of them ended."""
        over = self._mimic.advance(Motion(_ALIKE, ways.near, ways.far, STUCK, step.reach))
        unmasked = float(-np.expm1(-UNMASK * metres))
        ended = fit * (self._mimic.total * unmasked + float(over.sum()))
        self._mimic.scale(fit * (1.0 - unmasked))
        return ended

    def _arrive(self, mass: Float[np.ndarray, " places"]) -> Float[np.ndarray, " refs"]:
        """Deal what returns from each place out over the references in its reach."""
        back = arrive(mass, self.reach, self.centres, self.place_share, self._pruned, self._extent)
        arriving: Float[np.ndarray, " refs"] = (back / self.place_share)[self._place_of] * self.share
        return arriving

    def update(self, evidence: Float[np.ndarray, " refs"], arriving: Float[np.ndarray, " refs"]) -> float:
        """Weigh everything by the log-evidence of a view; returns its logarithm in the whole."""
        on_map = self._on.total
        highest = max(float(evidence.max(initial=0.0)), 0.0)
        likelihood = np.exp(evidence - highest)
        returned = [Seeds(arriving, self.pace), Seeds(CARRIED * on_map * self.share, self._turns.prior)]
        begun = [Seeds(self._begun * self.share, self.pace)]
        fooled = self._mimic.sums + begun[0].columns
        there = (1.0 - CARRIED) * self._on.sums + arriving + returned[1].columns
        self.off = self.off * np.exp(-highest)
        total = float(likelihood @ (there + fooled) + self.off.sum())
        self._on.settle(likelihood / total, 1.0 - CARRIED, returned, self._pruned)
        self._mimic.settle(likelihood / total, 1.0, begun, self._pruned)
        self.off /= total
        self._begun = 0.0
        return float(np.log(total) + highest)

    def weigh_map(self, odds: float) -> None:
        """Weigh being on the map against being off it by log-odds of the view as a whole."""
        better = float(np.exp(odds))
        total = better * self._on.total + self.p_off
        self._on.scale(better / total)
        self._mimic.scale(1.0 / total)
        self.off /= total

    def find_peak(self, radius: float) -> tuple[int, float]:
        """The reference with the most probability around it, and that probability."""
        where = self.where
        rows = self.active if len(self.active) else np.arange(len(where))
        highest = rows[np.argpartition(-where[rows], min(PEAKS, len(rows) - 1))[:PEAKS]]
        order = highest[np.argsort(-where[highest], kind="stable")]
        around = self.route.tree.query_ball_point(self.route.positions[order], radius)
        counts = [len(near) for near in around]
        masses = np.add.reduceat(where[np.concatenate(around)], np.cumsum([0, *counts[:-1]]))
        # Around neighbours lies the same: the likeliest of them, not the one that the order of a sum favours.
        best = int(np.argmax(masses >= ALIKE * masses.max()))
        return int(order[best]), float(masses[best])

    def list_modes(self) -> tuple[Float[np.ndarray, "points 2"], Float[np.ndarray, " points"]]:
        """Where the camera may be, as points with probabilities: references, and the reach of what is off the map."""
        return list_modes(self.route, self.centres, self.where, self._deal_out(self._mimic.total), self.reach)


def list_modes(
    route: Route,
    centres: Float[np.ndarray, "places 2"],
    where: Float[np.ndarray, " refs"],
    off: Float[np.ndarray, " places"],
    reach: Float[np.ndarray, " places"],
) -> tuple[Float[np.ndarray, "points 2"], Float[np.ndarray, " points"]]:
    """The points and probabilities of a belief: each place that the map was left from as four, within its reach."""
    extent = float(np.hypot(*np.ptp(route.positions, axis=0)))
    places, rows = np.flatnonzero(off > PRUNED), np.flatnonzero(where)
    reached = np.minimum(reach[places], extent)[:, None, None] / np.sqrt(2.0)
    around = (centres[places][:, None, :] + reached * _COMPASS[None]).reshape(-1, 2)
    points = np.concatenate([route.positions[rows], around])
    return points, np.concatenate([where[rows], np.repeat(off[places] / len(_COMPASS), len(_COMPASS))])
