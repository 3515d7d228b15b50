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
from jaxtyping import Float

from tmapr.tracking.motion import Cells, move
from tmapr.tracking.route import Route
from tmapr.tracking.speeds import (
    ANYWHERE,
    BACKWARDS,
    CARRIED,
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
    RETURN,
    SPEEDS,
    START_OFF,
    START_WRONG,
    STUCK,
    UNMASK,
    VIEW_SPREAD,
    Rows,
    Speeds,
    Step,
    Ways,
    change_speeds,
    make_prior,
)

_COMPASS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


class RouteFilter:
    """Owns the belief over a route."""

    def __init__(self, route: Route, pruned: float = PRUNED) -> None:
        self.route = route
        self._pruned = pruned
        self._cells = Cells(route.edges, route.first, route.last, route.closed, route.drive_of, route.lengths)
        widths = route.widths
        self._length = float(widths.sum())
        self.share = widths / self._length
        self._usual = float(np.median(route.lengths))
        self._speeds = make_prior()
        self._places, place_of = np.unique(route.places, return_inverse=True)
        self._place_of = place_of
        count = len(self._places)
        weight = np.bincount(place_of, self.share, count)
        self._place_share = weight
        self._centres = np.column_stack(
            [np.bincount(place_of, self.share * route.positions[:, axis], count) / weight for axis in (0, 1)]
        )
        self._extent = float(np.hypot(*np.ptp(self._centres, axis=0)))
        self._linked = np.bincount(route.links[:, 0], minlength=len(route))
        self.restart()

    def restart(self) -> None:
        """Anywhere on the map, at any speed; or off it."""
        self.on = (1.0 - START_OFF) * self._speeds[:, None] * self.share[None, :]
        self.active = np.arange(len(self.route))
        self.mimic = 0.5 * START_OFF * self._speeds[:, None] * self.share[None, :]
        self.off = 0.5 * START_OFF * self._place_share
        self.reach = np.full(len(self._places), ANYWHERE)
        self.pace = self._speeds.copy()
        """How fast it is driven off the map."""

    def start_around(self, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Near a position somebody told, or off the map, or, if that was wrong, anywhere."""
        self.restart()
        squared = ((self.route.positions - position) ** 2).sum(axis=1)
        near = self.share * np.exp(-0.5 * (squared - squared.min()) / deviation**2)
        believed = (1.0 - START_WRONG) * near / near.sum() + START_WRONG * self.share
        self.on = (1.0 - START_OFF) * self._speeds[:, None] * believed[None, :]

    @property
    def p_off(self) -> float:
        """Probability of being off the map."""
        return float(self.off.sum() + self.mimic.sum())

    @property
    def where(self) -> Float[np.ndarray, " refs"]:
        """Probability of each reference."""
        total: Float[np.ndarray, " refs"] = self.on.sum(axis=0)
        return total

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
        speeds = self.on.sum(axis=1) + self.p_off * self.pace
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

    def _weigh_view(self, step: Step, middle: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """How well the change of view fits each displacement where views are so long, 1 being usual."""
        if step.metres is not None:
            forwards = (step.metres < 0) == BACKWARDS
            return np.repeat(np.where(forwards, 1.0, 0.0)[:, None], len(lengths), axis=1)
        expected = lengths * min(step.change, FAR_VIEW)
        off = np.log(np.maximum(np.abs(middle), 1e-9))[:, None] - np.log(expected)[None, :]
        if step.saturated:
            off = np.minimum(off, 0.0)
        weight: np.ndarray = np.exp(np.maximum(0.5 - 0.5 * (off / VIEW_SPREAD) ** 2, LEAST))
        return weight

    def _move_on(self, step: Step, ways: Ways, metres: float) -> Float[np.ndarray, " refs"]:
        """Move what is on the map; returns what left it at each reference."""
        fits = self._weigh_view(step, ways.middle, self.route.lengths[self.active])
        halted = 0.0 if step.metres is not None else HALTED / 4 if step.saturated else HALTED
        self.on, over = self._advance(self.on, self.active, fits, ways, halted, step)
        self._hop(metres)
        leaving = -np.expm1(-LEAVE * metres)
        left: Float[np.ndarray, " refs"] = leaving * self.where + over
        self.on *= 1.0 - leaving
        return left

    def _advance(
        self, mass: Speeds, rows: Rows, fits: np.ndarray, ways: Ways, halted: float, step: Step
    ) -> tuple[Speeds, Float[np.ndarray, " refs"]]:
        """Change speeds, and move."""
        mixed = np.zeros_like(mass)
        mixed[:, rows] = change_speeds(mass[:, rows], self._speeds)
        reach = np.sign(SPEEDS) * 2.0 * min(step.change, FAR_VIEW)
        moved, over = move(self._cells, mixed, rows, fits, ways.near, ways.far, halted, reach)
        return moved, over

    def _hop(self, metres: float) -> None:
        """A share of what is at a crossing goes over to the other references there, in equal parts."""
        if not len(self.route.links):
            return
        source, target = self.route.links.T
        share = -np.expm1(-HOP * metres)
        moved = share * self.on[:, source] / self._linked[source]
        self.on *= 1.0 - share * (self._linked > 0)
        for speed, mass in zip(self.on, moved, strict=True):
            np.add.at(speed, target, mass)

    def _move_off(
        self, step: Step, ways: Ways, metres: float, left: Float[np.ndarray, " refs"]
    ) -> Float[np.ndarray, " refs"]:
        """Move what is off the map; returns what comes back."""
        fits = self._weigh_view(step, ways.middle, np.array([self._usual]))[:, 0]
        pace = change_speeds(self.pace[:, None], self._speeds)[:, 0] * fits
        fit = pace.sum()
        self.pace = pace / fit
        self.off, self.mimic = self.off * fit, self.mimic * fit
        self.reach = self.reach + REACH * metres
        returning, masking = -np.expm1(-RETURN * metres), -np.expm1(-MIMIC * metres)
        back = self._arrive(returning * self.off)
        masked = float(self.off.sum()) * (1.0 - returning) * masking
        self.off = self.off * (1.0 - returning) * (1.0 - masking)
        ended = self._move_mimics(step, ways, metres, masked)
        self.off = self._deal_out(ended)
        came = np.bincount(self._place_of, left, len(self.off))
        whole = self.off + came
        fresh = 3.0 * self.route.spacing
        self.reach = np.where(whole > 0, (self.off * self.reach + came * fresh) / np.maximum(whole, 1e-300), self.reach)
        self.off = whole
        return back

    def _deal_out(self, mass: float) -> Float[np.ndarray, " places"]:
        """What is off the map with so much more of it, left from the same places as the rest."""
        total = self.off.sum()
        dealt: Float[np.ndarray, " places"] = self.off + mass * (self.off / total if total > 0 else self._place_share)
        return dealt

    def _move_mimics(self, step: Step, ways: Ways, metres: float, masked: float) -> float:
        """Wrong matches move as right ones do, or stay behind, and begin anywhere; returns what ended."""
        rows = np.flatnonzero(self.mimic.any(axis=0))
        moved, over = self._advance(self.mimic, rows, np.ones((len(SPEEDS), len(rows))), ways, STUCK, step)
        unmasked = -np.expm1(-UNMASK * metres)
        self.mimic = moved * (1.0 - unmasked) + masked * self.pace[:, None] * self.share[None, :]
        return float(moved.sum()) * unmasked + float(over.sum())

    def _arrive(self, mass: np.ndarray) -> np.ndarray:
        """Deal what returns from each place out over the references in its reach."""
        # Thousands of places with next to nothing, or from which all is in reach: one by one they took seconds.
        anywhere = (mass < self._pruned) | (self.reach >= self._extent)
        back = float(mass[anywhere].sum()) * self._place_share
        for place in np.flatnonzero((mass > 0) & ~anywhere):
            within = np.hypot(*(self._centres - self._centres[place]).T) <= self.reach[place]
            within[place] = True
            weight = self._place_share * within
            back += mass[place] * weight / weight.sum()
        return (back / self._place_share)[self._place_of] * self.share

    def update(self, evidence: Float[np.ndarray, " refs"], arriving: Float[np.ndarray, " refs"]) -> float:
        """Weigh everything by the log-evidence of a view; returns its logarithm in the whole."""
        on_map = float(self.on.sum())
        highest = max(float(evidence.max(initial=0.0)), 0.0)
        likelihood = np.exp(evidence - highest)
        self.on *= 1.0 - CARRIED
        carried = CARRIED * on_map * self.share
        self.on *= likelihood[None, :]
        seeds = (arriving[None, :] * self.pace[:, None] + carried[None, :] * self._speeds[:, None]) * likelihood[
            None, :
        ]
        self.on += seeds
        self.mimic = self.mimic * likelihood[None, :]
        self.off = self.off * np.exp(-highest)
        total = self._normalise()
        self._prune()
        return float(np.log(total) + highest)

    def weigh_map(self, odds: float) -> None:
        """Weigh being on the map against being off it by log-odds of the view as a whole."""
        self.on *= np.exp(odds)
        self._normalise()

    def _normalise(self) -> float:
        """Make probabilities of it again; returns what it was in all."""
        total = float(self.on.sum() + self.mimic.sum() + self.off.sum())
        self.on /= total
        self.mimic /= total
        self.off /= total
        return total

    def _prune(self) -> None:
        if not self._pruned:
            return
        kept = self.on.sum(axis=0) > self._pruned
        self.on[:, ~kept] = 0.0
        self.active = np.flatnonzero(kept)
        self.mimic[:, self.mimic.sum(axis=0) < self._pruned] = 0.0

    def find_peak(self, radius: float) -> tuple[int, float]:
        """The reference with the most probability around it, and that probability."""
        where = self.where
        highest = np.argpartition(-where, min(PEAKS, len(where) - 1))[:PEAKS]
        order = highest[np.argsort(-where[highest], kind="stable")]
        around = self.route.tree.query_ball_point(self.route.positions[order], radius)
        masses = [float(where[near].sum()) for near in around]
        best = int(np.argmax(masses))
        return int(order[best]), masses[best]

    def list_modes(self) -> tuple[Float[np.ndarray, "points 2"], Float[np.ndarray, " points"]]:
        """Where the camera may be, as points with probabilities: references, and the reach of what is off the map."""
        extent = float(np.hypot(*np.ptp(self.route.positions, axis=0)))
        off = self._deal_out(float(self.mimic.sum()))
        places = np.flatnonzero(off > self._pruned)
        reach = np.minimum(self.reach[places], extent)[:, None, None] / np.sqrt(2.0)
        around = (self._centres[places][:, None, :] + reach * _COMPASS[None]).reshape(-1, 2)
        rows = np.flatnonzero(self.on.any(axis=0))
        points = np.concatenate([self.route.positions[rows], around])
        return points, np.concatenate([self.where[rows], np.repeat(off[places] / len(_COMPASS), len(_COMPASS))])
