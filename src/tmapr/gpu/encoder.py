"""Counts in host memory become descriptors and poses on a device: one copy in, one CUDA graph, one copy out.

A graph is captured for each number and size of images. What stays on the host: whether a stream is frozen, how far the
picture moved, keypoints, and pictures that are to be smoothed.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, repeat
from threading import Lock

import numpy as np
import torch
from jaxtyping import Float32, Shaped
from torch import Tensor, nn

from tmapr.gpu.precision import lower_precision
from tmapr.gpu.preparation import FAULTS, Preparation
from tmapr.perception.eyes import AnyPicture, Outputs, Seen
from tmapr.perception.image import Image
from tmapr.perception.network import Network, move_network

_MAX_GRAPHS = 8
"""Kept at a time: a graph holds memory of its own, and a camera has one size."""
_WARM_UPS = 3
"""Passes before a capture, in which libraries choose their kernels and take their workspaces."""
_POSE = 4
"""Numbers of a pose: normalised position, unit heading."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Of what one pass is given."""

    images: int
    height: int
    width: int
    depth: np.dtype


class GpuEncoder:
    """Prepares images and runs the network on them, in the precision of `dtype`; any number of threads may ask."""

    def __init__(
        self,
        network: Network,
        image: Image,
        size: tuple[int, int],
        device: str,
        dtype: torch.dtype = torch.float16,
        *,
        captures: bool = True,
    ) -> None:
        """Without `captures` it runs eagerly."""
        self.takes_counts = not image.bilateral
        self._image, self._size, self._device = image, size, torch.device(device)
        self._captures = captures and self._device.type == "cuda"
        self._network = move_network(lower_precision(network, dtype), self._device).eval().requires_grad_(False)
        self._pose = _POSE if network.apr else 0
        self._runs: OrderedDict[Shape, _Run] = OrderedDict()
        self._launching = Lock()

    def begin(self, prepared: Sequence[AnyPicture]) -> Callable[[], Seen]:
        """Launch all runs of images of one size; what gives the answer waits for them."""
        with self._launching, torch.inference_mode():
            launched = [(self._launch(_fill_up(images)), len(images)) for images in _split_by_shape(prepared)]
            done = mark_end(self._device)

        def finish() -> Seen:
            done()
            return self._read(np.concatenate([rows.numpy()[:count] for rows, count in launched]))

        return finish

    def _launch(self, images: list[AnyPicture]) -> Float32[Tensor, "images _"]:
        """Rows on their way to the host; the graph's own are overwritten by the next pass, behind that copy."""
        height, width = images[0].shape
        shape = Shape(len(images), height, width, images[0].dtype)
        run = self._runs.pop(shape, None) or _Run(self._build(shape), shape, self._device, self._captures)
        self._runs[shape] = run
        if len(self._runs) > _MAX_GRAPHS:
            self._runs.popitem(last=False)
        return run(images).to("cpu", non_blocking=True)

    def _build(self, shape: Shape) -> "PreparedNetwork":
        if not self.takes_counts:
            return PreparedNetwork(None, self._network)
        prepare = Preparation(self._image, (shape.height, shape.width), shape.depth, self._size)
        return PreparedNetwork(prepare.to(self._device), self._network)

    def _read(self, rows: Float32[np.ndarray, "images _"]) -> Seen:
        descriptors, rest = np.split(rows, [rows.shape[1] - 1 - self._pose], axis=1)
        outputs = Outputs(descriptors, rest[:, :2], rest[:, 2:4]) if self._pose else Outputs(descriptors)
        return Seen(outputs, tuple(FAULTS[int(code)] for code in rest[:, -1]))


class PreparedNetwork(nn.Module):
    """Counts, or pictures where the host prepares, become one row each: descriptor, pose if there is one, fault."""

    def __init__(self, prepare: nn.Module | None, network: Network) -> None:
        super().__init__()
        self.prepare, self.network = prepare, network

    def forward(self, counts: Shaped[Tensor, "images height width"]) -> Float32[Tensor, "images _"]:
        """The rows; the code of a fault is their last number."""
        pictures, faults = self.prepare(counts) if self.prepare else (counts, counts.new_zeros(len(counts)))
        return torch.cat([*self.network(pictures), faults.float()[:, None]], dim=1)


class _Run:
    """One computation on images of one shape, captured where that is wanted."""

    def __init__(self, compute: nn.Module, shape: Shape, device: torch.device, captures: bool) -> None:
        self._compute = compute
        empty = np.zeros((shape.images, shape.height, shape.width), shape.depth)
        self._given = torch.from_numpy(empty).to(device, copy=True)
        self._graph = torch.cuda.CUDAGraph() if captures else None
        if self._graph:
            with torch.cuda.device(device):
                aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
                aside.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(aside):
                    for _ in range(_WARM_UPS):
                        compute(self._given)
                torch.cuda.current_stream().wait_stream(aside)
                # Other threads may use the GPU meanwhile: what they do is none of this graph's.
                with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                    self._rows = compute(self._given)

    def __call__(self, images: Sequence[AnyPicture]) -> Float32[Tensor, "images _"]:
        self._given.copy_(torch.from_numpy(np.stack(images)))
        if self._graph is None:
            rows: Tensor = self._compute(self._given)
            return rows
        self._graph.replay()
        return self._rows


def mark_end(device: torch.device) -> Callable[[], object]:
    """What waits until all that was asked of the device so far is done."""
    if device.type != "cuda":
        return lambda: None
    with torch.cuda.device(device):
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record()
    return event.synchronize


def _split_by_shape(images: Sequence[AnyPicture]) -> Iterator[list[AnyPicture]]:
    """Runs of images of one size and depth, in their order."""
    for _, run in groupby(images, key=lambda image: (image.shape, image.dtype)):
        yield list(run)


def _fill_up(images: list[AnyPicture]) -> list[AnyPicture]:
    """To a power of two with the last one, so that the end of a recording needs no graph of its own."""
    full = 1 << (len(images) - 1).bit_length()
    return [*images, *repeat(images[-1], full - len(images))]
