"""Two well-known ways to follow a camera along a route, each in the place of `RouteFilter`.

The sequence search looks for the straight line of constant speed through the last views whose evidence sums up highest;
it is sure where the margin to the best line elsewhere, and to being off the map, whose evidence is 0, is large enough.
The particle filter has points on the route, each with a speed or off the map, weighed and drawn anew.

Their values are, of twelve and of six that `rival_filters.py --tune` compares on worlds for choosing, those with which
most is localized and no drive has more wrong frames than with the route filter.
"""

from collections import deque
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.tracking.route import Route
from tmapr.tracking.speeds import FAR_VIEW, LEAVE, RETURN, SPEEDS, START_OFF, VIEW_SPREAD, Step

_FASTER = 0.2
"""Deviation of the logarithm of a particle's speed from view to view."""
_REVERSING = 0.02
_LEAST = -3.0
_STILL = 0.1
"""Chance that a particle stood since the last view."""


class Rival(Protocol):
    """What carries belief from view to view, as far as the product asks it."""

    share: Float[np.ndarray, " refs"]

    def restart(self) -> None:
        """Anywhere on the map."""

    @property
    def p_off(self) -> float:
        """Probability of being off the map."""

    @property
    def where(self) -> Float[np.ndarray, " refs"]:
        """Probability of each reference."""

    @property
    def metres_a_view(self) -> float:
        """Metres of a new view where the camera may be."""

    def predict(self, step: Step) -> Float[np.ndarray, " refs"]:
        """Move; nothing arrives from elsewhere."""

    def update(self, evidence: Float[np.ndarray, " refs"], arriving: Float[np.ndarray, " refs"]) -> float:
        """Weigh by the log-evidence of a view."""

    def weigh_map(self, odds: float) -> None:
        """Weigh being on the map against being off it."""

    def find_peak(self, radius: float) -> tuple[int, float]:
        """The reference with the most probability around it, and that probability."""

    def list_modes(self) -> tuple[Float[np.ndarray, "points 2"], Float[np.ndarray, " points"]]:
        """Where the camera may be, as points with probabilities."""


