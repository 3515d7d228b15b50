"""Motion along the mapped route on a device: every reference and speed at once, nothing asked of the host.

As in `tracking.motion`, a cell's mass is spread evenly over its stretch, moved, and dealt out to the cells that it then
covers. Of each moved stretch only its two ends are looked for: the cells they lie in get their parts, and all between
them are noted as opened after the first and closed at the last, so that a running sum tells how much lies over a cell:

    mass of a cell = width · Σ (densities opened up to it, less those closed) + the parts of ends that lie in it

whatever the length of the stretch. The sums are of whole numbers, 2⁻⁶² of the probability each: their order does not
matter, so that any number of threads gives the same result, and where nothing lies the sum is exactly 0.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tmapr.tracking.route import Route
from tmapr.tracking.speeds import BACKWARDS, CHANGE, REDRAW, SPEEDS, make_prior

_WHOLE = 2.0**62
"""Parts of the probability that are counted: a view that fits weighs up to √e times, and a sum has 63 bits."""
_SPEEDS, _SLOWEST = len(SPEEDS), int(BACKWARDS.sum())
"""How many there are, and the first that is not backwards."""

Masses = Float[Tensor, "kinds speeds refs"]


class Lane(NamedTuple):
    """The route as it is driven along; most of it has a number for each reference."""

    here: Float[Tensor, " refs"]
    there: Float[Tensor, " refs"]
    """Where its cell begins and ends."""
    start: Float[Tensor, " refs"]
    stop: Float[Tensor, " refs"]
    """Of its traverse."""
    closed: Bool[Tensor, " refs"]
    lengths: Float[Tensor, " refs"]
    first: Int[Tensor, " refs"]
    last: Int[Tensor, " refs"]
    """References of its traverse."""
    shift: Float[Tensor, " refs"]
    """Metres by which its traverse is laid behind the others, for one search in all of them."""
    bounds: Float[Tensor, " refs"]
    """Where cells begin, with that shift."""
    loops: tuple[tuple[int, int], ...]
    """First reference of each traverse that closes, and the one after its last."""
    ways: Int[Tensor, "stood speeds"]
    """The way of each speed that drives, and of each that stood."""
    least: float
    """The narrowest cell, metres: no stretch is shorter."""
    widths: Float[Tensor, " refs"]
    """Of cells, in units of the narrowest and of what is counted."""


class Moves(NamedTuple):
    """How far mass moves, see `tracking.motion.Motion`; kinds of mass are what is on the map and what mimics it."""

    weights: Masses
    halt: Float[Tensor, " kinds"]
    near: Float[Tensor, " speeds"]
    far: Float[Tensor, " speeds"]
    reach: Float[Tensor, ""]


class Stretches(NamedTuple):
    """What becomes of a unit of mass at each reference, on each way."""

    first: Int[Tensor, "ways refs"]
    last: Int[Tensor, "ways refs"]
    """Cells that its ends lie in."""
    head: Float[Tensor, "ways refs"]
    tail: Float[Tensor, "ways refs"]
    """Parts in those."""
    density: Float[Tensor, "ways refs"]
    """A metre, of what goes beyond the first cell."""
    around: Bool[Tensor, "ways refs"]
    """Whether it goes over the end of a loop."""
    lost: Float[Tensor, "ways refs"]
    """What goes over an open end."""


def lay_lane(route: Route, device: torch.device) -> Lane:
    """The route's cells, on a device."""
    drive, drives = route.drive_of, np.arange(len(route.first))
    row = np.arange(len(route))
    here, there = route.edges[row + drive], route.edges[row + drive + 1]
    start, stop = route.edges[route.first + drives], route.edges[route.last + drives + 1]
    shift = np.cumsum([0.0, *(stop - start)[:-1]]) - start + start[0]

    def put(array: np.ndarray) -> Tensor:
        return torch.tensor(array, device=device)

    return Lane(
        here=put(here),
        there=put(there),
        start=put(start[drive]),
        stop=put(stop[drive]),
        closed=put(route.closed[drive]),
        lengths=put(route.lengths),
        first=put(route.first[drive]),
        last=put(route.last[drive]),
        shift=put(shift[drive]),
        bounds=put(here + shift[drive]),
        loops=tuple((int(route.first[d]), int(route.last[d]) + 1) for d in drives if route.closed[d]),
        ways=put(np.stack([np.arange(_SPEEDS), np.where(BACKWARDS, _SPEEDS, _SPEEDS + 1)])),
        least=(least := float((there - here).min())),
        widths=put((there - here) / (least * _WHOLE)),
    )


def make_turns() -> Float[np.ndarray, "speeds before"]:
    """How speeds change from view to view: see `tracking.motion.change_speeds`."""
    turns = (1.0 - REDRAW) * np.eye(_SPEEDS) + REDRAW * make_prior()[:, None]
    fastest = _SPEEDS - 1
    for k in range(_SLOWEST, _SPEEDS):
        turns[k, k] -= CHANGE
        turns[max(k - 1, _SLOWEST), k] += 0.5 * CHANGE
        turns[min(k + 1, fastest), k] += 0.5 * CHANGE
    return turns


def advance(lane: Lane, turns: Float[Tensor, "speeds speeds"], moves: Moves, mass: Masses) -> tuple[Masses, Tensor]:
    """Change speeds, and move; with what of each kind drove over an open end of each reference's traverse."""
    mixed = turns @ mass
    # Each speed drives its own way; what stood goes two more, back and ahead, whatever its speed.
    parts = torch.stack([mixed * moves.weights * (1.0 - moves.halt)[:, None, None], mixed * moves.halt[:, None, None]])
    stretches = _lay_stretches(lane, moves)
    way = lane.ways
    lost = (parts * stretches.lost[way][:, None]).sum(dim=(0, 2))
    return _deal_out(lane, stretches, way, parts), lost


