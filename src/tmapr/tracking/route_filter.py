"""A Bayes filter over the route, and the same over its null map.

The camera is in a cell of the route at a speed, or off the map. Mass moves by its speed, may change it, leaves the map,
comes back anywhere; then every cell is weighed by what the view says there, to a power: the metres driven since the
last view, as a share of those after which views err anew.

The null map is the same cells in another order, shuffled in blocks of one view: what only looks like the map, here and
there, fits it as well. It is followed by a filter of its own, and what it expects of a view is what being off the map
does: so the odds of being on the map, and the proof that a drive is there, are Bayes factors against it, and need no
threshold of any similarity.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import expm

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.artifacts.layout import Array
from tmapr.tracking.masses import Masses
from tmapr.tracking.model import RouteModel
from tmapr.tracking.motion import Cells, Taps, Transfer, Weights, deal_out
from tmapr.tracking.route import TILE, Route
from tmapr.types import CHI2_95

LAYOUT = {"off": Array("f", "", 0, 1)}
for _name in ("on", "null"):
    LAYOUT[f"{_name}.tiles"] = Array("i", _name, 0)
    LAYOUT[f"{_name}.mass"] = Array("f", f"{_name} speeds tile", 0)
    LAYOUT[f"{_name}.factor"] = Array("f", "", 0)
    LAYOUT[f"{_name}.speeds"] = Array("f", "speeds", 0, 1.01)
"""Of what `RouteFilter.arrays` gives."""
_HELD, _MOST_HELD = 0.95, 0.999
"""Of the probability: what the ellipse holds; of a mode that has less, the most of it."""


@dataclass(frozen=True, slots=True)
class Motion:
    """What is known of the motion since the last view."""

    seconds: float
    metres: float
    """Driven, as far as is known."""
    told: float | None
    """The same where odometry told it, negative backwards."""
    power: float
    """To which the view counts: how much of it is new."""
    new_view: bool = False
    """Whether the picture became another one."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The place that is most probable: what lies around it, and what the last view alone says there."""

    probability: float
    position: Float[np.ndarray, "2"]
    covariance: Float[np.ndarray, "2 2"]
    reference: int
    """The likeliest one there, by its number along the route."""
    near: Int[np.ndarray, " near"]
    """All references there, in the same way."""


