"""Motion along the mapped route, compiled: mass moves from cell to cell, a line of cells for each speed.

A cell's mass is spread evenly over its stretch, moved, and dealt out to the cells that it then covers, in proportion to
the overlap. Nothing is lost: what drives over the end of a traverse that does not close is returned apart.
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


@compiled()
def _find_cell(edges, low, high, at):
    """The cell of edges[low] … edges[high] that holds a point; binary search."""
    while high - low > 1:
        middle = (low + high) // 2
        if edges[middle] <= at:
            low = middle
        else:
            high = middle
    return low


@compiled()
def _deal(edges, low, high, offset, start, stop, mass, out):
    """Deal mass out evenly from start to stop, both within edges[low] … edges[high]; cell j is row j − offset."""
    length = stop - start
    cell = _find_cell(edges, low, high, start)
    if length <= 0.0:
        out[cell - offset] += mass
        return
    while cell < high and edges[cell] < stop:
        overlap = min(stop, edges[cell + 1]) - max(start, edges[cell])
        if overlap > 0.0:
            out[cell - offset] += mass * overlap / length
        cell += 1


@compiled()
def deal(cells, drive, begin, end, mass, out):
    """Move mass to the stretch begin … end (metres along its traverse); returns what went over an open end."""
    edges, low, high, offset = cells.edges, cells.first[drive] + drive, cells.last[drive] + drive + 1, drive
    start, stop = edges[low], edges[high]
    around = stop - start
    length = end - begin
    if length < 0.0:
        length = 0.0
    if cells.closed[drive]:
        if length >= around:
            _deal(edges, low, high, offset, start, stop, mass, out)
            return 0.0
        begin = start + (begin - start) % around
        if begin >= stop:
            begin = start
        over = begin + length - stop
        if over <= 0.0:
            _deal(edges, low, high, offset, begin, begin + length, mass, out)
        else:
            share = over / length
            _deal(edges, low, high, offset, begin, stop, mass * (1.0 - share), out)
            _deal(edges, low, high, offset, start, start + over, mass * share, out)
        return 0.0
    inside_begin, inside_end = max(begin, start), min(begin + length, stop)
    if length <= 0.0:
        if begin < start or begin >= stop:
            return mass
        _deal(edges, low, high, offset, begin, begin, mass, out)
        return 0.0
    if inside_end <= inside_begin:
        return mass
    share = (inside_end - inside_begin) / length
    _deal(edges, low, high, offset, inside_begin, inside_end, mass * share, out)
    return mass * (1.0 - share)


@compiled()
def move(cells, belief, active, weights, near, far, halt, reach):
    """Move the mass of the active rows, one line a speed: by near[k] … far[k] metres, weighted by weights[k, place].

    The share `halt` stood for a while, so that its clock says nothing: it moves anywhere up to reach[k] lengths of its
    view, backwards where that is negative. Returns where all came to, and what of each row went over an open end.
    """
    out, over = np.zeros_like(belief), np.zeros(belief.shape[1])
    for k in range(belief.shape[0]):
        for place in range(len(active)):
            row = active[place]
            mass = belief[k, row]
            if mass <= 0.0:
                continue
            drive = cells.drive_of[row]
            begin, end = cells.edges[row + drive], cells.edges[row + drive + 1]
            driven, stood = mass * (1.0 - halt) * weights[k, place], mass * halt
            if driven > 0.0:
                over[row] += deal(cells, drive, begin + near[k], end + far[k], driven, out[k])
            if stood > 0.0:
                span = reach[k] * cells.lengths[row]
                start, stop = begin + min(span, 0.0), end + max(span, 0.0)
                over[row] += deal(cells, drive, start, stop, stood, out[k])
    return out, over
