"""The route filter a second time: a dense Bayes filter, its states and steps written out plainly and nothing of ours.

Written to be read beside `docs/method.md`, not to be fast: every motion is a matrix from each cell to each. The null
map is the cells of every traverse in shuffled blocks, each from its end to its beginning, with their evidence. Of the
package it takes a route's arrays and the model's numbers.
"""

from itertools import pairwise

import numpy as np
from scipy.linalg import block_diag, expm

TILE = 64


def happens(rate, metres):
    """The chance that something with a rate a metre happens on so many metres."""
    return 1.0 - np.exp(-rate * metres)


def integrate_triangle(x):
    """∫ max(1 − |u|, 0) du up to x: the second difference of max(x, 0)² / 2."""
    ramp = np.maximum(np.clip(x, -1.0, 1.0) + np.array([1.0, 0.0, -1.0])[:, None], 0.0) ** 2 / 2
    return np.array([1.0, -2.0, 1.0]) @ ramp


def make_motion(count, closed, low, high):
    """[from, to]: the mass that lies evenly in a cell, moved by anything from `low` to `high` cells."""
    ahead = np.arange(np.floor(low) - 1, np.ceil(high) + 2).astype(int)
    if high > low:
        shares = (integrate_triangle(ahead - low) - integrate_triangle(ahead - high)) / (high - low)
    else:
        shares = np.maximum(1.0 - np.abs(ahead - low), 0.0)
    matrix, cells = np.zeros((count, count)), np.arange(count)
    for share, way in zip(shares, ahead, strict=True):
        to = (cells + way) % count if closed else cells + way
        inside = (to >= 0) & (to < count)
        matrix[cells[inside], to[inside]] += share
    return matrix


def usual_speeds(model, backwards):
    """Log-normal around the mapped speed, seldom backwards; standing counts as an eighth of it."""
    likely = [np.exp(-0.5 * (np.log2(max(abs(speed), 1 / 8)) / model.speed_spread) ** 2) for speed in model.speeds]
    likely = np.array(likely) * [backwards if speed < 0 else 1.0 for speed in model.speeds]
    return likely / likely.sum()


def speed_matrix(model, usual, seconds):
    """[from, to], over so many seconds: any speed anew, or the next one where no sign changes."""
    speeds = model.speeds
    rates = np.zeros((len(speeds), len(speeds)))
    for old in range(len(speeds)):
        for new in range(len(speeds)):
            if old != new:
                beside = abs(old - new) == 1 and min(speeds[old], speeds[new]) >= 0
                rates[old, new] = model.speed_leap * usual[new] + beside * model.speed_change / 2
        rates[old, old] = -rates[old].sum()
    return expm(rates * seconds)


def list_bounds(speeds):
    """What each speed stands for: as far as midway to its neighbours, the outermost as far outwards; 0 for itself."""
    wider = [2 * speeds[0] - speeds[1], *speeds, 2 * speeds[-1] - speeds[-2]]
    middles = [(a + b) / 2 for a, b in pairwise(wider)]
    return [(0.0, 0.0) if speed == 0 else bounds for speed, bounds in zip(speeds, pairwise(middles), strict=True)]


class PlainFilter:
    """on[cell, speed], null[cell, speed] and off; cell i of the null map shows what cell shuffled[i] does."""

    def __init__(self, route, model):
        self.route, self.model = route, model
        self.prior, self.null_prior = usual_speeds(model, model.backwards), usual_speeds(model, 0.0)
        self.count = int(route.cells.sum())
        starts = [(TILE * first, TILE * first + count) for first, count in zip(route.first, route.cells, strict=False)]
        cells = np.concatenate([np.arange(*bounds) for bounds in starts])
        self.before, self.after, self.between = (each[cells] for each in (route.before, route.after, route.between))
        rng, self.shuffled, begin = np.random.default_rng(0), [], 0
        block = max(round(model.null_block / route.cell), 1)
        for count in route.cells:
            blocks = [list(range(at, min(at + block, count))) for at in range(0, count, block)]
            self.shuffled += [begin + cell for which in rng.permutation(len(blocks)) for cell in blocks[which][::-1]]
            begin += count
        self.off = model.start_off
        self.on = np.outer(np.full(self.count, (1 - self.off) / self.count), self.prior)
        self.null = np.outer(np.full(self.count, 1 / self.count), self.null_prior)

    def list_ways(self, motion):
        """The shortest and the longest way of each speed, in cells."""
        route, model = self.route, self.model
        if motion.told is None:
            mapped = route.speed * motion.seconds / route.cell
            return [(slow * mapped, fast * mapped) for slow, fast in list_bounds(model.speeds)]
        error = model.motion_error * abs(motion.told)
        return [((motion.told - error) / route.cell, (motion.told + error) / route.cell)] * len(model.speeds)

    def move(self, mass, motion):
        """Each speed by its own way."""
        moved = np.zeros_like(mass)
        for speed, (low, high) in enumerate(self.list_ways(motion)):
            parts = [
                make_motion(count, closed, low, high)
                for count, closed in zip(self.route.cells, self.route.closed, strict=True)
            ]
            moved[:, speed] = mass[:, speed] @ block_diag(*parts)
        return moved

    def weigh_pictures(self, motion):
        """By speed, the chance that the picture became another one, or that it did not."""
        if motion.told is not None or motion.seconds == 0:
            return np.ones(len(self.model.speeds))
        expected = np.abs(self.model.speeds) * self.route.speed * motion.seconds / self.route.metres_a_view
        none = np.exp(-expected - self.model.views_standing * motion.seconds)
        return (1 - none if motion.new_view else none) ** self.model.views_weight

    def observe(self, evidence, motion):
        model = self.model
        leaving, back = (happens(rate, motion.metres) for rate in (model.leave, model.come_back))
        priors = self.prior, self.null_prior
        change, null_change = (speed_matrix(model, usual, motion.seconds) for usual in priors)
        anywhere, null_anywhere = (np.outer(np.full(self.count, 1 / self.count), usual) for usual in priors)
        seen = (1 - self.between) * evidence[self.before] + self.between * evidence[self.after]
        likelihood = np.exp(motion.power * seen)[:, None]
        pictures = self.weigh_pictures(motion)

        predicted = (1 - back) * self.move(self.null, motion) @ null_change + back * null_anywhere
        seen = predicted * pictures
        weighed = seen * likelihood[self.shuffled]
        null_says = weighed.sum() / seen.sum()
        self.null = weighed / weighed.sum()

        whole, moved = self.on.sum(), self.move(self.on, motion) @ change
        over = whole - moved.sum()
        predicted = (1 - leaving) * moved + back * self.off * anywhere
        off = (1 - back) * self.off + leaving * moved.sum() + over
        seen = predicted * pictures * predicted.sum() / (predicted * pictures).sum()
        weighed, off = seen * likelihood, off * null_says
        map_says = weighed.sum() / seen.sum()
        self.on, self.off = weighed / (weighed.sum() + off), off / (weighed.sum() + off)
        return np.log(map_says / null_says)
