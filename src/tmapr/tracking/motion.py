"""Motion along the mapped route, compiled: mass moves from cell to cell, each speed by its own way.

A cell's mass is spread evenly over its stretch, moved, and dealt out to the cells that it then covers, in proportion to
the overlap. Nothing is lost: what drives over the end of a traverse that does not close is returned apart. Only rows
that hold something are looked at; `present` notes which come to hold something.
"""

from typing import NamedTuple

import numpy as np

from tmapr.compiled import compiled


class Cells(NamedTuple):
    """The route as compiled functions read it, see `Route`; row r of drive d lies between edges r + d and r + d + 1."""

    edges: np.ndarray
    first: np.ndarray
    last: np.ndarray
    closed: np.ndarray
    drive_of: np.ndarray
    lengths: np.ndarray


class Turns(NamedTuple):
    """How speeds change from view to view; given to compiled functions, which would keep an old number of a module."""

    prior: np.ndarray
    redraw: float
    change: float
    backwards: int
    """The speeds below this one are backwards and have no neighbours."""


class Motion(NamedTuple):
    """How far mass moves: by near[k] … far[k] metres at speed k, weighted by weights[place, k].

    The share `halt` stood for a while, so that its clock says nothing: it moves anywhere up to `reach` lengths of its
    view, back or ahead. One line of weights is that of all places.
    """

    weights: np.ndarray
    near: np.ndarray
    far: np.ndarray
    halt: float
    reach: float


@compiled()
def change_speeds(mass, turns, out):
    """The mass of each speed after it may have changed: to a neighbour, or to any."""
    redrawn = turns.redraw * mass.sum()
    first, last = turns.backwards, len(mass) - 1
    for k in range(len(mass)):
        out[k] = (1.0 - turns.redraw) * mass[k] + redrawn * turns.prior[k]
    for k in range(first, len(mass)):
        moved = 0.5 * turns.change * mass[k]
        out[k] -= 2.0 * moved
        out[max(k - 1, first)] += moved
        out[min(k + 1, last)] += moved


@compiled()
def weigh_views(ways, expected, saturated, spread, least):
    """How well a change of view fits each way, 1 being usual: [place, speed] from logarithms of metres."""
    weights = np.empty((len(expected), len(ways)))
    for place in range(len(expected)):
        for k in range(len(ways)):
            off = ways[k] - expected[place]
            if saturated and off > 0.0:
                off = 0.0
            weights[place, k] = np.exp(max(0.5 - 0.5 * (off / spread) ** 2, least))
    return weights


# Inlined, since a call that passes arrays costs more than what is done in it.
@compiled(inline="always")
def _find_cell(edges, low, high, at, hint):
    """The cell of edges[low] … edges[high] that holds a point: mostly that of the row before, or the next."""
    if low <= hint < high:
        if edges[hint] <= at:
            low = hint
            if at < edges[hint + 1]:
                high = hint + 1
            elif hint + 1 < high and at < edges[hint + 2]:
                low, high = hint + 1, hint + 2
        elif low < hint:
            high = hint
    while high - low > 1:
        middle = (low + high) // 2
        if edges[middle] <= at:
            low = middle
        else:
            high = middle
    return low


@compiled(inline="always")
def _cut(start, stop, closed, begin, end):
    """The stretch begin … end as it lies on a traverse, in two parts where that closes: their bounds and shares.

    What is missing of 1 in the shares lies beyond an open end.
    """
    length = max(end - begin, 0.0)
    first, second = (start, stop, 1.0), (start, start, 0.0)
    if closed and length < stop - start:
        if begin < start or begin >= stop:
            begin = start + (begin - start) % (stop - start)
            if begin >= stop:
                begin = start
        over = max(begin + length - stop, 0.0)
        share = over / length if over > 0.0 else 0.0
        first, second = (begin, min(begin + length, stop), 1.0 - share), (start, start + over, share)
    elif not closed and length > 0.0:
        inside = min(begin + length, stop) - max(begin, start)
        first = (max(begin, start), min(begin + length, stop), max(inside, 0.0) / length)
    elif not closed:
        first = (begin, begin, 1.0 if start <= begin < stop else 0.0)
    return first, second


