"""U on the device: how descriptors vary within places, and the three sigma points along that.

`places.unscented` says what it is. Here every place has a row from the start, a place is an index on the device, and
what a first visit leaves out is masked.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.artifacts.arrays import Arrays
from tmapr.places.unscented import Unscented

POINTS = 3


class DeviceVariation:
    """Running means of the places, and the main direction around them. `arrays` is that of `Variation`."""

    def __init__(self, arrays: Arrays, capacity: int, device: torch.device) -> None:
        width = arrays["means"].shape[1]
        self.means = torch.zeros((capacity, width), dtype=torch.float64, device=device)
        self.counts = torch.zeros(capacity, dtype=torch.float64, device=device)
        self.direction = torch.zeros(width, dtype=torch.float64, device=device)
        self.samples = torch.zeros((), dtype=torch.float64, device=device)
        self.step = torch.zeros_like(self.direction)
        self.restore(arrays)

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` of this or of `Variation` were taken; there is room for their places."""
        self._rows = len(arrays["counts"])
        # The CPU's room doubles on its own schedule: of rows beyond this capacity none was ever seen.
        kept = min(self._rows, len(self.counts))
        for mine, name in ((self.means, "means"), (self.counts, "counts")):
            mine.zero_()
            mine[:kept] = torch.as_tensor(np.array(arrays[name][:kept]))
        self.direction.copy_(torch.as_tensor(np.array(arrays["direction"])))
        self.samples.fill_(float(arrays["samples"]))
        self._measure_step()

    @property
    def width(self) -> int:
        """The length of a descriptor."""
        return len(self.direction)

    def make_room(self, capacity: int) -> None:
        """Of more places; the tensors are other ones afterwards."""
        missing = capacity - len(self.counts)
        self.means = torch.cat([self.means, self.means.new_zeros((missing, self.width))])
        self.counts = torch.cat([self.counts, self.counts.new_zeros(missing)])

    def enter(self, place: int) -> None:
        """On the host: what is written down of a place has as many rows as the CPU's would."""
        missing = place + 1 - self._rows
        self._rows += max(missing, self._rows) if missing > 0 else 0

    def learn(self, descriptor: Float[Tensor, " dim"], place: Int[Tensor, "1"]) -> None:
        """Absorb one descriptor of a place."""
        seen = self.counts.index_select(0, place)
        deviation = descriptor - self.means.index_select(0, place)[0]
        self.counts.index_add_(0, place, torch.ones_like(seen))
        self.means.index_add_(0, place, (deviation / (seen + 1))[None])
        self._turn(deviation * torch.sqrt(seen / (seen + 1)), (seen[0] > 0).to(torch.float64))

    def _turn(self, deviation: Float[Tensor, " dim"], again: Float[Tensor, ""]) -> None:
        """Follow a deviation, where the place was seen before."""
        self.samples.add_(again)
        length = torch.linalg.vector_norm(self.direction)
        along = torch.dot(deviation, self.direction) / length
        pull = deviation * torch.where(length > 0, along, torch.linalg.vector_norm(deviation))
        self.direction.add_(again * (pull - self.direction) / self.samples.clamp_min(1.0))
        self._measure_step()

    def _measure_step(self) -> None:
        length = torch.linalg.vector_norm(self.direction)
        self.step.copy_(self.direction / torch.where(length > 0, length, 1.0).sqrt())

    def arrays(self) -> dict[str, np.ndarray]:
        """As `Variation.arrays` gives it; reads the device."""
        means, counts = np.zeros((self._rows, self.width)), np.zeros(self._rows)
        kept = min(self._rows, len(self.counts))
        means[:kept], counts[:kept] = self.means[:kept].cpu().numpy(), self.counts[:kept].cpu().numpy()
        direction, samples = self.direction.cpu().numpy().copy(), np.array(round(self.samples.item()))
        return {"means": means, "counts": counts, "direction": direction, "samples": samples}


class DevicePoints:
    """The rows that places are scored for: three sigma points with U, or the view and two rows of zeros without."""

    def __init__(self, unscented: Unscented | None, weight: float, device: torch.device) -> None:
        mean = unscented.mean_weights if unscented else np.array([1.0, 0.0, 0.0])
        update = unscented.update_weights if unscented else np.array([weight, 0.0, 0.0])
        self.mean_weights = torch.as_tensor(mean).to(device)
        self.update_weights = torch.as_tensor(update).to(device)
        signs = unscented.spread * np.array([0.0, 1.0, -1.0]) if unscented else np.zeros(POINTS)
        views = np.ones(POINTS) if unscented else np.array([1.0, 0.0, 0.0])
        self.coefficients = torch.as_tensor(np.stack([views, signs])).to(device)
        """A point is the first of its two times the view, and the second times the step."""
        self.on_sphere = unscented is not None and unscented.on_sphere

    def spread(self, view: Float[Tensor, " dim"], step: Float[Tensor, " dim"]) -> Float[Tensor, "3 dim"]:
        """The points around a view, before any projection."""
        views, signs = self.coefficients[:, :, None]
        points = torch.addcmul(views * view, signs, step)
        if not self.on_sphere:
            return points
        lengths = torch.linalg.vector_norm(points, dim=1, keepdim=True)
        tiny = torch.finfo(torch.float64).tiny
        return torch.where(lengths > 0, points / lengths.clamp_min(tiny), view)
