"""What the route filter's kernels are given: addresses of all that never changes along a route, and room to work in.

Each value is a tuple of tensors, and goes to a kernel as it is.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.device.filter import Columns, DeviceRouteFilter, Scalar
from tmapr.device.motion import Lane, Masses
from tmapr.tracking.place import ELSEWHERE

BLOCK, PIECE = 128, 1024
"""References, and numbers of a descriptor, that a program looks at."""


class Cells(NamedTuple):
    """The route as it is driven along: see `Lane`."""

    here: Columns
    there: Columns
    start: Columns
    stop: Columns
    closed: Tensor
    lengths: Columns
    first: Tensor
    last: Tensor
    shift: Columns
    bounds: Columns
    widths: Columns
    lowest: Int[Tensor, " stretches"]
    highest: Int[Tensor, " stretches"]
    """Of equal stretches of the whole way: between which cells those that it touches lie, at either end one more."""


class Speeds(NamedTuple):
    """How speeds change, how usual each is, metres a second of each, and the least and the most of them.

    And the rates of leaving, hopping, returning, mimicking and being undeceived.
    """

    turns: Float[Tensor, "speeds speeds"]
    prior: Float[Tensor, " speeds"]
    paces: Float[Tensor, " speeds"]
    backwards: Float[Tensor, " speeds"]
    near: Float[Tensor, " speeds"]
    far: Float[Tensor, " speeds"]
    rates: Float[Tensor, "5"]


class References(NamedTuple):
    """Of references in the order they were driven."""

    rows: Int[Tensor, " refs"]
    share: Columns
    longer: Columns
    """Metres that a view there is longer than usual."""
    hopped: Columns
    """The same where what is there hops to."""
    log_lengths: Columns
    east: Columns
    north: Columns
    place_of: Int[Tensor, " refs"]
    anywhere: Float[Tensor, "kinds refs"]
    """Probability when a drive begins."""
    links_begin: Int[Tensor, " bounds"]
    links_to: Int[Tensor, " links"]
    """Others at the same spot, and what share of theirs each gives."""
    links_given: Float[Tensor, " links"]


class Places(NamedTuple):
    """Of places: which references they have, and who hops to those; with −1, who hops from them."""

    share: Float[Tensor, " places"]
    east: Float[Tensor, " places"]
    north: Float[Tensor, " places"]
    off: Float[Tensor, " places"]
    begins: Int[Tensor, " bounds"]
    members: Int[Tensor, " refs"]
    hops_begin: Int[Tensor, " bounds"]
    hops_from: Int[Tensor, " hops"]
    hops_given: Float[Tensor, " hops"]


class Fixed(NamedTuple):
    """Numbers that a route and a radius set; Python's own would reach a kernel as float32."""

    view: Scalar
    usual: Scalar
    log_usual: Scalar
    speed: Scalar
    length: Scalar
    fresh: Scalar
    """Reach of what has just left."""
    extent: Scalar
    pruned: Scalar
    least: Scalar
    begin: Scalar
    stretches: Scalar
    """Where the way begins, and how many equal stretches it has a metre."""
    near: Scalar
    elsewhere: Scalar
    """Square metres."""
    view_anywhere: Scalar
    on_anywhere: Scalar


class Ground(NamedTuple):
    """All that never changes."""

    cells: Cells
    speeds: Speeds
    references: References
    places: Places
    fixed: Fixed
    mass: Masses
    """When a drive begins."""


class Sizes(NamedTuple):
    """How much of everything there is."""

    references: int
    places: int
    dimension: int
    blocks: int
    pieces: int
    stretches: int
    steps: int
    """Halvings that find a cell in its stretch."""