def _lay_stretches(lane: Lane, moves: Moves) -> Stretches:
    """Where everything moves to."""
    span, count = moves.reach * lane.lengths, len(lane.lengths)
    still = torch.zeros_like(span)
    begin = torch.cat([lane.here + moves.near[:, None].expand(-1, count), torch.stack([lane.here - span, lane.here])])
    end = torch.cat([lane.there + moves.far[:, None].expand(-1, count), torch.stack([lane.there, lane.there + span])])
    loop, length = lane.stop - lane.start, end - begin
    everywhere = lane.closed & (length >= loop)
    begin = torch.where(lane.closed, lane.start + torch.remainder(begin - lane.start, loop), begin)
    begin = torch.where(everywhere | (lane.closed & (begin >= lane.stop)), lane.start, begin)
    length = torch.where(everywhere, loop, length)
    end = torch.where(everywhere, lane.stop, begin + length)
    around = lane.closed & (end > lane.stop)
    end = torch.where(around, end - loop, end)
    begin, end = (each.clamp(lane.start, lane.stop) for each in (begin, end))
    first, last = (_find_cell(lane, each) for each in (begin, end))
    apart = (first != last) | around
    density = 1.0 / length
    return Stretches(
        first=first,
        last=last,
        head=density * (torch.where(apart, lane.there[first], end) - begin),
        tail=torch.where(apart, density * (end - lane.here[last]), still),
        density=torch.where(apart, density, still),
        around=around,
        lost=torch.where(lane.closed, still, 1.0 - (end - begin) / length),
    )


def _find_cell(lane: Lane, at: Float[Tensor, "ways refs"]) -> Int[Tensor, "ways refs"]:
    """The reference whose cell a point of its traverse lies in."""
    found = torch.searchsorted(lane.bounds, (at + lane.shift).contiguous(), right=True) - 1
    return found.clamp(lane.first, lane.last)


def _deal_out(
    lane: Lane, stretches: Stretches, way: Int[Tensor, "stood speeds"], parts: Float[Tensor, "stood kinds speeds refs"]
) -> Masses:
    """The mass of every cell."""
    count = len(lane.here)
    dense = _count(parts * (lane.least * stretches.density)[way][:, None])
    ends = [_count(parts * each[way][:, None]) for each in (stretches.head, stretches.tail)]
    first, last = stretches.first[way], stretches.last[way]
    # One more than there are cells: what is opened after the last of all is closed there.
    opened = _add_up(count + 1, (first + 1, last), (dense, -dense))
    over = opened.cumsum(dim=-1)[..., :count]
    round_the_end = dense * stretches.around[way][:, None]
    for begin, end in lane.loops:
        over[..., begin:end] += round_the_end[..., begin:end].sum(dim=(0, 3))[..., None]
    return over * lane.widths + _add_up(count, (first, last), (ends[0], ends[1])).to(lane.widths.dtype) / _WHOLE


def _count(mass: Float[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """In whole parts."""
    return (mass * _WHOLE).round().to(torch.int64)


def _add_up(
    count: int, cells: tuple[Tensor, Tensor], parts: tuple[Tensor, Tensor]
) -> Int[Tensor, "kinds speeds cells"]:
    """The sum of parts in each cell, of those that drove and of those that stood."""
    kinds = parts[0].shape[1]
    sums = torch.zeros((kinds, _SPEEDS, count), dtype=torch.int64, device=parts[0].device)
    index = torch.cat([each[stood] for each in cells for stood in range(len(each))], dim=-1)
    return sums.scatter_add_(
        2, index.expand(kinds, -1, -1), torch.cat([each[stood] for each in parts for stood in range(len(each))], dim=-1)
    )


class Crossings(NamedTuple):
    """References at one spot with others; which those are, padded, and what share of theirs they give to each."""

    rows: Int[Tensor, " linked"]
    others: Int[Tensor, "linked most"]
    given: Float[Tensor, "linked most"]


def lay_crossings(route: Route, device: torch.device) -> Crossings | None:
    """The route's links; None where it has none."""
    if not len(route.links):
        return None
    order = np.argsort(route.links[:, 0], kind="stable")
    links = route.links[order]
    rows, begin, counts = np.unique(links[:, 0], return_index=True, return_counts=True)
    slot = np.arange(len(links)) - np.repeat(begin, counts)
    others = np.repeat(rows[:, None], counts.max(), axis=1)
    given = np.zeros(others.shape)
    at = np.searchsorted(rows, links[:, 0])
    others[at, slot] = links[:, 1]
    # Links go both ways: whoever is a target of a reference has it for a target, and gives each of its own as much.
    given[at, slot] = 1.0 / counts[np.searchsorted(rows, links[:, 1])]
    return Crossings(*(torch.tensor(each, device=device) for each in (rows, others, given)))


def hop(crossings: Crossings, share: Float[Tensor, ""], mass: Float[Tensor, "speeds refs"]) -> Tensor:
    """Give a share of what is at a crossing, in equal parts, to the other references there."""
    received = (mass[:, crossings.others] * crossings.given).sum(dim=-1)
    return mass.index_add(1, crossings.rows, share * (received - mass[:, crossings.rows]))
