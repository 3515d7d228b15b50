"""`ViewFilter` in eight Triton kernels: a frame's numbers cross to the host as they are written, in one piece.

A kernel ends where all of its programs' sums are needed at once:

    survey       speeds change; the frame in the order of the route; parts of the change of view
    note_moves   where what moves comes to lie; what returns from each place; the numbers of the step
    deal_out     what has moved; what returns to each place
    weigh        evidence and the chances that it leaves, with the best of each block; what is off the map
    rank_all     the best of all
    look_around  what lies around each of them
    match        the peak, and the best matches there and elsewhere
    settle       levels, the state after the frame, and what is told

The state before a frame stays as it was. Equal frames give equal bits: floats are summed up in a fixed order, and what
is added in any order are whole numbers.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from tmapr.device.filter import DeviceRouteFilter
from tmapr.device.ground import BLOCK, PIECE, Sizes, lay_ground
from tmapr.device.views import NUMBERS, Glimpse, Told, ViewFilter, ViewState, lay_room, split
from tmapr.device.workspace import make_workspace


class Launch(NamedTuple):
    """A kernel, how many programs of how many warps it has, and what it is given."""

    kernel: Callable[..., None]
    programs: int
    warps: int
    given: tuple[tuple[object, ...] | Tensor, ...]


class FusedViewFilter:
    """Takes frames in, whose descriptors have so many dimensions."""

    def __init__(self, filter_: DeviceRouteFilter, radius: float, dimension: int) -> None:
        self.filter = filter_
        self._plain = ViewFilter(filter_, radius)
        self._ground, count = lay_ground(filter_, radius), len(filter_.share)
        self._sizes = Sizes(
            references=count,
            places=len(filter_.place_share),
            dimension=dimension,
            blocks=-(-count // BLOCK),
            pieces=-(-dimension // PIECE),
            stretches=len(self._ground.cells.lowest),
            steps=int((self._ground.cells.highest - self._ground.cells.lowest).max()).bit_length(),
        )
        self._work = make_workspace(self._sizes, filter_.device)

    def begin(self, dimension: int) -> ViewState:
        """Before the first frame of a drive."""
        if dimension != self._sizes.dimension:
            raise ValueError(f"descriptors have {dimension} dimensions, expected {self._sizes.dimension}")
        return self._plain.begin(dimension)

    def look(self, state: ViewState, frame: Glimpse) -> tuple[ViewState, Told]:
        """What is believed after a frame."""
        into = lay_room(state).state
        count, places = self._sizes.references, self._sizes.places
        told = self.filter.share.new_empty(NUMBERS + 3 * count + 2 * places)
        self.look_into(state, frame, into, told)
        return into, split(told, count, places)

    def look_into(self, state: ViewState, frame: Glimpse, into: ViewState, told: Float[Tensor, " numbers"]) -> None:
        """Write it over another state, and what crosses into one tensor."""
        for kernel, programs, warps, given in self.list_launches(state, frame, into, told):
            kernel[(programs,)](*given, num_warps=warps)  # type: ignore[index]

    def list_launches(
        self, state: ViewState, frame: Glimpse, into: ViewState, told: Float[Tensor, " numbers"]
    ) -> list[Launch]:
        """The kernels of a frame, in their order."""
        from tmapr.device import (
            motion_kernels,
            off_map_kernels,
            peak_kernels,
            settle_kernels,
            survey_kernels,
            weigh_kernels,
        )

        ground, work, sizes = self._ground, self._work, self._sizes
        blocks, few = sizes.blocks, int(motion_kernels.FEW)
        moving, some_places = 4 * -(-sizes.references // few), -(-sizes.places // int(off_map_kernels.PLACES))
        before, after = (ground, work, state, frame), (into, told, sizes)
        return [
            Launch(survey_kernels.survey, 3 * blocks + sizes.pieces, 4, (*before, told, sizes)),
            Launch(motion_kernels.note_moves, moving + some_places + 2, 8, (*before, sizes)),
            Launch(motion_kernels.deal_out, 2 * blocks + some_places, 8, (ground, work, sizes)),
            Launch(weigh_kernels.weigh, blocks + sizes.places + 1, 8, (*before, sizes)),
            Launch(peak_kernels.rank_all, blocks, 8, (ground, work, sizes)),
            Launch(peak_kernels.look_around, blocks, 4, (ground, work, sizes)),
            Launch(peak_kernels.match, blocks, 4, (ground, work, sizes)),
            Launch(settle_kernels.settle, 2 * blocks + sizes.pieces + 1, 4, (*before, *after)),
        ]


Views = ViewFilter | FusedViewFilter


def choose_views(filter_: DeviceRouteFilter, radius: float, dimension: int) -> Views:
    """Triton's kernels where there are a GPU and Triton."""
    if filter_.device.type == "cuda" and find_spec("triton"):
        return FusedViewFilter(filter_, radius, dimension)
    return ViewFilter(filter_, radius)
