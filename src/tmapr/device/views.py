"""From a frame's comparison to the next belief on a device: `tracking.place.Placer`, up to what is told on the host.

Whether a frame is a new view is decided here: every frame does the same work, and one that shows what the last view
showed leaves everything as it was.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tmapr.device.filter import Columns, DeviceRouteFilter, DeviceStep, RouteBelief, Scalar, choose, pick
from tmapr.tracking.evidence import FLOOR
from tmapr.tracking.head import AT_FIRST, ERRS_ALIKE, USELESS
from tmapr.tracking.level import BEST, ENOUGH, FIRST, MOST, WORST
from tmapr.tracking.place import ELSEWHERE, LIKELY
from tmapr.tracking.placing import SURE
from tmapr.types import NANOSECONDS

_ALIGNED = 32
"""Numbers, of which each piece of a state takes whole ones: 256 bytes."""
NUMBERS = 9
"""Of what crosses to the host, before what there is of each reference and place."""


class Levels(NamedTuple):
    """`tracking.level.Levels`, of two measures."""

    means: Float[Tensor, "2 2"]
    variances: Float[Tensor, "2 2"]
    views: Float[Tensor, "2"]


class ViewState(NamedTuple):
    """Everything that changes with a frame."""

    belief: RouteBelief
    levels: Levels
    key: Float[Tensor, " dim"]
    """The last view's descriptor, if there was one."""
    begun: Bool[Tensor, ""]
    stamp: Int[Tensor, ""]
    seen: Scalar
    metres: Scalar
    """Since the last view, NaN where nobody told them."""
    peak: Int[Tensor, ""]
    p_place: Scalar


class Glimpse(NamedTuple):
    """A frame: how it compares with references in the order of M₀, and what the host knows of it."""

    descriptor: Float[Tensor, " dim"]
    similarity: Columns
    place: Columns
    cosine: Columns | None
    local: Columns
    """What local matches add to similarities, along the route; 0 where nobody looked."""
    stamp: Int[Tensor, ""]
    numbers: Float[Tensor, "7"]
    """Weights of similarity and place, metres since the last frame, the head's position and variance, and its trust."""


class Told(NamedTuple):
    """What crosses to the host: numbers, and what the belief and the comparison are along the route."""

    numbers: Float[Tensor, "9"]
    """Change, share, seconds, metres, metres a view, peak, its probability, that of mimics and of being off the map."""
    where: Columns
    off: Float[Tensor, " places"]
    reach: Float[Tensor, " places"]
    similarity: Columns
    place: Columns


class Evidence(NamedTuple):
    """What a frame says of each reference along the route."""

    log: Columns
    measures: Float[Tensor, "2 refs"]
    """Similarity and place, weighed; and the cosine: what levels are measured in."""


