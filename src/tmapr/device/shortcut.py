"""The short way to a lesson: a view that was observed as part of a frame is learned without reading K again."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.device.crossing import Fetched
from tmapr.device.graphs import Moment, Recorded
from tmapr.places.lessons import BegunName, begin_name
from tmapr.places.triangle import RANK

Vector = Float[np.ndarray, " dim"]
Absorb = Callable[[Float[Tensor, " dim"], Int[Tensor, "1"], Float[Tensor, ""]], None]
"""Teaches a view that was observed last, of a place, with a weight."""


class Noted(NamedTuple):
    """A view that was observed as part of a frame, here and there."""

    view: Vector
    there: Float[Tensor, " dim"]
    take_down: "TakeDown"
    """Its rows, and U's step when it was observed; nobody waits for them but who learns it."""
    answers: Float[np.ndarray, " capacity"]
    """What each place's class answered to the view itself."""
    after: bytes
    """The last lesson by then."""
    generation: int
    """Of the classifier's tensors."""


class TakenDown(NamedTuple):
    """What a lesson is written down with."""

    rows: Float[np.ndarray, "k features"]
    step: Vector
    name: BegunName


TakeDown = Callable[[], TakenDown]


class Shortcut:
    """Knows the view that the ridge was asked for last."""

    def __init__(self, absorb: Absorb, device: torch.device) -> None:
        self._absorb, self._device = absorb, device
        self._noted: Noted | None = None
        self._sent = torch.zeros(2, dtype=torch.float64, device=device)
        self._place, self._weight = self._sent.view(torch.int64)[:1], self._sent[1]
        # A copy from memory that is not pinned would wait for all that the device has to do.
        self._to_send = torch.zeros(2, dtype=torch.float64, pin_memory=device.type == "cuda")
        self._arrived = Moment(device)
        self._recorded: tuple[Tensor, int, Recorded] | None = None
        self._aside: ThreadPoolExecutor | None = None
        """From the first lesson on: then others will come, and rows are hashed, a third of a millisecond, meanwhile."""

    def begin(self, crossing: Fetched, after: bytes, count: int) -> TakeDown:
        """What a lesson would be made of is on its way, as `rows`, of which so many are learned, and `step`."""
        take_down = partial(_take_down, crossing, after, count)
        return self._aside.submit(take_down).result if self._aside else take_down

    def note(self, noted: Noted) -> None:
        """The last one."""
        self._noted = noted

    def forget(self) -> None:
        """The ridge is asked for something else."""
        self._noted = None

    def find(self, view: Vector, last: bytes, generation: int) -> Noted | None:
        """What was noted, if it is of this very view, and nothing was learned and nothing grew since."""
        noted = self._noted
        current = noted and noted.view is view and noted.after == last and noted.generation == generation
        return noted if current else None

    def take(self, place: int, weight: float) -> TakenDown:
        """Learn it, of this place and with this weight; whoever waits for it asks the device."""
        noted, self._noted = self._noted, None
        if noted is None:
            raise ValueError("nothing was noted that could be learned")
        self._aside = self._aside or ThreadPoolExecutor(max_workers=1)
        self._arrived.wait()
        numbers = self._to_send.numpy()
        numbers[:1].view(np.int64)[0], numbers[1] = place, weight
        self._sent.copy_(self._to_send, non_blocking=True)
        self._arrived.record()
        if not self._recorded or self._recorded[0] is not noted.there or self._recorded[1] != noted.generation:
            recorded = Recorded(lambda: self._absorb(noted.there, self._place, self._weight), self._device)
            self._recorded = noted.there, noted.generation, recorded
        self._recorded[2]()
        return noted.take_down()


def _take_down(crossing: Fetched, after: bytes, count: int) -> TakenDown:
    """Copies: what crossed need not stay for the lesson's sake."""
    crossing.wait()
    rows = crossing["rows"].reshape(RANK, -1)[:count].copy()
    return TakenDown(rows, crossing["step"].copy(), begin_name(after, rows))
