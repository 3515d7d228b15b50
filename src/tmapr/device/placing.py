"""A placer whose filter runs on a device: a frame crosses to the host once.

On the device, of each frame: whether it is a new view, its order along the route, evidence of comparison and pose head,
motion, update, peak, levels and their running means; nothing of it waits for the host. What crosses is one array of
float64: nine numbers, the probability of each reference, what is off the map and its reach by place, and similarity
and place along the route: 8 · (9 + 3 references + 2 places) bytes, 484 kB for 20 000 references in 125 places.

On the host, from what crossed: dead reckoning and its doubts, the reading between references, the view for the
smoother, `Placing`, and all of the Kalman filter. No frame's work on the device needs what the host made of the one
before, but for eight numbers that go with it (64 bytes): weights of similarity and place, which labels change; metres
since the last frame; the pose head's position and trust, which certain places change; and the stamp. A doubted place is
doubted on the host alone. A frame that turns out to look like nothing mapped is dropped: the state before it is still
there, and stays the state until `observe` takes the next.

Local matches are looked for on the host, since they need its pictures: a frame that has them sends what they add to
each reference along the route, 160 kB for 20 000, and zeros stay there for all others.
"""

from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tmapr.artifacts.arrays import Arrays
from tmapr.device.filter import DeviceRouteFilter, RouteBelief
from tmapr.device.fused_views import choose_views
from tmapr.device.graphs import Recorded
from tmapr.device.views import NUMBERS, Glimpse, Levels, ViewState, keep, lay_room
from tmapr.tracking.around import Around
from tmapr.tracking.between import lay_between
from tmapr.tracking.evidence import spread_matches
from tmapr.tracking.filter import RouteFilter, list_modes
from tmapr.tracking.place import Placer
from tmapr.tracking.placing import DOUBTED, Found, Looked, Placing, describe, reckon
from tmapr.tracking.reckoning import Reckoning, Turned
from tmapr.tracking.route import Route
from tmapr.tracking.smoothing import View, keep_view
from tmapr.tracking.speeds import FAR_VIEW, Step
from tmapr.types import Comparison, Odometry, Percept

SENT = 8
"""Numbers that go with a frame: what `Glimpse` calls so, and the stamp, its bits as they are."""


class ToldHere(NamedTuple):
    """What crossed: see `views.Told`."""

    numbers: Float[np.ndarray, "9"]
    where: Float[np.ndarray, " refs"]
    off: Float[np.ndarray, " places"]
    reach: Float[np.ndarray, " places"]
    similarity: Float[np.ndarray, " refs"]
    place: Float[np.ndarray, " refs"]


class Ahead(NamedTuple):
    """A frame that was looked at before anybody asked where it is: how it compares, and what is believed then."""

    compared: Comparison
    told: Float[np.ndarray, " numbers"]


class FilterThere:
    """What the host may ask of a filter that runs elsewhere: answered by what crossed last."""

    def __init__(self, host: RouteFilter) -> None:
        self._host = host
        self.share = host.share
        self.where, self.off, self.reach = host.where, host.off, host.reach
        self._mimics = host.p_off - float(host.off.sum())

    def take(self, told: ToldHere) -> None:
        """What crossed."""
        self.where, self.off, self.reach = told.where, told.off, told.reach
        self._mimics = float(told.numbers[7])

    def list_modes(self) -> tuple[Float[np.ndarray, "points 2"], Float[np.ndarray, " points"]]:
        """See `RouteFilter`."""
        total = float(self.off.sum())
        dealt = self.off / total if total > 0 else self._host.place_share
        return list_modes(self._host.route, self._host.centres, self.where, self.off + self._mimics * dealt, self.reach)


