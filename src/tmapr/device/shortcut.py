"""The short way to a lesson: a view that was observed as part of a frame is learned without reading K again."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.device.graphs import Recorded
from tmapr.places.lessons import BegunName, begin_name

Vector = Float[np.ndarray, " dim"]
Absorb = Callable[[Float[Tensor, " dim"], Int[Tensor, "1"], Float[Tensor, ""]], None]
"""Teaches a view that was observed last, of a place, with a weight."""


class Noted(NamedTuple):
    """A view that was observed as part of a frame, here and there."""

    view: Vector
    there: Float[Tensor, " dim"]
    rows: Float[np.ndarray, "3 features"]
    step: Vector
    """U's, when it was observed."""
    answers: Float[np.ndarray, " capacity"]
    """What each place's class answered to the view itself."""
    after: bytes
    """The last lesson by then."""
    generation: int
    """Of the classifier's tensors."""
    name: BegunName | None = None
    """Of the lesson that it may become: hashing its rows takes a third of a millisecond."""


class Shortcut:
    """Knows the view that the ridge was asked for last."""

    def __init__(self, absorb: Absorb, device: torch.device) -> None:
        self._absorb, self._device = absorb, device
        self._noted: Noted | None = None
        self._place = torch.zeros(1, dtype=torch.int64, device=device)
        self._weight = torch.ones((), dtype=torch.float64, device=device)
        self._recorded: tuple[Tensor, int, Recorded] | None = None
        self._aside: ThreadPoolExecutor | None = None
        """From the first lesson on: then others will come, and names are begun when views are noted."""

    def note(self, noted: Noted, count: int) -> None:
        """The last one, so many of whose rows are learned."""
        name = begin_name(noted.after, noted.rows[:count], self._aside) if self._aside else None
        self._noted = noted._replace(name=name)

    def forget(self) -> None:
        """The ridge is asked for something else."""
        self._noted = None

    def find(self, view: Vector, last: bytes, generation: int) -> Noted | None:
        """What was noted, if it is of this very view, and nothing was learned and nothing grew since."""
        noted = self._noted
        current = noted and noted.view is view and noted.after == last and noted.generation == generation
        return noted if current else None

    def take(self, place: int, weight: float) -> None:
        """Learn it, of this place and with this weight; whoever waits for it asks the device."""
        noted, self._noted = self._noted, None
        if noted is None:
            raise ValueError("nothing was noted that could be learned")
        self._aside = self._aside or ThreadPoolExecutor(max_workers=1)
        self._place.fill_(place)
        self._weight.fill_(weight)
        if not self._recorded or self._recorded[0] is not noted.there or self._recorded[1] != noted.generation:
            recorded = Recorded(lambda: self._absorb(noted.there, self._place, self._weight), self._device)
            self._recorded = noted.there, noted.generation, recorded
        self._recorded[2]()