class RouteFilter:
    """Owns the belief over a route and over its null map."""

    def __init__(self, route: Route, model: RouteModel) -> None:
        self.route, self.model = route, model
        self._grid = Cells(route.first, route.cells, route.closed, route.before, route.after, route.between)
        block = max(round(model.null_block / route.cell), 1)
        self._null_grid = _shuffle(self._grid, block, model.null_way / route.cell)
        self._used = _mark_used(self._grid)
        self._speeds = np.array(model.speeds)
        self._prior, self._null_prior = _make_prior(model, model.backwards), _make_prior(model, 0.0)
        self._rates, self._null_rates = _make_rates(model, self._prior), _make_rates(model, self._null_prior)
        self._seeds, self._null_seeds = (
            prior / grid.cells.sum() for prior, grid in ((self._prior, self._grid), (self._null_prior, self._null_grid))
        )
        self._low, self._high = _bound_speeds(self._speeds)
        self._on, self._null = (Masses(int(grid.first[-1]), len(self._prior)) for grid in (self._grid, self._null_grid))
        self.restart()

    def restart(self) -> None:
        """Anywhere on the map, at any speed; or off it."""
        self.off = self.model.start_off
        self._on.spread((1.0 - self.off) * self._used / self._used.sum(), self._prior)
        null = _mark_used(self._null_grid)
        self._null.spread(null / null.sum(), self._null_prior)

    def start_around(self, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Near a position somebody told; if that was wrong, anywhere, or off the map."""
        self.restart()
        squared = ((self.route.spots - position) ** 2).sum(axis=1).reshape(self._used.shape)
        near = np.exp(-0.5 * (squared - squared[self._used].min()) / deviation**2) * self._used
        wrong = self.model.start_off
        self.off = wrong**2
        believed = (1.0 - wrong) * near / near.sum() + wrong * self._used / self._used.sum()
        self._on.spread((1.0 - self.off) * believed, self._prior)

    @property
    def where(self) -> Float[np.ndarray, " cells"]:
        """Probability of each cell."""
        return self._on.where.ravel()

    @property
    def pace(self) -> float:
        """Metres a second that the camera drives along the route, in the mean, whatever the direction."""
        speeds = self._on.speeds + 1e-12 * self._prior
        return float(np.abs(self._speeds) @ speeds / speeds.sum()) * self.route.speed

    @property
    def velocity(self) -> tuple[float, float]:
        """Metres a second along the route, forwards, and its deviation."""
        share = self._on.speeds / max(self._on.total, 1e-300)
        mean = float(self._speeds @ share)
        return mean * self.route.speed, float(np.sqrt(self._speeds**2 @ share - mean**2)) * self.route.speed

    def observe(self, evidence: Float[np.ndarray, " refs"], motion: Motion) -> float:
        """Predict where the camera is now, and weigh that by the log-evidence of a view.

        Returns the logarithm of how much better the map explains the view than the null map does.
        """
        model = self.model
        left, back = (float(-np.expm1(-rate * motion.metres)) for rate in (model.leave, model.come_back))
        low, high = self._bound_ways(motion)
        weights = Weights(evidence, motion.power, self._weigh_speeds(motion))

        speeds = expm(self._null_rates * motion.seconds)
        change = Transfer(speeds, 1.0 - back, back * self._null_seeds, model.dropped)
        ways: Taps = deal_out(low, high)
        _, expected = self._null.advance(self._null_grid, ways, change, weights)
        self._null.scale(1.0)  # what drives over an open end of the null map is nowhere

        before, returned = self._on.total, back * self.off
        speeds = expm(self._rates * motion.seconds)
        change = Transfer(speeds, 1.0 - left, returned * self._seeds, model.dropped)
        predicted, likelihood = self._on.advance(self._grid, ways, change, weights)
        # What does not arrive anywhere on the map left it, or drove over an open end.
        off = max(before + self.off - predicted, 0.0) * expected
        self.off = off / (predicted * likelihood + off)
        self._on.scale(1.0 - self.off)
        return float(np.log(likelihood) - np.log(expected))

    def _weigh_speeds(self, motion: Motion) -> Float[np.ndarray, " speeds"]:
        """How likely it is at each speed that the picture became another one, or did not."""
        if motion.told is not None or motion.seconds == 0.0:
            return np.ones_like(self._speeds)
        rates = np.abs(self._speeds) * self.route.speed / self.route.metres_a_view + self.model.views_standing
        none = np.exp(-rates * motion.seconds)
        likely: Float[np.ndarray, " speeds"] = (1.0 - none if motion.new_view else none) ** self.model.views_weight
        return likely

    def _bound_ways(self, motion: Motion) -> tuple[Float[np.ndarray, " speeds"], Float[np.ndarray, " speeds"]]:
        """The shortest and the longest way of each speed, in cells."""
        if motion.told is None:
            way = self.route.speed * motion.seconds / self.route.cell
            return self._low * way, self._high * way
        way, error = motion.told / self.route.cell, self.model.motion_error * abs(motion.told) / self.route.cell
        return np.full_like(self._low, way - error), np.full_like(self._low, way + error)

    def find_peak(self, evidence: Float[np.ndarray, " refs"], radius: float) -> Peak:
        """Where most of the probability lies within a radius; the last view sharpens the position there once more."""
        route, where = self.route, self.where
        spot = route.spots[np.argmax(where)]
        for _ in range(2):
            near = route.find_near(spot, radius)
            spot = where[near] @ route.spots[near] / where[near].sum()
        near = route.find_near(spot, radius)
        between = route.between[near]
        seen = (1.0 - between) * evidence[route.before[near]] + between * evidence[route.after[near]]
        likely = where[near] * np.exp(seen - seen.max())
        likely /= likely.sum()
        position = likely @ route.spots[near]
        off = route.spots[near] - position
        covariance = (off * likely[:, None]).T @ off + np.eye(2) * self.model.beside**2
        best = near[np.argmax(likely)]
        reference = int(route.after[best] if route.between[best] > 0.5 else route.before[best])
        around = np.union1d(route.before[near], route.after[near])
        return Peak(float(where[near].sum()), position, covariance, reference, around)

    def describe(self, peak: Peak, certainty: float) -> tuple[Float[np.ndarray, "4"], Float[np.ndarray, "4 4"]]:
        """Position and velocity at a place, and their covariance: so wide that 95 % of all is in the ellipse."""
        covariance = np.zeros((4, 4))
        # −2 ln(1 − p) is the quantile of χ² with two degrees of freedom; of a mode that holds less, nearly all of it.
        held = min(_HELD / peak.probability, _MOST_HELD)
        covariance[:2, :2] = peak.covariance * (-2.0 * np.log1p(-held) / CHI2_95)
        if peak.probability < certainty:
            cells = np.flatnonzero(self.where > 0)
            off, share = self.route.spots[cells] - peak.position, self.where[cells, None]
            covariance[:2, :2] += (1.0 - peak.probability) * ((off * share / share.sum()).T @ off)
        speed, deviation = self.velocity
        heading = float(self.route.headings[peak.reference])
        onward = np.zeros(2) if np.isnan(heading) else np.array([np.cos(heading), np.sin(heading)])
        slow = (self.model.motion_error * self.route.speed) ** 2
        covariance[2:, 2:] = deviation**2 * np.outer(onward, onward) + slow * np.eye(2)
        return np.concatenate([peak.position, speed * onward]), covariance

    def weigh_references(self, least: float = 0.0) -> Float[np.ndarray, " refs"]:
        """The probability of each reference, of cells that have more than so much."""
        route, cells = self.route, np.flatnonzero(self.where > least)
        where, share = self.where[cells], route.between[cells]
        weighed = np.bincount(route.before[cells], where * (1.0 - share), len(route.rows))
        weighed += np.bincount(route.after[cells], where * share, len(route.rows))
        return weighed

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        return {"off": np.array(self.off), **put("on.", self._on.arrays()), **put("null.", self._null.arrays())}

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        self.off = float(arrays["off"])
        self._on.restore(**take(arrays, "on."))
        self._null.restore(**take(arrays, "null."))
        totals = self.off + self._on.total, self._null.total
        if max(abs(total - 1.0) for total in totals) > 1e-6 + self.model.dropped * len(self._used):
            raise ValueError(f"probabilities add up to {totals[0]:g}, and those of the null map to {totals[1]:g}")


def _mark_used(grid: Cells) -> Bool[np.ndarray, "tiles cells"]:
    """The cells that are not spare."""
    used = np.zeros((grid.first[-1], TILE), dtype=bool)
    for first, cells in zip(grid.first, grid.cells, strict=False):
        used.ravel()[first * TILE : first * TILE + cells] = True
    return used


def _shuffle(grid: Cells, block: int, most: float) -> Cells:
    """The null map: the cells of every traverse in blocks, these in another order; of a long route some of them."""
    share = min(most / float(grid.cells.sum()), 1.0)
    rng, taken, counts = np.random.default_rng(0), [], []
    for first, cells in zip(grid.first, grid.cells, strict=False):
        blocks = -(-int(cells) // block)
        order = rng.permutation(blocks)[: int(np.ceil(share * blocks))]
        at = (order[:, None] * block + np.arange(block)[::-1]).ravel()
        at = at[at < cells]
        counts.append(len(at))
        taken.append(first * TILE + np.pad(at, (0, -len(at) % TILE), mode="edge"))
    at = np.concatenate(taken)
    bounds = np.cumsum([0, *(len(each) // TILE for each in taken)])
    parts = grid.before[at], grid.after[at], grid.between[at]
    return Cells(bounds, np.array(counts), grid.closed, *parts)


def _make_prior(model: RouteModel, backwards: float) -> Float[np.ndarray, " speeds"]:
    speeds = np.array(model.speeds)
    usual = np.exp(-0.5 * (np.log2(np.maximum(np.abs(speeds), 0.125)) / model.speed_spread) ** 2)
    prior = np.where(speeds < 0, backwards * usual, usual)
    normal: Float[np.ndarray, " speeds"] = prior / prior.sum()
    return normal


def _make_rates(model: RouteModel, prior: Float[np.ndarray, " speeds"]) -> Float[np.ndarray, "speeds speeds"]:
    """Rates from speed to speed, 1/s: to the neighbours, half each, between which no sign changes; and to any."""
    speeds = np.array(model.speeds)
    rates = np.tile(model.speed_leap * prior, (len(speeds), 1))
    for k in range(len(speeds) - 1):
        if speeds[k] >= 0:
            rates[k, k + 1] += model.speed_change / 2
            rates[k + 1, k] += model.speed_change / 2
    rates -= np.diag(rates.sum(axis=1))
    return rates


def _bound_speeds(
    speeds: Float[np.ndarray, " speeds"],
) -> tuple[Float[np.ndarray, " speeds"], Float[np.ndarray, " speeds"]]:
    """The slowest and the fastest that each speed stands for: midway to its neighbours; what stands, stands."""
    middle = (speeds[1:] + speeds[:-1]) / 2
    low = np.append(2 * speeds[0] - middle[0], middle)
    high = np.append(middle, 2 * speeds[-1] - middle[-1])
    standing = speeds == 0
    return np.where(standing, 0.0, low), np.where(standing, 0.0, high)