@dataclass(frozen=True)
class Ruler:
    """The route as metres along its traverses."""

    route: Route
    along: Float[np.ndarray, " refs"]
    start: Float[np.ndarray, " drives"]
    stop: Float[np.ndarray, " drives"]

    @classmethod
    def of(cls, route: Route) -> "Ruler":
        """Cells begin at the route's edges."""
        drives = np.arange(len(route.first))
        at = np.arange(len(route)) + route.drive_of
        middle = (route.edges[at] + route.edges[at + 1]) / 2
        return cls(route, middle, route.edges[route.first + drives], route.edges[route.last + drives + 1])

    def find(
        self, drive: Int[np.ndarray, " n"], along: Float[np.ndarray, " n"]
    ) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        """The reference that owns each point, and whether there is one: open traverses end."""
        route = self.route
        along = np.where(route.closed[drive], self.wrap(drive, along), along)
        inside = (along >= self.start[drive]) & (along < self.stop[drive])
        rows = np.zeros(len(along), dtype=np.int64)
        for each in range(len(route.first)):
            own = drive == each
            edges = route.edges[route.first[each] + each : route.last[each] + each + 2]
            cell = np.clip(np.searchsorted(edges, along[own], side="right") - 1, 0, len(edges) - 2)
            rows[own] = route.first[each] + cell
        return rows, inside

    def wrap(self, drive: Int[np.ndarray, " n"], along: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The same points on the first lap."""
        return self.start[drive] + (along - self.start[drive]) % (self.stop - self.start)[drive]


class SequenceSearch:
    """Owns the evidence of the last views."""

    def __init__(
        self, route: Route, views: int = 10, margin: float = 12.0, ruler: Literal["views", "seconds"] = "seconds"
    ) -> None:
        self.route, self._views, self._margin, self._by = route, views, margin, ruler
        self._ruler = Ruler.of(route)
        self.share = route.widths / route.widths.sum()
        self.restart()

    def restart(self) -> None:
        """Nothing was seen."""
        self._seen: deque[tuple[float, Float[np.ndarray, " refs"]]] = deque(maxlen=self._views)
        self._now = 0.0
        self._scores = np.zeros(len(self.route))

    @property
    def p_off(self) -> float:
        """Such a search does not know how probable anything is: all or nothing."""
        return 1.0 if self._scores.max() < self._margin else 0.0

    @property
    def where(self) -> Float[np.ndarray, " refs"]:
        """The best line's end at each reference, as if lines were all there is."""
        likely = np.exp(self._scores - self._scores.max()) * self.share
        return likely / likely.sum()

    @property
    def metres_a_view(self) -> float:
        """Of the whole route: a line is as long everywhere."""
        return float(np.median(self.route.lengths))

    def predict(self, step: Step) -> Float[np.ndarray, " refs"]:
        """Note how far it was, at the mapped speed or as the map's views are long."""
        if step.metres is not None:
            self._now += step.metres
        elif self._by == "seconds":
            self._now += self.route.speed * step.seconds
        else:
            self._now += self.metres_a_view * min(step.change, FAR_VIEW)
        return np.zeros(len(self.route))

    def update(self, evidence: Float[np.ndarray, " refs"], arriving: Float[np.ndarray, " refs"]) -> float:
        """Search the best line to each reference."""
        self._seen.append((self._now, evidence + arriving))
        speeds = SPEEDS if self._by == "seconds" else SPEEDS[np.abs(np.log2(np.abs(SPEEDS))) <= 1.0]
        self._scores = np.max([self._sum_line(float(speed)) for speed in speeds], axis=0)
        return 0.0

    def weigh_map(self, odds: float) -> None:
        """A line counts by that much more or less from this view on."""
        self._seen[-1] = (self._seen[-1][0], self._seen[-1][1] + odds)

    def _sum_line(self, speed: float) -> Float[np.ndarray, " refs"]:
        total = np.zeros(len(self.route))
        for then, evidence in self._seen:
            rows, inside = self._ruler.find(self.route.drive_of, self._ruler.along - speed * (self._now - then))
            total += np.where(inside, evidence[rows], 0.0)
        return total

    def find_peak(self, radius: float) -> tuple[int, float]:
        """The end of the best line; certain if every line that ends elsewhere, or off the map, is worse by a margin."""
        best = int(np.argmax(self._scores))
        far = np.hypot(*(self.route.positions - self.route.positions[best]).T) > radius
        margin = self._scores[best] - self._scores[far].max(initial=0.0)
        return best, 1.0 if margin >= self._margin else 0.0

    def list_modes(self) -> tuple[Float[np.ndarray, "points 2"], Float[np.ndarray, " points"]]:
        """Ends of lines."""
        return self.route.positions, self.where


class ParticleFilter:
    """Owns points on the route: traverse, metres along it, multiple of the mapped speed, whether off the map."""

    def __init__(
        self, route: Route, particles: int = 2000, restarts: float = 0.05, belief: float = 0.5, seed: int = 1
    ) -> None:
        self.route, self._count, self._restarts, self._belief, self._seed = route, particles, restarts, belief, seed
        self._ruler = Ruler.of(route)
        self.share = route.widths / route.widths.sum()
        self.restart()

    def restart(self) -> None:
        """Points everywhere, some of them off the map."""
        self._rng = np.random.default_rng(self._seed)
        count = self._count
        self._drive, self._along = np.zeros(count, dtype=np.int64), np.zeros(count)
        self._speed = self._draw_speeds(count)
        self._off = self._rng.random(count) < START_OFF
        self._weight = np.full(count, 1 / count)
        self._throw(np.ones(count, dtype=bool), self.share)

    def _draw_speeds(self, count: int) -> Float[np.ndarray, " n"]:
        forwards = np.where(self._rng.random(count) < _REVERSING, -1.0, 1.0)
        return forwards * 2.0 ** self._rng.normal(size=count)

    def _throw(self, chosen: Bool[np.ndarray, " n"], likely: Float[np.ndarray, " refs"]) -> None:
        """Put points on references as likely as that, anywhere in their cells."""
        count = int(chosen.sum())
        rows = self._rng.choice(len(self.route), count, p=likely / likely.sum())
        drive = self.route.drive_of[rows]
        self._drive[chosen] = drive
        self._along[chosen] = self._ruler.along[rows] + self.route.widths[rows] * self._rng.uniform(-0.5, 0.5, count)

    @property
    def _rows(self) -> Int[np.ndarray, " n"]:
        return self._ruler.find(self._drive, self._along)[0]

    @property
    def p_off(self) -> float:
        """The weight of what is off the map."""
        return float(self._weight[self._off].sum())

    @property
    def where(self) -> Float[np.ndarray, " refs"]:
        """The weight of the points in each cell."""
        on = ~self._off
        return np.bincount(self._rows[on], self._weight[on], len(self.route))

    @property
    def metres_a_view(self) -> float:
        """As the product says it."""
        where = self.where
        return float(where @ self.route.lengths + (1.0 - where.sum()) * np.median(self.route.lengths))

    def predict(self, step: Step) -> Float[np.ndarray, " refs"]:
        """Move every point by its speed, or by the odometry; the change of view says how well that fits."""
        rng, count, route = self._rng, self._count, self.route
        lengths = np.where(self._off, np.median(route.lengths), route.lengths[self._rows])
        expected = lengths * min(step.change, FAR_VIEW)
        self._speed = self._speed * np.exp(_FASTER * rng.normal(size=count))
        way = self._speed * route.speed * step.seconds
        if step.metres is not None:
            way = step.metres * (1.0 + 0.1 * rng.normal(size=count))
        else:
            off = np.log(np.maximum(np.abs(way), 1e-9) / expected)
            off = np.minimum(off, 0.0) if step.saturated else off
            stood = rng.random(count) < _STILL
            fits = np.exp(np.maximum(0.5 - 0.5 * (off / VIEW_SPREAD) ** 2, _LEAST))
            self._weight = self._weight * np.where(stood, 1.0, fits)
            way = np.where(stood, np.sign(self._speed) * expected * rng.uniform(0.0, 2.0, count), way)
        self._along = self._along + way
        closed = route.closed[self._drive]
        self._along = np.where(closed, self._ruler.wrap(self._drive, self._along), self._along)
        self._leave_and_return(np.abs(way))
        return np.zeros(len(route))

    def _leave_and_return(self, metres: Float[np.ndarray, " n"]) -> None:
        drawn, over = self._rng.random(self._count), ~self._ruler.find(self._drive, self._along)[1]
        returning = self._off & (drawn < -np.expm1(-RETURN * metres))
        leaving = ~self._off & ((drawn < -np.expm1(-LEAVE * metres)) | over)
        self._throw(returning, self.share)
        self._off = (self._off | leaving) & ~returning

    def update(self, evidence: Float[np.ndarray, " refs"], arriving: Float[np.ndarray, " refs"]) -> float:
        """Weigh, draw anew where few points carry all, and try some where this view alone points."""
        likelihood = np.exp(self._belief * (evidence + arriving))
        weight = self._weight * np.where(self._off, 1.0, likelihood[self._rows])
        total = float(weight.sum())
        self._weight = weight / total
        if 1.0 / float((self._weight**2).sum()) < self._count / 2:
            self._draw_anew(likelihood)
        return float(np.log(total))

    def weigh_map(self, odds: float) -> None:
        """Points on the map weigh more or less."""
        weight = self._weight * np.where(self._off, 1.0, np.exp(odds))
        self._weight = weight / weight.sum()

    def _draw_anew(self, likelihood: Float[np.ndarray, " refs"]) -> None:
        at = (np.arange(self._count) + self._rng.random()) / self._count
        drawn = np.minimum(np.searchsorted(np.cumsum(self._weight), at), self._count - 1)
        self._drive, self._along, self._speed = self._drive[drawn], self._along[drawn], self._speed[drawn]
        self._off, self._weight = self._off[drawn], np.full(self._count, 1 / self._count)
        tried = self._rng.random(self._count) < self._restarts
        self._throw(tried, likelihood * self.share)
        self._speed[tried] = self._draw_speeds(int(tried.sum()))
        self._off[tried] = False

    def find_peak(self, radius: float) -> tuple[int, float]:
        """The reference with the most weight around it."""
        where = self.where
        order = np.argsort(-where)[:32]
        around = self.route.tree.query_ball_point(self.route.positions[order], radius)
        masses = [float(where[near].sum()) for near in around]
        best = int(np.argmax(masses))
        return int(order[best]), masses[best]

    def list_modes(self) -> tuple[Float[np.ndarray, "points 2"], Float[np.ndarray, " points"]]:
        """Points on the route, and all of it for what is off the map."""
        return self.route.positions, self.where + self.p_off * self.share