class DevicePlacer:
    """Owns the belief over the route on a device, and on the host what is not worth its while."""

    def __init__(self, route: Route, radius: float, dimension: int, device: torch.device) -> None:
        self.route, self.radius = route, radius
        self.views = choose_views(DeviceRouteFilter(route, device), radius, dimension)
        self.around = Around(route, radius)
        self._between = lay_between(route, radius)
        self._dimension, self._device = dimension, device
        self._host = Placer(route, radius)
        """Learns from labels, and checks what is restored; its belief is not used."""
        self.scale, self.head = self._host.scale, self._host.head
        self.local = torch.zeros(len(route), dtype=torch.float64, device=device)
        """What local matches add to each reference along the route, in the frame that is looked at."""
        self._verified = False
        begin = self.views.begin(dimension)
        now, after = lay_room(begin), lay_room(begin)
        self.state, self._after = now.state, after.state
        self._keep = Recorded(lambda: now.whole.copy_(after.whole), device)
        refs, places = len(route), len(begin.belief.off)
        self._bounds = tuple(accumulate((NUMBERS, refs, places, places, refs, refs), initial=0))
        self.told = self.local.new_zeros(self._bounds[-1])
        self.new_drive()

    def new_drive(self) -> None:
        """Forget where the camera is; what was learned stays."""
        self._due = False
        """Whether what was looked at last is believed from the next frame on."""
        keep(self.state, self.views.begin(self._dimension))
        self.filter = FilterThere(RouteFilter(self.route))
        self._since: float | None = 0.0
        """Metres since the last frame that was looked at."""
        self._p_place = 0.0
        self.reckoning, self._turned = Reckoning(self.radius), Turned()
        self.view: View | None = None
        self._ahead: Ahead | None = None

    def start_around(self, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Near a position somebody told: see `RouteFilter`."""
        self.settle()
        host = RouteFilter(self.route)
        host.start_around(position, deviation)
        belief = self._put_belief(host.on, host.mimic, host.off, host.reach, host.pace)
        keep(self.state, self.state._replace(belief=belief))
        self.filter = FilterThere(host)

    def note_motion(self, motion: Odometry | None, seconds: float) -> None:
        """Add the way since the last frame, if anything measured it."""
        self._since = self.foresee_metres(motion, seconds)

    def foresee_metres(self, motion: Odometry | None, seconds: float) -> float | None:
        """Metres since the last frame that was looked at, if this is the way since the last one that came."""
        speed = motion.speed if motion else None
        return None if speed is None or self._since is None else self._since + speed * seconds

    def note_turn(self, turn: float | None) -> None:
        """Add the turn since the last frame that could be used, in radians, if anything told it."""
        self._turned.add(turn)

    def look(self, frame: Glimpse, told: Float[Tensor, " numbers"] | None = None) -> None:
        """On the device: what would be believed after a frame, and what would be told of it; all else is settled."""
        self.views.look_into(self.state, frame, self._after, self.told if told is None else told)

    def expect(self, ahead: Ahead) -> None:
        """The frame that is observed next was looked at already."""
        self._ahead = ahead

    def observe(self, percept: Percept, compared: Comparison, head: Float[np.ndarray, "2"] | None) -> Placing:
        """Take in a usable frame."""
        ahead, self._ahead = self._ahead, None
        if ahead is None or ahead.compared is not compared:
            ahead = self._look_now(percept, compared, head)
        self._since, self._due = 0.0, True
        return self._tell(ahead.told)

    def settle(self) -> None:
        """Believe what was observed: before the next frame is looked at, since nobody waits for it."""
        due, self._due = self._due, False
        if due:
            self._keep()

    def _look_now(self, percept: Percept, compared: Comparison, head: Float[np.ndarray, "2"] | None) -> Ahead:
        """At a frame that was compared on the host."""
        self.settle()
        sent = self._put(self.list_numbers(percept.stamp, self._since, head))
        cosine = None if compared.cosine is None else self._put(compared.cosine)
        self.send_local(compared)
        descriptor, similarity, place = map(self._put, (percept.descriptor, compared.similarity, compared.place))
        self.look(Glimpse(descriptor, similarity, place, cosine, self.local, *split_numbers(sent)))
        return Ahead(compared, self.told.cpu().numpy())

    def send_local(self, compared: Comparison | None) -> None:
        """What local matches add to each reference along the route; nothing where nobody looked."""
        spread = None
        if compared is not None and compared.local is not None:
            ordered = compared.take(self.route.rows)
            spread = spread_matches(ordered, self.route.positions, self.route.tree, self.radius).local
        if spread is not None:
            self.local.copy_(torch.from_numpy(spread))
        elif self._verified:
            self.local.zero_()
        self._verified = spread is not None

    def list_numbers(
        self, stamp: int, metres: float | None, head: Float[np.ndarray, "2"] | None
    ) -> Float[np.ndarray, "8"]:
        """What the host knows of a frame, in one piece."""
        numbers = np.empty(SENT)
        numbers[:2] = self.scale.weights
        numbers[2] = np.nan if metres is None else metres
        numbers[3:5] = (0.0, 0.0) if head is None else head
        numbers[5:7] = self.head.variance, float(head is not None and self.head.known)
        numbers[7:].view(np.int64)[0] = stamp
        return numbers

    def _tell(self, crossed: Float[np.ndarray, " numbers"]) -> Placing:
        """What is believed by now, from what crossed."""
        told = ToldHere(*(crossed[begin:end] for begin, end in pairwise(self._bounds)))
        self.filter.take(told)
        change, share, seconds, metres, view, peak, p_place, _, p_off = told.numbers.tolist()
        found = Found(self.filter.where, p_off, view, int(peak), p_place)
        self.view = None
        if change >= 1.0:
            self._p_place = p_place
            self._close_view(found, Step(seconds, change, None if np.isnan(metres) else metres))
        found = Found(self.filter.where, p_off, view, int(peak), self._p_place)
        looked = Looked(Comparison(told.similarity, told.place), self.scale.weights, share, change >= 1.0)
        return describe(self.route, self._between, self.around, found, looked)

    def _close_view(self, found: Found, step: Step) -> None:
        """Hold a new view against dead reckoning, and keep it for the smoother."""
        promised = found.metres_a_view * min(step.change, FAR_VIEW)
        driven = promised if step.metres is None or np.isinf(step.change) else abs(step.metres)
        doubted = reckon(self.reckoning, self._turned, step, found, self.route, self.around)
        self._p_place = DOUBTED if doubted else found.p_place
        self.view = keep_view(found.where, driven, DOUBTED if doubted else 1.0)
        self._turned = self._turned.begin_anew()

    def learn(self, percept: Percept, compared: Comparison, truth: Float[np.ndarray, "2"]) -> bool:
        """Score a labelled frame before it is learned: see `Placer`."""
        return self._host.learn(percept, compared, truth)

    def learned(self) -> dict[str, np.ndarray]:
        """What stays when a drive ends."""
        return self._host.learned()

    def restore_learned(self, arrays: Arrays) -> None:
        """Take up what was learned."""
        self._host.restore_learned(arrays)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes, as `Placer` has it."""
        self.settle()
        state, belief, levels = self.state, self.state.belief, self.state.levels
        key = {"key": _take(state.key)} if bool(state.begun) else {}
        metres = float(state.metres) + (np.nan if self._since is None else self._since)
        return key | self.learned() | {
            "on": _take(belief.mass[0]), "mimic": _take(belief.mass[1]), "off": _take(belief.off),
            "reach": _take(belief.reach), "pace": _take(belief.pace),
            "clock": np.array([int(state.stamp), int(state.peak)]),
            "view": np.array([float(state.seen), self._p_place]),
            "metres": np.array([] if np.isnan(metres) else [metres]),
            "levels": _take(torch.cat([levels.means, levels.variances])), "level_views": _take(levels.views),
            "reckoned": self.reckoning.numbers(), "turned": self._turned.numbers(),
        }  # fmt: skip

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` of this or of a `Placer` were taken."""
        self._host.restore(arrays)
        self.new_drive()
        self.reckoning = self._host.reckoning
        self._turned = Turned.from_numbers(arrays["turned"]) if "turned" in arrays else Turned()
        (stamp, peak), (seen, self._p_place) = arrays["clock"].tolist(), arrays["view"].tolist()
        metres = float(arrays["metres"][0]) if len(arrays["metres"]) else np.nan
        means, variances = np.split(arrays["levels"], 2)
        key = arrays.get("key", np.zeros(self._dimension))
        belief = self._put_belief(*(arrays[name] for name in ("on", "mimic", "off", "reach", "pace")))
        numbers = (self._put(np.array(each)) for each in ("key" in arrays, stamp, seen, metres, peak, self._p_place))
        levels = Levels(self._put(means), self._put(variances), self._put(arrays["level_views"]))
        keep(self.state, ViewState(belief, levels, self._put(key), *numbers))
        self.filter = FilterThere(self._host.filter)

    def _put_belief(self, on: np.ndarray, mimic: np.ndarray, *rest: np.ndarray) -> RouteBelief:
        off, reach, pace = (self._put(each) for each in rest)
        return RouteBelief(self._put(np.stack([on, mimic])), off, reach, pace, self.local.new_zeros(()))

    def _put(self, array: np.ndarray) -> Tensor:
        return torch.tensor(array, device=self._device)


def split_numbers(sent: Float[Tensor, "8"]) -> tuple[Tensor, Tensor]:
    """The stamp, and what `Glimpse` calls numbers."""
    return sent[7:].view(torch.int64)[0], sent[:7]


def _take(tensor: Tensor) -> np.ndarray:
    return tensor.cpu().numpy().copy()
