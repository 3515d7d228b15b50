"""Probability that moves along the route, compiled: mass[tile, speed, cell], tile by tile, each speed by its own way.

A tile that holds next to nothing is not live: it is neither read nor written, and whatever lies in it is no mass.
"""

from math import ceil, exp, floor
from typing import NamedTuple

import numpy as np

from tmapr.compiled import compiled


class Cells(NamedTuple):
    """The cells of a route as compiled functions read them, see `Route`."""

    first: np.ndarray
    cells: np.ndarray
    closed: np.ndarray
    before: np.ndarray
    after: np.ndarray
    between: np.ndarray


class Taps(NamedTuple):
    """How the mass of a cell is dealt out: at speed k, weights[k, j] of it goes nearest[k] + j cells ahead."""

    nearest: np.ndarray
    widths: np.ndarray
    weights: np.ndarray


class Transfer(NamedTuple):
    """What becomes of mass beside its motion: it goes from speed to speed, some is lost, some comes to every cell."""

    speeds: np.ndarray
    kept: float
    seeds: np.ndarray
    least: float
    """What a tile holds that is live."""


class Weights(NamedTuple):
    """A view: the log-evidence of each reference, to which power it counts, and what it says of each speed."""

    evidence: np.ndarray
    power: float
    speeds: np.ndarray


class Tiles(NamedTuple):
    """Mass, which tiles are live, and the sums of each cell and of each tile."""

    mass: np.ndarray
    live: np.ndarray
    where: np.ndarray
    totals: np.ndarray


@compiled(inline="always")
def _pass(x):
    """The integral of a cell's triangle 1 − |u| up to x."""
    if x <= -1.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    return 0.5 * (x + 1.0) ** 2 if x <= 0.0 else 1.0 - 0.5 * (1.0 - x) ** 2


@compiled()
def deal_out(low, high):
    """Mass spread evenly over a cell, moved by anything from low[k] to high[k] cells, as taps."""
    speeds = len(low)
    nearest, widths = np.empty(speeds, np.int64), np.empty(speeds, np.int64)
    for k in range(speeds):
        nearest[k] = floor(low[k])
        widths[k] = ceil(high[k]) - nearest[k] + 1
    weights = np.zeros((speeds, widths.max()))
    for k in range(speeds):
        width = high[k] - low[k]
        for j in range(widths[k]):
            at = nearest[k] + j
            if width > 1e-9:
                weights[k, j] = (_pass(at - low[k]) - _pass(at - high[k])) / width
            else:
                weights[k, j] = max(1.0 - abs(at - low[k]), 0.0)
    return Taps(nearest, widths, weights)


@compiled()
def _read(grid, first, cells, weights, likelihood):
    """Exp of a power of the log-evidence at some cells, read between references."""
    for i in range(cells):
        share = grid.between[first + i]
        read = (1.0 - share) * weights.evidence[grid.before[first + i]]
        read += share * weights.evidence[grid.after[first + i]]
        likelihood[i] = exp(weights.power * read)


@compiled()
def _bound(grid, first, cells, weights):
    """No less than any likelihood of some cells."""
    most = -np.inf
    for at in range(first, first + cells):
        most = max(most, weights.evidence[grid.before[at]], weights.evidence[grid.after[at]])
    return exp(weights.power * most)


@compiled()
def _add_up(row):
    """The sum of a tile's row, in eight parts at a time."""
    parts = np.zeros(8)
    for i in range(0, len(row), 8):
        for j in range(8):
            parts[j] += row[i + j]
    return parts.sum()


@compiled()
def _is_reached(live, start, size, low, high, count, closed):
    """Whether any tile that holds some of the cells low … high of a traverse is live."""
    if closed and high - low + 1 >= count:
        low, high = 0, count - 1
    if not closed:
        low, high = max(low, 0), min(high, count - 1)
    if high < low:
        return False
    a, b = low % count, high % count
    for tile in range(a // size, (b if a <= b else count - 1) // size + 1):
        if live[start + tile]:
            return True
    if a > b:  # around the end of a loop
        for tile in range(b // size + 1):
            if live[start + tile]:
                return True
    return False


@compiled()
def _gather(tiles, taps, start, begin, cells, count, closed, moved):
    """What comes to the cells from `begin` on of the traverse that starts at a tile, by speed."""
    size = tiles.mass.shape[2]
    moved[:] = 0.0
    for k in range(len(moved)):
        for j in range(taps.widths[k]):
            weight = taps.weights[k, j]
            if weight <= 0.0:
                continue
            at, done = begin - taps.nearest[k] - j, 0
            if closed:
                at %= count
            elif at < 0:
                at, done = 0, -at
            while done < cells and at < count:
                tile, offset = start + at // size, at % size
                run = min(cells - done, size - offset, count - at)
                if tiles.live[tile]:
                    for i in range(run):
                        moved[k, done + i] += weight * tiles.mass[tile, k, offset + i]
                done += run
                at += run
                if closed and at == count:
                    at = 0


@compiled()
def _mix(moved, change, mixed):
    """Change the speeds of what came, and add what comes from elsewhere."""
    for other in range(len(mixed)):
        mixed[other] = change.seeds[other]
        for k in range(len(moved)):
            share = change.kept * change.speeds[k, other]
            for i in range(moved.shape[1]):
                mixed[other, i] += share * moved[k, i]


@compiled()
def advance(grid, taps, change, weights, old, new):
    """Move the mass from `old` to `new`, change its speeds, and weigh it by the view.

    Returns the sum of all before weighing, how likely the view is there, and what each speed has after it.
    """
    speeds, size = old.mass.shape[1], old.mass.shape[2]
    moved, mixed, by_speed = np.empty((speeds, size)), np.empty((speeds, size)), np.zeros(speeds)
    likelihood, arrived, columns, predicted, seen = np.empty(size), np.empty(size), np.empty(size), 0.0, 0.0
    farthest, nearest, seeded = (taps.nearest + taps.widths - 1).max(), taps.nearest.min(), change.seeds.sum()
    for drive in range(len(grid.cells)):
        start, count, closed = grid.first[drive], grid.cells[drive], grid.closed[drive]
        for tile in range(start, grid.first[drive + 1]):
            begin, first = (tile - start) * size, tile * size
            cells = min(size, count - begin)
            low, high = begin - farthest, begin + cells - 1 - nearest
            reached = _is_reached(old.live, start, size, low, high, count, closed)
            new.live[tile] = reached or seeded * cells * _bound(grid, first, cells, weights) >= change.least
            new.where[tile] = 0.0
            new.totals[tile] = 0.0
            if not new.live[tile]:
                continue
            _gather(old, taps, start, begin, cells, count, closed, moved)
            _mix(moved, change, mixed)
            _read(grid, first, cells, weights, likelihood)
            likelihood[cells:] = 0.0
            arrived[:], columns[:] = 0.0, 0.0
            for k in range(speeds):
                mixed[k, cells:] = 0.0
                for i in range(size):
                    weighed = mixed[k, i] * weights.speeds[k]
                    arrived[i] += mixed[k, i]
                    columns[i] += weighed
                    new.mass[tile, k, i] = weighed * likelihood[i]
                    new.where[tile, i] += new.mass[tile, k, i]
                by_speed[k] += _add_up(new.mass[tile, k])
            predicted += _add_up(arrived)
            seen += _add_up(columns)
            new.totals[tile] = _add_up(new.where[tile])
    return predicted, new.totals.sum() / seen, by_speed