class ViewFilter:
    """Takes frames in."""

    def __init__(self, filter_: DeviceRouteFilter, radius: float) -> None:
        self.filter, self._radius = filter_, radius
        self._rows = torch.tensor(filter_.route.rows, device=filter_.device)

    def begin(self, dimension: int) -> ViewState:
        """Before the first frame of a drive."""
        zero = self.filter.share.new_zeros(())
        levels = Levels(zero.new_zeros(2, 2), zero.new_ones(2, 2), zero.new_zeros(2))
        stamp = torch.zeros_like(zero, dtype=torch.int64)
        begun = torch.zeros_like(zero, dtype=torch.bool)
        return ViewState(
            self.filter.restart(), levels, zero.new_zeros(dimension), begun, stamp, zero, zero, stamp, zero
        )

    def look(self, state: ViewState, frame: Glimpse) -> tuple[ViewState, Told]:
        """What is believed after a frame."""
        frame = self._order(frame)
        change = (1.0 - state.key @ frame.descriptor) / self.filter.route.view
        change = torch.where(state.begun, change, torch.inf)
        share, new = (change - state.seen).clamp(0.0, 1.0), change >= 1.0
        metres = state.metres + frame.numbers[2]
        seconds = torch.where(state.begun, (frame.stamp - state.stamp).to(change.dtype) / NANOSECONDS, 0.0)
        belief, levels, peak, p_place = self._take_view(state, frame, DeviceStep(seconds, change, metres))
        zero = torch.zeros_like(share)
        taken = ViewState(
            belief, levels, frame.descriptor, torch.ones_like(new), frame.stamp, zero, zero, peak, p_place
        )
        kept = state._replace(seen=torch.maximum(state.seen, change.clamp(max=1.0)), metres=metres)
        after = ViewState(
            choose(new, taken.belief, kept.belief),
            Levels(*(torch.where(new, *each) for each in zip(taken.levels, kept.levels, strict=True))),
            *(torch.where(new, *each) for each in zip(taken[2:], kept[2:], strict=True)),
        )
        where, mimics = after.belief.where, after.belief.mass[1].sum()
        view = self.filter.measure_view(where)
        numbers = [change, share, seconds, metres, view, after.peak.to(view.dtype), after.p_place, mimics]
        told = torch.stack([*numbers, after.belief.off.sum() + mimics])
        return after, Told(told, where, after.belief.off, after.belief.reach, frame.similarity, frame.place)

    def look_into(self, state: ViewState, frame: Glimpse, into: ViewState, told: Float[Tensor, " numbers"]) -> None:
        """Write it over another state, and what crosses into one tensor."""
        after, found = self.look(state, frame)
        keep(into, after)
        torch.cat(list(found), out=told)

    def _order(self, frame: Glimpse) -> Glimpse:
        """As the route was driven."""
        cosine = None if frame.cosine is None else frame.cosine[self._rows]
        return frame._replace(similarity=frame.similarity[self._rows], place=frame.place[self._rows], cosine=cosine)

    def _take_view(
        self, state: ViewState, frame: Glimpse, step: DeviceStep
    ) -> tuple[RouteBelief, Levels, Int[Tensor, ""], Scalar]:
        filter_, belief = self.filter, state.belief
        moved, came = filter_.predict(belief, step)
        belief, arriving = choose(state.begun, moved, belief), torch.where(state.begun, came, 0.0)
        new = filter_.measure_freshness(belief.where)
        evidence = self._weigh(frame, new, state.begun)
        belief, _ = filter_.update(belief, evidence.log, arriving)
        peak, p_place = filter_.find_peak(belief.where, self._radius)
        return self._weigh_level(state.levels, belief, evidence, new, peak, p_place)

    def _weigh(self, frame: Glimpse, new: Scalar, begun: Bool[Tensor, ""]) -> Evidence:
        """The log-evidence of every reference: see `tracking.evidence` and `tracking.head`."""
        share, numbers = self.filter.share, frame.numbers
        total = numbers[0] * (frame.similarity + frame.local) + numbers[1] * frame.place
        likely = (total - total.max()).exp()
        seen = new * (FLOOR + (1.0 - FLOOR) * likely / (likely @ share)).log()
        squared = ((self.filter.positions - numbers[3:5]) ** 2).sum(dim=1)
        nearest, variance = squared.min(), numbers[5]
        there = (-0.5 * (squared - nearest) / variance).exp()
        useless = 1.0 - (1.0 - USELESS) * (-0.5 * nearest / variance).exp()
        said = (useless + (1.0 - useless) * there / (there @ share)).log()
        said = said * (ERRS_ALIKE + (AT_FIRST - ERRS_ALIKE) * (~begun).to(said.dtype))
        return Evidence(
            torch.where(numbers[6] > 0, seen + said, seen),
            torch.stack([total, total if frame.cosine is None else frame.cosine]),
        )

    def _weigh_level(
        self,
        levels: Levels,
        belief: RouteBelief,
        evidence: Evidence,
        new: Scalar,
        peak: Int[Tensor, ""],
        p_place: Scalar,
    ) -> tuple[RouteBelief, Levels, Int[Tensor, ""], Scalar]:
        """Hold the match at the believed place against the drive's own, and against the best one elsewhere."""
        squared = ((self.filter.positions - pick(self.filter.positions, peak)) ** 2).sum(dim=1)
        elsewhere = squared > (ELSEWHERE * self._radius) ** 2
        here = torch.where(squared <= self._radius**2, evidence.measures, -torch.inf).amax(dim=1)
        wrong = torch.where(elsewhere, evidence.measures, -torch.inf).amax(dim=1)
        begun = _begin_levels(levels, here, wrong)
        told = elsewhere.any()
        belief, scale = self.filter.weigh_map(belief, new * _compare_levels(begun, here), told)
        # Scaled as a whole, it has the same peak.
        scaled = p_place * scale
        learned = _learn_levels(begun, torch.stack([here, wrong]), scaled, new)
        levels = Levels(*(torch.where(told, *each) for each in zip(learned, levels, strict=True)))
        return belief, levels, peak, scaled


