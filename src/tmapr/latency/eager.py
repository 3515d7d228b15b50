"""A frame as one would write it in PyTorch first: float32, step by step, K dense, the host asking as it goes.

What it leaves out makes it faster, not slower: the Kalman filter, the statistics of U and G, the drive's own mean. The
route filter is in float64, as its torch version is written.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import torch
from jaxtyping import Float, Float32, Shaped
from torch import Tensor, nn

from tmapr.artifacts.arrays import take
from tmapr.device.filter import DeviceRouteFilter
from tmapr.device.placing import DevicePlacer, split_numbers
from tmapr.device.preparation import Preparation
from tmapr.device.projecting import DeviceProjection
from tmapr.device.views import Glimpse, ViewFilter
from tmapr.latency.eager_recognition import EagerFound, EagerMap, EagerState, recognise_eagerly, spread_points
from tmapr.latency.sight import DeviceSight
from tmapr.latency.workload import Workload
from tmapr.places.classifier import Classifier
from tmapr.types import Picture

_LEAST_VARIANCE = 1e-3
_SHORTEST = 1e-12
_WEIGHT = 0.9
"""Of what a drive's views share, after some hundred of them."""


def fits(work: Workload) -> bool:
    """Whether the settings ask for what is written here."""
    return {"unscented", "mixture"} <= set(work.system.places.use) and not work.image.bilateral


@dataclass(slots=True)
class EagerRidge:
    """K and W of eq. (2), as it is written."""

    K: Float[Tensor, "features features"]
    W: Float[Tensor, "features places"]

    def learn(self, rows: Float[Tensor, "k features"], place: int, weights: Float[Tensor, " k"]) -> None:
        """Absorb weighted rows that all show one place."""
        roots = weights.sqrt()[:, None]
        X = roots * rows
        Y = torch.zeros((len(rows), self.W.shape[1]), dtype=X.dtype, device=X.device)
        Y[:, place] = roots[:, 0]
        gain = self.K @ X.T
        innovation = torch.eye(len(rows), dtype=X.dtype, device=X.device) + X @ gain
        self.W += gain @ torch.linalg.solve(innovation, Y - X @ self.W)
        self.K -= gain @ torch.linalg.solve(innovation, gain.T)


