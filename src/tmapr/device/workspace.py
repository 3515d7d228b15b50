"""Room that the route filter's kernels work in: what each leaves for the next, overwritten with every frame."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.device.filter import Columns, Scalar
from tmapr.device.ground import Sizes
from tmapr.device.motion import Masses
from tmapr.tracking.speeds import PEAKS, SPEEDS

Blocks = Float[Tensor, " blocks"]
_KINDS = 2


class Parts(NamedTuple):
    """Sums of each block of references, or the largest there; `alike` is of pieces of the descriptor.

    Kernels read what lies one after the other by fours: before the motion, after it, and after the update.
    """

    alike: Float[Tensor, " pieces"]
    on: Blocks
    longer: Blocks
    driven: Blocks
    mimics: Blocks
    moved_on: Blocks
    moved_longer: Blocks
    moved_hopped: Blocks
    moved_mimics: Blocks
    kept_on: Blocks
    kept_longer: Blocks
    kept_mimics: Blocks
    chance: Blocks
    strayed: Blocks
    best: Blocks
    likely: Blocks
    closest: Blocks
    around: Blocks


class StepNumbers(NamedTuple):
    """What is known of the step, and of the frame as a whole."""

    new: Int[Tensor, ""]
    """Whether the frame shows a new view."""
    source: Int[Tensor, ""]
    """Where the belief comes from: 0 what moved, 1 what was there, 2 the beginning of a drive."""
    change: Scalar
    seconds: Scalar
    metres: Scalar
    view: Scalar
    """Metres of a new view, before the step."""
    leaving: Scalar
    hopping: Scalar
    ended: Scalar
    """Of mimics that moved, what is undeceived."""
    fit: Scalar
    staying: Scalar
    fooled: Scalar
    """Of what moved, what stays on the map and what goes on mimicking it."""
    outside: Scalar
    """Of what was off the map, what stays there."""
    begins: Scalar
    """Mimics, for a share of the way."""
    best: Scalar
    likely: Scalar
    closest: Scalar
    around: Scalar
    """What the evidence of the comparison and of the pose head is relative to."""
    fresh: Scalar
    carried: Scalar
    total: Scalar


class Workspace(NamedTuple):
    """All of it."""

    parts: Parts
    step: StepNumbers
    mixed: Masses
    moved: Masses
    opened: Int[Tensor, "kinds speeds refs"]
    ends: Int[Tensor, "kinds speeds refs"]
    """Zeros between frames."""
    chunks: Int[Tensor, "kinds speeds blocks"]
    before: Float[Tensor, "kinds refs"]
    columns: Float[Tensor, "kinds refs"]
    """Sums over speeds, before the motion and after it."""
    lost: Float[Tensor, "stood kinds refs"]
    """What drove over an open end, at a speed or from where it stood."""
    measures: Float[Tensor, "2 refs"]
    likely: Columns
    chances: Float[Tensor, "kinds refs"]
    pace: Float[Tensor, " speeds"]
    dealt: Float[Tensor, " places"]
    everywhere: Float[Tensor, " places"]
    grown: Float[Tensor, " places"]
    back: Float[Tensor, " places"]
    off: Float[Tensor, " places"]
    reach: Float[Tensor, " places"]
    tops: Float[Tensor, "blocks peaks"]
    top_rows: Int[Tensor, "blocks peaks"]
    heights: Float[Tensor, " peaks"]
    peaks: Int[Tensor, " peaks"]
    around: Float[Tensor, "blocks peaks"]
    peak: Int[Tensor, ""]
    p_place: Scalar
    here: Float[Tensor, "2 blocks"]
    wrong: Float[Tensor, "2 blocks"]


def make_workspace(sizes: Sizes, device: torch.device) -> Workspace:
    """Nothing but zeros."""
    masses, columns = (_KINDS, len(SPEEDS), sizes.references), (_KINDS, sizes.references)

    def numbers(*shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=device)

    def whole(*shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.int64, device=device)

    return Workspace(
        parts=Parts(numbers(sizes.pieces), *numbers(len(Parts._fields) - 1, sizes.blocks).unbind()),
        step=StepNumbers(*whole(2).unbind(), *numbers(len(StepNumbers._fields) - 2).unbind()),
        mixed=numbers(*masses),
        moved=numbers(*masses),
        opened=whole(*masses),
        ends=whole(*masses),
        chunks=whole(_KINDS, len(SPEEDS), sizes.blocks),
        before=numbers(*columns),
        columns=numbers(*columns),
        lost=numbers(2, *columns),
        measures=numbers(*columns),
        likely=numbers(sizes.references),
        chances=numbers(*columns),
        pace=numbers(len(SPEEDS)),
        dealt=numbers(sizes.places),
        everywhere=numbers(sizes.places),
        grown=numbers(sizes.places),
        back=numbers(sizes.places),
        off=numbers(sizes.places),
        reach=numbers(sizes.places),
        tops=numbers(sizes.blocks, PEAKS),
        top_rows=whole(sizes.blocks, PEAKS),
        heights=numbers(PEAKS),
        peaks=whole(PEAKS),
        around=numbers(sizes.blocks, PEAKS),
        peak=whole(),
        p_place=numbers(),
        here=numbers(2, sizes.blocks),
        wrong=numbers(2, sizes.blocks),
    )
