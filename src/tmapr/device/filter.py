"""The route filter on a device: `tracking.filter`, with every decision a number there and every shape fixed.

A belief is a value of five tensors: a step makes another one, and whoever holds both may keep either. Nothing waits for
the host, so that a step can be recorded as a CUDA graph. What is pruned, who may return from where and which references
are peaks are decided as on the host; sums differ from its by rounding alone.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.device.groups import form_groups
from tmapr.device.motion import Masses, Moves, advance, hop, lay_crossings, lay_lane, make_turns
from tmapr.tracking.filter import ALIKE
from tmapr.tracking.route import Route
from tmapr.tracking.speeds import (
    ANYWHERE,
    BACKWARDS,
    CARRIED,
    FAR_VIEW,
    HALF_STEP,
    HALTED,
    HOP,
    LEAST,
    LEAVE,
    MIMIC,
    ODOMETRY_ERROR,
    PEAKS,
    PRUNED,
    REACH,
    RETURN,
    SPEEDS,
    START_OFF,
    STUCK,
    UNMASK,
    VIEW_SPREAD,
    make_prior,
)

Scalar = Float[Tensor, ""]
Columns = Float[Tensor, " refs"]


class RouteBelief(NamedTuple):
    """What `RouteFilter` owns: mass[0] is on the map, mass[1] mimics it."""

    mass: Masses
    off: Float[Tensor, " places"]
    reach: Float[Tensor, " places"]
    pace: Float[Tensor, " speeds"]
    begun: Scalar

    @property
    def where(self) -> Columns:
        """Probability of each reference."""
        return self.mass[0].sum(dim=0)

    @property
    def p_off(self) -> Scalar:
        """Probability of being off the map."""
        return self.off.sum() + self.mass[1].sum() + self.begun


class DeviceStep(NamedTuple):
    """`tracking.speeds.Step` as numbers on the device; metres are NaN where nobody told them."""

    seconds: Scalar
    change: Scalar
    metres: Scalar


class DeviceRouteFilter:
    """What beliefs over a route are moved and weighed by."""

    def __init__(self, route: Route, device: torch.device, pruned: float = PRUNED) -> None:
        self.route, self.device = route, device
        self.pruned, self.length = pruned, float(route.widths.sum())
        self.lane, self._crossings = lay_lane(route, device), lay_crossings(route, device)
        share = route.widths / self.length
        places, place_of = np.unique(route.places, return_inverse=True)
        weight = np.bincount(place_of, share, len(places))
        where = (share[:, None] * route.positions).T
        centres = np.column_stack([np.bincount(place_of, axis, len(places)) / weight for axis in where])
        self.extent = float(np.hypot(*np.ptp(centres, axis=0)))
        self.usual = float(np.median(route.lengths))
        self._places = form_groups(place_of, device)
        self.turns, self.prior, self.share, self.place_share, self.centres, self.place_of = (
            self.put(each) for each in (make_turns(), make_prior(), share, weight, centres, place_of)
        )
        self.positions = self.put(route.positions)
        self.log_lengths = self.put(np.log([*route.lengths, self.usual]))
        """Of references; the last one stands for what is off the map."""
        self.paces, self.backwards = self.put(np.abs(SPEEDS) * route.speed), self.put(BACKWARDS)
        self.rates = self.put(-np.array([LEAVE, HOP, RETURN, MIMIC, UNMASK]))
        unit = SPEEDS * route.speed
        self.units = self.put(np.sort([unit / HALF_STEP, unit * HALF_STEP], axis=0))
        self._slack = self.put(np.array([[-ODOMETRY_ERROR], [ODOMETRY_ERROR]]))
        self.longer = self.put(route.lengths - self.usual)
        self._anywhere = self._begin()

    def put(self, array: np.ndarray) -> Tensor:
        """Where the filter is."""
        return torch.tensor(array, device=self.device)

    def restart(self) -> RouteBelief:
        """Anywhere on the map, at any speed; or off it."""
        return self._anywhere

    def _begin(self) -> RouteBelief:
        anywhere = self.prior[:, None] * self.share
        return RouteBelief(
            mass=torch.stack([(1.0 - START_OFF) * anywhere, 0.5 * START_OFF * anywhere]),
            off=0.5 * START_OFF * self.place_share,
            reach=torch.full_like(self.place_share, ANYWHERE),
            pace=self.prior,
            begun=self.prior.new_zeros(()),
        )

    def measure_view(self, where: Columns) -> Scalar:
        """Metres of a new view where the camera may be."""
        return where @ self.longer + self.usual

    def measure_freshness(self, where: Columns) -> Scalar:
        """How much of a usual view's evidence is new, where views are shorter."""
        return (self.measure_view(where) / self.usual).clamp(max=1.0)

    def predict(self, belief: RouteBelief, step: DeviceStep) -> tuple[RouteBelief, Columns]:
        """Move everything; with what arrives at each reference from elsewhere, at speeds `pace`."""
        told, saturated = ~step.metres.isnan(), step.change >= FAR_VIEW
        seen = step.change.clamp(max=FAR_VIEW)
        metres = self._estimate_metres(belief, step, told, saturated)
        possible = (step.metres < 0) == self.backwards
        near, far = torch.where(
            told, possible * step.metres + self._slack * step.metres.abs(), self.units * step.seconds
        )
        fits = torch.where(told, possible[:, None].to(seen.dtype), self._weigh_views(step, seen, saturated))
        halt = HALTED * (1.0 - 0.75 * saturated.to(fits.dtype)) * (~told)
        moves = Moves(
            weights=torch.stack([fits[:, :-1], torch.ones_like(fits[:, :-1])]),
            halt=torch.stack([halt, torch.full_like(halt, STUCK)]),
            near=near,
            far=far,
            reach=2.0 * seen,
        )
        mass, over = advance(self.lane, self.turns, moves, belief.mass)
        moved, back = self._exchange(belief, mass, over, metres, fits[:, -1])
        # As long as the whole route takes: nothing is left of what was known.
        anew = (step.seconds * self.route.speed > self.length) & saturated & ~told
        return choose(anew, self.restart(), moved), torch.where(anew, 0.0, back)

    def _estimate_metres(self, belief: RouteBelief, step: DeviceStep, told: Tensor, saturated: Tensor) -> Scalar:
        """How far it is to the new view, in the mean."""
        seen = self.measure_view(belief.where) * step.change.clamp(max=FAR_VIEW)
        speeds = belief.mass[0].sum(dim=1) + belief.p_off * belief.pace
        driven = (speeds @ self.paces) * step.seconds
        return torch.where(told, step.metres.abs(), torch.where(saturated, torch.maximum(seen, driven), seen))

    def _weigh_views(self, step: DeviceStep, seen: Scalar, saturated: Tensor) -> Float[Tensor, "speeds places"]:
        """How well the change of view fits each way where views are so long, 1 being usual."""
        off = (self.paces * step.seconds).clamp(min=1e-9).log()[:, None] - (self.log_lengths + seen.log())
        off = torch.where(saturated, off.clamp(max=0.0), off)
        return (0.5 - (0.5 / VIEW_SPREAD**2) * off**2).clamp(min=LEAST).exp()

    def _exchange(
        self, belief: RouteBelief, mass: Masses, over: Tensor, metres: Scalar, usual: Tensor
    ) -> tuple[RouteBelief, Columns]:
        """Let what moved hop, leave the map, return to it, and be fooled or undeceived."""
        leaving, hopping, returning, masking, unmasked = -torch.expm1(self.rates * metres)
        on = mass[0] if self._crossings is None else hop(self._crossings, hopping, mass[0])
        left = leaving * on.sum(dim=0) + over[0]
        pace = (self.turns @ belief.pace) * usual
        fit = pace.sum()
        off, reach = belief.off * fit, belief.reach + REACH * metres
        back = self._arrive(returning * off, reach)
        begun = off.sum() * (1.0 - returning) * masking
        off = off * ((1.0 - returning) * (1.0 - masking))
        off = self._deal_out(off, fit * (mass[1].sum() * unmasked + over[1].sum()))
        came = self._places.add_up(left)
        whole = off + came
        fresh = 3.0 * self.route.spacing
        reach = torch.where(whole > 0, (off * reach + came * fresh) / whole.clamp(min=1e-300), reach)
        mass = torch.stack([(1.0 - leaving) * on, fit * (1.0 - unmasked) * mass[1]])
        return RouteBelief(mass, whole, reach, pace / fit, begun), back

    def _deal_out(self, off: Tensor, mass: Scalar) -> Tensor:
        """What is off the map with so much more of it, left from the same places as the rest."""
        total = off.sum()
        return off + mass * torch.where(total > 0, off / total, self.place_share)

    def _arrive(self, mass: Tensor, reach: Tensor) -> Columns:
        """Deal what returns from each place out over the references in its reach."""
        far = (mass < self.pruned) | (reach >= self.extent)
        apart = ((self.centres[:, None] - self.centres[None]) ** 2).sum(dim=-1)
        within = (apart <= (reach**2)[:, None]).to(mass.dtype)
        within.fill_diagonal_(1.0)
        dealt = torch.where(far, 0.0, mass) / (within @ self.place_share)
        back = dealt @ within + torch.where(far, mass, 0.0).sum()
        return back[self.place_of] * self.share

    def update(self, belief: RouteBelief, evidence: Columns, arriving: Columns) -> tuple[RouteBelief, Scalar]:
        """Weigh everything by the log-evidence of a view; with its logarithm in the whole."""
        sums = belief.mass.sum(dim=1)
        highest = evidence.max().clamp(min=0.0)
        likelihood = (evidence - highest).exp()
        carried, begun = CARRIED * sums[0].sum() * self.share, belief.begun * self.share
        there = torch.stack([(1.0 - CARRIED) * sums[0] + (arriving + carried), sums[1] + begun])
        off = belief.off * (-highest).exp()
        total = likelihood @ there.sum(dim=0) + off.sum()
        weights = likelihood / total
        seeds = torch.stack([
            arriving * belief.pace[:, None] + carried * self.prior[:, None], begun * belief.pace[:, None]
        ])  # fmt: skip
        kept = (weights * there > self.pruned)[:, None]
        stayed = torch.stack([(1.0 - CARRIED) * belief.mass[0], belief.mass[1]])
        mass = torch.where(kept, weights * (stayed + seeds), 0.0)
        settled = RouteBelief(mass, off / total, belief.reach, belief.pace, torch.zeros_like(belief.begun))
        return settled, total.log() + highest

    def weigh_map(self, belief: RouteBelief, odds: Scalar, told: Tensor | None = None) -> tuple[RouteBelief, Scalar]:
        """Weigh being on the map against being off it by log-odds of the view, unless they are not `told`.

        With what being on it is scaled by.
        """
        better = odds.exp()
        total = better * belief.mass[0].sum() + belief.p_off
        scales = torch.stack([better, torch.ones_like(better)]) / total
        if told is not None:
            scales = torch.where(told, scales, 1.0)
        return belief._replace(mass=belief.mass * scales[:, None, None], off=belief.off * scales[1]), scales[0]

    def find_peak(self, where: Columns, radius: float) -> tuple[Int[Tensor, ""], Scalar]:
        """The reference with the most probability around it, and that probability."""
        highest, rows = where.topk(min(PEAKS, len(where)))
        off = self.positions[rows][:, None] - self.positions[None]
        near = (off**2).sum(dim=-1) <= radius**2
        masses = torch.where(near, where, 0.0).sum(dim=1)
        # What holds nothing is no peak, unless nothing holds anything.
        masses = torch.where(highest > 0, masses, torch.where(highest[0] > 0, -1.0, masses))
        best = (masses >= ALIKE * masses.max()).to(torch.int8).argmax()
        return pick(rows, best), pick(masses, best)


def pick(among: Tensor, at: Int[Tensor, ""]) -> Tensor:
    """The line at a number that only the device knows; brackets would ask for it."""
    return among.index_select(0, at[None])[0]


def choose(condition: Tensor, one: RouteBelief, other: RouteBelief) -> RouteBelief:
    """One belief or the other."""
    return RouteBelief(*(torch.where(condition, *each) for each in zip(one, other, strict=True)))
