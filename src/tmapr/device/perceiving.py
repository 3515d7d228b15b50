"""Counts in host memory become descriptors on the device: one copy in, one graph, and one copy out if it is asked for.

    counts ─ pinned ─▶ device ─ preparation ─▶ network, both heads ─▶ unit descriptor, pose, fault ─ pinned ─▶ host

Nothing between the copies asks the host anything. What is the host's still: judging whether a stream is frozen, its
turns, keypoints, and pictures that are to be smoothed. Who sees many images has two passes under way, each with memory
of its own: while one computes, the other is copied out and in.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby, repeat
from queue import LifoQueue
from threading import Lock, RLock

import numpy as np
import torch
from jaxtyping import Float, Float32, Shaped
from torch import Tensor, nn

from tmapr.device.fused_network import FusedNetwork
from tmapr.device.fused_preparation import ChoosePreparation, choose_preparation
from tmapr.device.graphs import Lane, Moment, Parts, Queue, Replayed, finish, staying_on
from tmapr.device.precision import lower_precision
from tmapr.device.preparation import FAULTS
from tmapr.device.triangle import runs_kernels
from tmapr.perception.eyes import AnyPicture, Outputs, Seen
from tmapr.perception.image import Image
from tmapr.perception.network import Network, move_network
from tmapr.types import Picture

_MOST_PASSES = 8
"""Kept at a time in a lane: a graph holds memory of its own, and a camera has one size."""
_LANES = 2
"""One computes while the other is copied; a third would only wait for them."""
POSE = 4
"""Numbers of a pose: normalised position, unit heading."""
_LEAST_LENGTH = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, slots=True)
class Shape:
    """Of what one pass is given."""

    images: int
    height: int
    width: int
    depth: np.dtype


class DeviceEye:
    """Prepares images and sees them on one device, in the precision of `dtype`; any number of threads may ask."""

    abreast = _LANES

    def __init__(
        self,
        network: Network,
        image: Image,
        size: tuple[int, int],
        device: str,
        dtype: torch.dtype = torch.float16,
        choose: ChoosePreparation = choose_preparation,
        assemble: "Assemble | None" = None,
    ) -> None:
        self._image = image
        self._size = size
        self.takes_counts = not image.bilateral
        self._choose, self._assemble = choose, assemble or SeeingNetwork
        self._device = torch.device(device)
        self._network = move_network(lower_precision(network, dtype), self._device).eval().requires_grad_(False)
        self.turn = RLock()
        """Whoever launches holds it until what the pass gives is put aside."""
        self._capturing = Lock()
        self._launched = Passes(Lane(self._device))
        # The one that was put back last comes first: who asks alone has all graphs once.
        self._lanes, queue = LifoQueue[Passes](), Queue(self._device)
        for _ in range(self.abreast):
            self._lanes.put(Passes(Lane(self._device, queue)))

    begins = False

    def begin(self, image: Picture) -> None:
        """Nothing is done before it is asked for: several streams may share it, and it knows none of them."""

    def see(self, prepared: Sequence[AnyPicture]) -> Seen:
        """What the network says, in as many passes as there are runs of images of one size."""
        passes = self._lanes.get()
        try:
            runs = _split_by_shape(prepared)
            return _join([self._begin(passes, _fill_up(run)).fetch().take(len(run)) for run in runs])
        finally:
            self._lanes.put(passes)

    def launch(self, images: Sequence[Picture]) -> "DevicePass":
        """Begin a pass over prepared images of one size and depth, on the current stream, and return at once.

        The pass is this eye's own: the next one over as many images of this size overwrites what it gives. For who
        holds its `turn`.
        """
        return self._begin(self._launched, images)

    def _begin(self, passes: "Passes", images: Sequence[Picture]) -> "DevicePass":
        height, width = images[0].shape
        shape = Shape(len(images), height, width, images[0].dtype)
        found = passes.kept.get(shape)
        if found is None:
            with self._capturing, staying_on(self._device), passes.lane.computing():  # torch captures one at a time
                found = DevicePass(self.build(shape), shape, self._device, passes.lane)
        passes.keep(shape, found)
        found.run(images)
        return found

    def build(self, shape: Shape) -> "SeeingNetwork":
        """What a pass over images of this shape is made of."""
        given = shape.height, shape.width
        if self._image.bilateral:
            return self._assemble(None, self._network)
        prepare = self._choose(self._image, given, shape.depth, self._size, self._device)
        return self._assemble(prepare.to(self._device), self._network)


class SeeingNetwork(nn.Module):
    """Counts, or pictures where the host prepares, become one row each: descriptor, pose if there is one, fault."""

    def __init__(self, prepare: nn.Module | None, network: Network | FusedNetwork) -> None:
        super().__init__()
        self.prepare = prepare
        self.network = network

    def forward(self, counts: Shaped[Tensor, "images height width"]) -> Float32[Tensor, "images _"]:
        """The rows; the code of a fault is their last number."""
        return finish(self.see(counts))

    def see(self, counts: Shaped[Tensor, "images height width"]) -> Parts[Float32[Tensor, "images _"]]:
        """The same in parts."""
        pictures, faults = self.prepare(counts) if self.prepare else (counts, counts.new_zeros(len(counts)))
        yield
        if isinstance(self.network, FusedNetwork):
            descriptors, *pose = yield from self.network.see(pictures)
        else:
            descriptors, *pose = self.network(pictures)
        return torch.cat([scale_rows(descriptors), *pose, faults.float()[:, None]], dim=1)


Assemble = Callable[[nn.Module | None, Network | FusedNetwork], SeeingNetwork]
"""What a pass is made of, from what prepares images, if anything does there, and the network."""


def scale_rows(descriptors: Float32[Tensor, "images dim"]) -> Float32[Tensor, "images dim"]:
    """To length 1 in float64, then the nearest float32: the numbers that the host makes and a file keeps."""
    if runs_kernels(descriptors.device) and find_spec("triton"):
        from tmapr.device.head_layers import scale_rows as scale_by_kernel

        return scale_by_kernel(descriptors.contiguous(), _LEAST_LENGTH)
    wide = descriptors.double()
    length = torch.linalg.vector_norm(wide, dim=1, keepdim=True)
    return (wide / length.clamp(min=_LEAST_LENGTH)).float()


class DevicePass:
    """The way of images of one shape: their pinned memory, the graph, and the rows that it gives."""

    def __init__(self, network: SeeingNetwork, shape: Shape, device: torch.device, lane: Lane) -> None:
        self._lane = lane
        self._device, pinned = device, device.type == "cuda"
        waiting = torch.from_numpy(np.zeros((shape.images, shape.height, shape.width), shape.depth))
        self._waiting = waiting.pin_memory() if pinned else waiting
        self._given = waiting.to(device, copy=True)
        with staying_on(self._device):
            self._run = Replayed(network.see, self._given)
            self._rows = self._run()
            self._copied, self._done = Moment(device), Moment(device)
        self._fetched = torch.zeros(self._rows.shape, pin_memory=pinned)
        self._pose = POSE if network.network.apr else 0

    def run(self, images: Sequence[Picture]) -> None:
        """Copy the images in and begin, in the lane."""
        with staying_on(self._device):
            self._copied.wait()  # the last images may still be on their way
            for place, image in zip(self._waiting.numpy(), images, strict=True):
                np.copyto(place, image)
            with self._lane.copying():
                self._given.copy_(self._waiting, non_blocking=True)
                self._copied.record()
            with self._lane.computing():
                self._rows = self._run()

    @property
    def rows(self) -> Float32[Tensor, "images _"]:
        """On the device: all that it gives; overwritten by the next pass."""
        return self._rows

    @property
    def descriptors(self) -> Float32[Tensor, "images dim"]:
        """On the device, of unit length; their numbers are those that the host sees."""
        return self._rows[:, : -1 - self._pose]

    @property
    def poses(self) -> Float32[Tensor, "images 4"] | None:
        """On the device: normalised position and unit heading, if there is a pose head."""
        return self._rows[:, -1 - self._pose : -1] if self._pose else None

    @property
    def rest(self) -> Float32[Tensor, "images _"]:
        """On the device: pose, if there is one, and fault."""
        return self._rows[:, -1 - self._pose :]

    @property
    def faults(self) -> Float32[Tensor, " images"]:
        """On the device: places in `FAULTS`."""
        return self._rows[:, -1]

    def fetch(self) -> Seen:
        """Wait for the rows and bring them to the host, in one copy."""
        with staying_on(self._device), self._lane.copying():
            self._fetched.copy_(self._rows, non_blocking=True)
            self._done.record()
        self._done.wait()
        return self.read(self._fetched.numpy().copy())

    def read(self, rows: Float[np.ndarray, "images _"]) -> Seen:
        """What rows mean that crossed to the host."""
        return self.read_rest(rows[:, : -1 - self._pose], rows[:, -1 - self._pose :])

    def read_rest(self, descriptors: Float[np.ndarray, "images dim"], rest: Float[np.ndarray, "images _"]) -> Seen:
        """The same, where descriptors crossed apart from pose and fault."""
        outputs = Outputs(descriptors, rest[:, :2], rest[:, 2:4]) if self._pose else Outputs(descriptors)
        return Seen(outputs, tuple(FAULTS[int(code)] for code in rest[:, -1]))


class Passes:
    """Those of one lane, by their shape; of too many, that which was used longest ago is given up."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.kept: OrderedDict[Shape, DevicePass] = OrderedDict()

    def keep(self, shape: Shape, used: DevicePass) -> None:
        """Remember one that is used now."""
        self.kept[shape] = used
        self.kept.move_to_end(shape)
        if len(self.kept) > _MOST_PASSES:
            self.kept.popitem(last=False)


def _split_by_shape(images: Sequence[AnyPicture]) -> Iterator[list[AnyPicture]]:
    """Runs of images of one size and depth, in their order."""
    for _, run in groupby(images, key=lambda image: (image.shape, image.dtype)):
        yield list(run)


def _fill_up(images: list[Picture]) -> list[Picture]:
    """To a power of two with the last one, so that the end of a recording needs no graph of its own."""
    full = 1 << (len(images) - 1).bit_length()
    return [*images, *repeat(images[-1], full - len(images))]


def _join(parts: list[Seen]) -> Seen:
    """Of all runs one after the other."""
    if len(parts) == 1:
        return parts[0]
    outputs = [part.outputs for part in parts]
    joined = (np.concatenate(found) for found in zip(*outputs, strict=True) if found[0] is not None)
    return Seen(Outputs(*joined), tuple(fault for part in parts for fault in part.faults))