class EagerFrame:
    """One frame after the other, from an image in host memory to what the route filter believes, and the update."""

    def __init__(self, work: Workload, sight: DeviceSight, placer: DevicePlacer) -> None:
        self._device, self._retrieval = sight.device, work.system.retrieval
        self._network = deepcopy(sight.network).to(self._device)
        shape, depth = work.frames[0].image().shape, work.frames[0].image().dtype
        self._prepare: nn.Module = Preparation(work.image, (shape[0], shape[1]), depth, work.size).to(self._device)
        classifier, memory = work.environment.classifier(), work.environment.memory
        self._known = self._put_map(work, classifier)
        self.state = self._put_state(work, classifier)
        self.ridge = EagerRidge(self.state.K, self.state.W)
        self.weights = self._put(work.system.places.unscented.update_weights)
        self._attenuation, self._shared = work.system.places.attenuation, self._put(memory.mean)
        self._views = ViewFilter(DeviceRouteFilter(placer.route, self._device), placer.radius)
        self._placer, self._believed = placer, self._views.begin(memory.descriptors.shape[1])
        self._answers = sight.answers.rows

    def _put(self, array: np.ndarray) -> Float32[Tensor, "..."]:
        return torch.tensor(np.asarray(array, np.float32), device=self._device)

    def _put_map(self, work: Workload, classifier: Classifier) -> EagerMap:
        memory = work.environment.memory
        return EagerMap(
            self._put(memory.descriptors),
            self._put(memory.positions),
            torch.tensor(memory.places, device=self._device),
            torch.tensor(memory.probes, device=self._device),
            self._put(memory.mean),
            self._put(memory.sharing),
            classifier.neighbourhood,
        )

    def _put_state(self, work: Workload, classifier: Classifier) -> EagerState:
        fitted, learned = work.environment.fitted, classifier.arrays()
        gaussians, direction = take(learned, "mixtures."), learned["variation.direction"]
        exact = DeviceProjection.of(work.system.places.projection.load(fitted), self._device)
        project = DeviceProjection(*(None if each is None else each.float() for each in (exact.axes, exact.offset)))
        axes = fitted["reducer.axes"]
        return EagerState(
            self._put(classifier.ridge.covariance),
            self._put(classifier.ridge.weights),
            classifier.ridge.ridge,
            self._put(direction / np.sqrt(max(float(np.linalg.norm(direction)), _SHORTEST))),
            self._put(axes),
            self._put(fitted["reducer.mean"] @ axes),
            self._put(gaussians["counts"]),
            self._put(gaussians["means"]),
            self._put(np.maximum(gaussians["variances"], _LEAST_VARIANCE)),
            project,
        )

    def step(self, image: Picture, number: int, stamp: int) -> None:
        """The whole way of a frame."""
        descriptor = self.see(self.prepare(self.copy_in(image)), number)
        found = self.recognise(descriptor)
        self.locate(descriptor, found, stamp)
        self.learn(descriptor, int(self._known.places[found.best]))

    def copy_in(self, image: Picture) -> Shaped[Tensor, "1 height width"]:
        """From the memory that a camera's driver fills."""
        return torch.from_numpy(image)[None].to(self._device)

    def prepare(self, counts: Shaped[Tensor, "1 height width"]) -> Shaped[Tensor, "1 _ _"]:
        """The picture."""
        pictures: Tensor = self._prepare(counts)[0]
        return pictures

    def see(self, picture: Shaped[Tensor, "1 _ _"], number: int) -> Float32[Tensor, " dim"]:
        """The descriptor; where images are made up, the one that is expected."""
        seen: Tensor = self._network(picture)[0][0]
        descriptor = seen if self._answers is None else self._answers[number, : len(seen)]
        return descriptor / descriptor.norm()

    def recognise(self, descriptor: Float32[Tensor, " dim"]) -> EagerFound:
        """What it looks like."""
        return recognise_eagerly(self._retrieval, self._known, self.state, descriptor, self._shared, _WEIGHT)

    def locate(
        self, descriptor: Float32[Tensor, " dim"], found: EagerFound, stamp: int
    ) -> Float[np.ndarray, " numbers"]:
        """What is believed then, on the host."""
        sent = torch.tensor(self._placer.list_numbers(stamp, None, None), device=self._device)
        similarity, place, cosine = (each.double() for each in (found.similarity, found.place, found.cosine))
        frame = Glimpse(
            descriptor.double(), similarity, place, cosine, torch.zeros_like(similarity), *split_numbers(sent)
        )
        self._believed, told = self._views.look(self._believed, frame)
        return torch.cat(list(told)).cpu().numpy()

    def multiply(self, descriptor: Float32[Tensor, " dim"]) -> Float[Tensor, "2 refs"]:
        """The search's read."""
        return torch.stack([descriptor - _WEIGHT * self._shared, descriptor]) @ self._known.descriptors.T

    def observe(
        self, rows: Float32[Tensor, "3 features"]
    ) -> tuple[Float[Tensor, "3 places"], Float[Tensor, " features"]]:
        """The read of K and W."""
        return rows @ self.ridge.W, self.ridge.K @ rows[0]

    def spread(self, descriptor: Float32[Tensor, " dim"]) -> Float32[Tensor, "3 features"]:
        """The rows of a view."""
        return spread_points(self.state, descriptor)

    def learn(self, descriptor: Float32[Tensor, " dim"], place: int) -> None:
        """The update."""
        rows = self.spread(descriptor)
        residual = -(rows[0] @ self.ridge.W)
        residual[place] += 1.0
        bound, gain, floor = self._attenuation.bound, self._attenuation.gain, self._attenuation.floor
        self.ridge.learn(rows, place, self.weights * (bound / (bound + gain * residual.norm())).clamp(floor, 1.0))


def widen(ridge: EagerRidge) -> EagerRidge:
    """The same in float64, which K needs when it has learned for long."""
    return EagerRidge(ridge.K.double(), ridge.W.double())


def repeat_frames(frame: EagerFrame, work: Workload) -> Callable[[], None]:
    """One whole frame a call, of the workload's, in their order."""
    shown = cycle(work.frames)

    def step() -> None:
        given = next(shown)
        frame.step(given.image(), given.index, given.stamp)

    return step