def lay_ground(filter_: DeviceRouteFilter, radius: float) -> Ground:
    """What a filter knows of its route."""
    lane, begun, route = filter_.lane, filter_.restart(), filter_.route
    return Ground(
        cells=Cells(
            lane.here, lane.there, lane.start, lane.stop, lane.closed, lane.lengths, lane.first, lane.last, lane.shift,
            lane.bounds, lane.widths, *(filter_.put(each) for each in find_between(lane)),
        ),
        speeds=Speeds(
            filter_.turns, filter_.prior, filter_.paces, filter_.backwards.double(),
            filter_.units[0].contiguous(), filter_.units[1].contiguous(), filter_.rates,
        ),
        references=_lay_references(filter_),
        places=_lay_places(filter_),
        fixed=Fixed(*filter_.share.new_tensor([
            route.view, filter_.usual, np.log(filter_.usual), route.speed, filter_.length, 3.0 * route.spacing,
            filter_.extent, filter_.pruned, lane.least, *measure_stretches(lane), radius**2, (ELSEWHERE * radius) ** 2,
            float(filter_.measure_view(begun.where)), float(begun.mass[0].sum()),
        ]).unbind()),
        mass=begun.mass,
    )  # fmt: skip


def measure_stretches(lane: Lane) -> tuple[float, float]:
    """Where the way begins, and how many equal stretches it has a metre: two for each cell."""
    begin = float(lane.bounds[0])
    length = float(lane.bounds[-1] + lane.there[-1] - lane.here[-1]) - begin
    return begin, 2 * len(lane.bounds) / length


def find_between(lane: Lane) -> tuple[Int[np.ndarray, " stretches"], Int[np.ndarray, " stretches"]]:
    """The cell that each stretch begins in, and the one after its last; with a stretch more at each end, to be sure."""
    bounds, (begin, stretches) = lane.bounds.cpu().numpy(), measure_stretches(lane)
    at = np.arange(2 * len(bounds))
    lowest = np.searchsorted(bounds, begin + (at - 1) / stretches, side="right") - 1
    highest = np.searchsorted(bounds, begin + (at + 2) / stretches, side="right")
    return np.maximum(lowest, 0), highest


def _lay_references(filter_: DeviceRouteFilter) -> References:
    route, longer = filter_.route, filter_.longer.cpu().numpy()
    to, source, given = _list_links(filter_)
    hopped = np.bincount(source, given * longer[to], len(route))
    alone = np.bincount(source, minlength=len(route)) == 0
    put = filter_.put
    return References(
        rows=put(route.rows),
        share=filter_.share,
        longer=filter_.longer,
        hopped=put(np.where(alone, longer, hopped)),
        log_lengths=filter_.log_lengths,
        east=put(route.positions[:, 0]),
        north=put(route.positions[:, 1]),
        place_of=filter_.place_of,
        anywhere=filter_.restart().mass.sum(dim=1),
        links_begin=put(np.searchsorted(to, np.arange(len(route) + 1))),
        links_to=put(_pad(source)),
        links_given=put(_pad(given)),
    )


def _lay_places(filter_: DeviceRouteFilter) -> Places:
    place_of, put = filter_.place_of.cpu().numpy(), filter_.put
    bounds = np.arange(len(filter_.place_share) + 1)
    members = np.argsort(place_of, kind="stable")
    to, source, given = _list_links(filter_)
    linked = np.unique(to)
    hops_to, rows = place_of[np.concatenate([to, linked])], np.concatenate([source, linked])
    weights, order = np.concatenate([given, -np.ones(len(linked))]), np.argsort(hops_to, kind="stable")
    return Places(
        share=filter_.place_share,
        east=filter_.centres[:, 0].contiguous(),
        north=filter_.centres[:, 1].contiguous(),
        off=filter_.restart().off,
        begins=put(np.searchsorted(place_of[members], bounds)),
        members=put(members),
        hops_begin=put(np.searchsorted(hops_to[order], bounds)),
        hops_from=put(_pad(rows[order])),
        hops_given=put(_pad(weights[order])),
    )


def _list_links(filter_: DeviceRouteFilter) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Who receives, from whom, what share of the other's; in the order of who receives: see `lay_crossings`."""
    links = filter_.route.links[np.argsort(filter_.route.links[:, 0], kind="stable")]
    counts = np.bincount(links[:, 1], minlength=len(filter_.route))
    return links[:, 0], links[:, 1], 1.0 / np.maximum(counts, 1)[links[:, 1]]


def _pad(array: np.ndarray) -> np.ndarray:
    """Nothing has no address."""
    return array if len(array) else np.zeros(1, dtype=array.dtype)
