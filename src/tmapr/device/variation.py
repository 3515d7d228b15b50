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
        rows, width = arrays["means"].shape
        self._rows = rows
        self._means = torch.zeros((capacity, width), dtype=torch.float64, device=device)
        self._counts = torch.zeros(capacity, dtype=torch.float64, device=device)
        # The CPU's room doubles on its own schedule: of rows beyond this capacity none was ever seen.
        kept = min(rows, capacity)
        self._means[:kept] = torch.as_tensor(np.array(arrays["means"][:kept]))
        self._counts[:kept] = torch.as_tensor(np.array(arrays["counts"][:kept]))
        self._direction = torch.as_tensor(np.array(arrays["direction"])).to(device)
        self._samples = torch.as_tensor(float(arrays["samples"]), dtype=torch.float64).to(device)
        self.step = torch.zeros_like(self._direction)
        self._measure_step()

    @property
    def width(self) -> int:
        """The length of a descriptor."""
        return len(self._direction)

    def make_room(self, capacity: int) -> None:
        """Of more places; the tensors are other ones afterwards."""
        missing = capacity - len(self._counts)
        self._means = torch.cat([self._means, self._means.new_zeros((missing, self.width))])
        self._counts = torch.cat([self._counts, self._counts.new_zeros(missing)])

    def enter(self, place: int) -> None:
        """On the host: what is written down of a place has as many rows as the CPU's would."""
        missing = place + 1 - self._rows
        self._rows += max(missing, self._rows) if missing > 0 else 0

    def learn(self, descriptor: Float[Tensor, " dim"], place: Int[Tensor, "1"]) -> None:
        """Absorb one descriptor of a place."""
        seen = self._counts.index_select(0, place)
        deviation = descriptor - self._means.index_select(0, place)[0]
        self._counts.index_add_(0, place, torch.ones_like(seen))
        self._means.index_add_(0, place, (deviation / (seen + 1))[None])
        self._turn(deviation * torch.sqrt(seen / (seen + 1)), (seen[0] > 0).to(torch.float64))

    def _turn(self, deviation: Float[Tensor, " dim"], again: Float[Tensor, ""]) -> None:
        """Follow a deviation, where the place was seen before."""
        self._samples.add_(again)
        length = torch.linalg.vector_norm(self._direction)
        along = torch.dot(deviation, self._direction) / length
        pull = deviation * torch.where(length > 0, along, torch.linalg.vector_norm(deviation))
        self._direction.add_(again * (pull - self._direction) / self._samples.clamp_min(1.0))
        self._measure_step()

    def _measure_step(self) -> None:
        length = torch.linalg.vector_norm(self._direction)
        self.step.copy_(self._direction / torch.where(length > 0, length, 1.0).sqrt())

    def arrays(self) -> dict[str, np.ndarray]:
        """As `Variation.arrays` gives it; reads the device."""
        means, counts = np.zeros((self._rows, self.width)), np.zeros(self._rows)
        kept = min(self._rows, len(self._counts))
        means[:kept], counts[:kept] = self._means[:kept].cpu().numpy(), self._counts[:kept].cpu().numpy()
        direction, samples = self._direction.cpu().numpy().copy(), np.array(round(self._samples.item()))
        return {"means": means, "counts": counts, "direction": direction, "samples": samples}


class DevicePoints:
    """The rows that places are scored for: three sigma points with U, or the view and two rows of zeros without."""

    def __init__(self, unscented: Unscented | None, weight: float, device: torch.device) -> None:
        self._unscented = unscented
        mean = unscented.mean_weights if unscented else np.array([1.0, 0.0, 0.0])
        update = unscented.update_weights if unscented else np.array([weight, 0.0, 0.0])
        self.mean_weights = torch.as_tensor(mean).to(device)
        self.update_weights = torch.as_tensor(update).to(device)
        signs = unscented.spread * np.array([0.0, 1.0, -1.0]) if unscented else np.array([1.0, 0.0, 0.0])
        self._signs = torch.as_tensor(signs).to(device)[:, None]

    def spread(self, view: Float[Tensor, " dim"], step: Float[Tensor, " dim"]) -> Float[Tensor, "3 dim"]:
        """The points around a view, before any projection."""
        if self._unscented is None:
            return self._signs * view
        points = torch.addcmul(view, self._signs, step)
        if not self._unscented.on_sphere:
            return points
        lengths = torch.linalg.vector_norm(points, dim=1, keepdim=True)
        tiny = torch.finfo(torch.float64).tiny
        return torch.where(lengths > 0, points / lengths.clamp_min(tiny), view)