def keep(state: ViewState, after: ViewState) -> None:
    """Write a state over another one, in few launches: a graph begins where it ended, at the same addresses."""
    torch._foreach_copy_(_list_tensors(state), _list_tensors(after))


class Room(NamedTuple):
    """A state in one piece of memory: written over another one, it is one copy."""

    whole: Float[Tensor, " numbers"]
    state: ViewState


def lay_room(state: ViewState) -> Room:
    """Room for such a state, with nothing in it yet."""
    tensors = _list_tensors(state)
    lengths = [-(-each.numel() // _ALIGNED) * _ALIGNED for each in tensors]
    whole = torch.empty(sum(lengths), dtype=torch.float64, device=state.key.device)
    pieces = [
        piece.view(like.dtype)[: like.numel()].view(like.shape)
        for piece, like in zip(torch.split(whole, lengths), tensors, strict=True)
    ]
    beliefs, levels = len(RouteBelief._fields), len(Levels._fields)
    belief = RouteBelief(*pieces[:beliefs])
    return Room(whole, ViewState(belief, Levels(*pieces[beliefs : beliefs + levels]), *pieces[beliefs + levels :]))


def split(crossed: Float[Tensor, " numbers"], references: int, places: int) -> Told:
    """What crossed in one piece."""
    return Told(*torch.split(crossed, [NUMBERS, references, places, places, references, references]))


def _list_tensors(state: ViewState) -> list[Tensor]:
    return [*state.belief, *state.levels, *state[2:]]


def _begin_levels(levels: Levels, here: Float[Tensor, "2"], wrong: Float[Tensor, "2"]) -> Levels:
    """What the first view says, where nothing was seen before."""
    means, variance = torch.stack([torch.maximum(here, wrong), wrong]), ((here - wrong).abs() / 2.0) ** 2 + 1e-6
    none = (levels.views == 0).all()
    return Levels(
        torch.where(none, means, levels.means),
        torch.where(none, variance, levels.variances),
        torch.where(none, FIRST, levels.views),
    )


def _compare_levels(levels: Levels, here: Float[Tensor, "2"]) -> Scalar:
    """Log-odds that a view whose best match is so good shows the map."""
    wrong = levels.means[1]
    right = torch.maximum(levels.means[0], wrong)
    seen = torch.minimum(here, right)
    variance = levels.variances.amax(dim=0) + 1e-9
    odds = ((seen - wrong) ** 2 - (seen - right) ** 2) / (2.0 * variance)
    return torch.where(levels.views[0] < ENOUGH, 0.0, odds.clamp(WORST, BEST).mean())


def _learn_levels(levels: Levels, seen: Float[Tensor, "2 2"], p_place: Scalar, new: Scalar) -> Levels:
    """Add a view whose place is certain, or at least likely."""
    views = (levels.views + new).clamp(max=MOST)
    gain, off = (new / views)[:, None], seen - levels.means
    learns = torch.stack([p_place > SURE, p_place > LIKELY])
    return Levels(
        torch.where(learns[:, None], levels.means + gain * off, levels.means),
        torch.where(learns[:, None], (1.0 - gain) * (levels.variances + gain * off**2), levels.variances),
        torch.where(learns, views, levels.views),
    )
