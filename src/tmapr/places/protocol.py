"""What the rest of the system asks of A_t, wherever it is computed: on the CPU by `classifier`, or on a device."""

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays
from tmapr.places.grid import Grid
from tmapr.places.lessons import Kept, Ledger, Lesson
from tmapr.types import PlaceScores

Descriptor = Float[np.ndarray, " dim"]
Same = TypeVar("Same")
"""A classifier of one and the same kind."""


@runtime_checkable
class Weighing(Protocol):
    """K and W, as far as others look at them."""

    @property
    def dim(self) -> int:
        """The length of a row."""

    @property
    def weights(self) -> Float[np.ndarray, "dim classes"]:
        """W, read-only."""


@runtime_checkable
class PlaceClassifier(Protocol):
    """`predict` changes nothing; the others say what they change in `Classifier`."""

    @property
    def grid(self) -> Grid:
        """Its places."""

    @property
    def ridge(self) -> Weighing:
        """K and W."""

    @property
    def ledger(self) -> Ledger:
        """What is in it, by name."""

    @property
    def dimension(self) -> int:
        """The length of the descriptors it takes."""

    def predict(self, descriptor: Descriptor) -> PlaceScores:
        """Score every place."""

    def learn(self, descriptor: Descriptor, position: Float[np.ndarray, "2"]) -> Lesson:
        """Absorb a descriptor seen at a position."""

    def adopt(self, lesson: Lesson, descriptor: Descriptor) -> None:
        """Absorb what a copy learned."""

    def relearn(self, lesson: Lesson) -> None:
        """Absorb once more what was learned in this state."""

    def rebuild(self, kept: Kept) -> Lesson:
        """The lesson that something was kept of."""

    def unlearn(self, lesson: Lesson) -> None:
        """Take a lesson back."""

    def holds(self, lesson: Lesson) -> bool:
        """Whether a lesson is in it."""

    def neighbourhood(self, places: Sequence[int]) -> list[int]:
        """The places and those around them."""

    def continue_from(self: Same, learned: Arrays) -> Same:
        """Another one of the same map."""

    def return_to(self: Same, other: Same) -> None:
        """Know what another one knows."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything learned."""

    def projection_arrays(self) -> dict[str, np.ndarray]:
        """What was fitted at mapping time."""
