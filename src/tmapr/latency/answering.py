"""Made-up images on a device: every one is seen for the time it takes, then answered with what the map expects.

Which frame an image is of says the image itself (`workload.number_frames`): a graph asks nobody else.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float32, Int64, Shaped
from torch import Tensor, nn

from tmapr.device.fused_network import FusedNetwork
from tmapr.device.graphs import Parts
from tmapr.device.perceiving import SeeingNetwork
from tmapr.latency.workload import NUMBER_BASE
from tmapr.perception.network import Network
from tmapr.perception.normaliser import Normaliser
from tmapr.types import Percept


class Answers:
    """What is to be answered; until that is told, what the network says."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.rows: Float32[Tensor, "frames _"] | None = None

    def tell(self, percepts: Sequence[Percept], normaliser: Normaliser | None) -> None:
        """One percept a frame, before the first image is seen; with their poses, if there is a pose head."""
        rows = np.array([percept.descriptor for percept in percepts], np.float32)
        if normaliser:
            rows = np.column_stack([rows, _list_poses(percepts, normaliser)])
        self.rows = torch.from_numpy(rows).to(self._device)

    def assemble(self, prepare: nn.Module | None, network: Network | FusedNetwork) -> SeeingNetwork:
        """What a pass of the eye is made of."""
        return SeeingNetwork(prepare, network) if self.rows is None else _Answering(prepare, network, self.rows)


def _list_poses(percepts: Sequence[Percept], normaliser: Normaliser) -> Float32[np.ndarray, "frames 4"]:
    """Normalised positions, and headings east."""
    if any(percept.position is None for percept in percepts):
        raise ValueError("where there is a pose head, every percept has a position")
    positions = normaliser.normalise(np.array([percept.position for percept in percepts]))
    return np.column_stack([positions, np.ones(len(percepts)), np.zeros(len(percepts))]).astype(np.float32)


class _Answering(SeeingNetwork):
    def __init__(
        self, prepare: nn.Module | None, network: Network | FusedNetwork, answers: Float32[Tensor, "frames _"]
    ) -> None:
        super().__init__(prepare, network)
        self._answers = answers

    def see(self, counts: Shaped[Tensor, "images height width"]) -> Parts[Float32[Tensor, "images _"]]:
        """What is answered, and the fault that was found."""
        rows = yield from super().see(counts)
        answers = self._answers.index_select(0, _read_numbers(counts))
        return torch.cat([answers, rows[:, answers.shape[1] :]], dim=1)


def _read_numbers(counts: Shaped[Tensor, "images height width"]) -> Int64[Tensor, " images"]:
    # Torch knows few verbs for uint16: the same bits are read as int16, and their sign is taken off.
    digits = counts[:, 0, :2].contiguous().view(torch.int16).long() & (NUMBER_BASE - 1)
    return digits[:, 0] + NUMBER_BASE * digits[:, 1]