@compiled()
def advance(cells, turns, motion, mass, rows, out, present):
    """Change the speeds of the rows' mass and move it from `mass`, which is emptied, to `out`.

    Returns what of each row went over an open end.
    """
    weights, near, far, halt = motion.weights, motion.near, motion.far, motion.halt
    over = np.zeros(len(mass))
    count, back = mass.shape[1], turns.backwards
    mixed, moved = np.empty(count), np.empty(count)
    hints = np.zeros(count + 2, dtype=np.int64)
    edges, lengths = cells.edges, cells.lengths
    for place in range(len(rows)):
        row = rows[place]
        drive = cells.drive_of[row]
        low, high, closed = cells.first[drive] + drive, cells.last[drive] + drive + 1, cells.closed[drive]
        here, there = edges[row + drive], edges[row + drive + 1]
        change_speeds(mass[row], turns, mixed)
        line = place % len(weights)
        for k in range(count):
            moved[k] = mixed[k] * (1.0 - halt) * weights[line, k]
        span = motion.reach * lengths[row]
        lost = 0.0
        # Each speed drives its own way; what stood goes two ways, back and ahead, whatever its speed.
        for way in range(count + 2 if halt > 0.0 else count):
            if way < count and moved[way] <= 0.0:
                continue
            if way < count:
                begin, end, slow, fast, part = here + near[way], there + far[way], way, way + 1, 1.0
            elif way == count:
                begin, end, slow, fast, part = here - span, there, 0, back, halt
            else:
                begin, end, slow, fast, part = here, there + span, back, count, halt
            driven = moved if way < count else mixed
            first, second = _cut(edges[low], edges[high], closed, begin, end)
            for start, stop, share in (first, second):
                if share <= 0.0:
                    continue
                cell = hints[way] = _find_cell(edges, low, high, start, hints[way])
                density = part * share / (stop - start) if stop > start else 0.0
                while True:
                    bound = min(stop, edges[cell + 1])
                    held = density * (bound - start) if density > 0.0 else part * share
                    present[cell - drive] = True
                    for k in range(slow, fast):
                        out[cell - drive, k] += held * driven[k]
                    start = bound
                    cell += 1
                    if bound >= stop or cell == high:
                        break
            if not closed:
                for k in range(slow, fast):
                    lost += part * (1.0 - first[2]) * driven[k]
        over[row] = lost
        mass[row] = 0.0
    return over


@compiled()
def hop(mass, rows, share, first, targets, spare, present):
    """Give a share of each row's mass, in equal parts, to its targets, which are targets[first[row]:first[row + 1]]."""
    for row in rows:
        present[row] = True
        count = first[row + 1] - first[row]
        for link in range(first[row], first[row + 1]):
            spare[targets[link]] += share / count * mass[row]
            present[targets[link]] = True
        if count:
            mass[row] *= 1.0 - share
    for row in rows:
        for link in range(first[row], first[row + 1]):
            mass[targets[link]] += spare[targets[link]]
            spare[targets[link]] = 0.0


@compiled()
def settle(mass, rows, kept, weights, share, columns, speeds):
    """Weigh the rows that are kept, each by weights[row]: a share of what it holds, and columns[i, row] · speeds[i].

    The other rows are emptied.
    """
    at = 0
    for row in rows:
        while at < len(kept) and kept[at] < row:
            at += 1
        if at == len(kept) or kept[at] != row:
            mass[row] = 0.0
    for row in kept:
        for k in range(mass.shape[1]):
            whole = share * mass[row, k]
            for seed in range(len(columns)):
                whole += columns[seed, row] * speeds[seed, k]
            mass[row, k] = weights[row] * whole


@compiled()
def scale(mass, rows, factor, sums):
    """Multiply the rows, and add each up into `sums`, which is 0 elsewhere."""
    sums[:] = 0.0
    for row in rows:
        total = 0.0
        for k in range(mass.shape[1]):
            mass[row, k] *= factor
            total += mass[row, k]
        sums[row] = total


@compiled()
def arrive(mass, reach, centres, share, least, extent):
    """Deal what returns from each place out over the places in its reach, as they are long.

    What is next to nothing may come from anywhere: thousands of such places would take seconds.
    """
    back = np.zeros(len(mass))
    anywhere = 0.0
    for place in range(len(mass)):
        if mass[place] <= 0.0:
            continue
        if mass[place] < least or reach[place] >= extent:
            anywhere += mass[place]
            continue
        square = reach[place] ** 2
        whole = 0.0
        for other in range(len(mass)):
            apart = (centres[other, 0] - centres[place, 0]) ** 2 + (centres[other, 1] - centres[place, 1]) ** 2
            if other == place or apart <= square:
                whole += share[other]
        for other in range(len(mass)):
            apart = (centres[other, 0] - centres[place, 0]) ** 2 + (centres[other, 1] - centres[place, 1]) ** 2
            if other == place or apart <= square:
                back[other] += mass[place] * share[other] / whole
    return back + anywhere * share
