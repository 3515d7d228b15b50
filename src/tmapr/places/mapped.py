"""How A₀ learned each reference: after which others, and with which weights.

With grid, projections and references these make K and W again: U's steps follow from the views before each one.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.places.classifier import Classifier
from tmapr.places.settings import Places
from tmapr.types import Watch


def lay_out(settings: Places) -> dict[str, Array]:
    """Of what `arrays` gives with these settings."""
    points = len(settings.unscented.update_weights) if "unscented" in settings.use else 1
    return {"numbers": Array("i", "references", 0), "weights": Array("f", f"references {points}", 0)}


@dataclass(frozen=True, slots=True)
class MappedLessons:
    """By the rows of M₀."""

    numbers: Int[np.ndarray, " refs"]
    """How many references were learned before."""
    weights: Float[np.ndarray, "refs points"]
    """Of U's points, or of the view alone."""

    @property
    def order(self) -> Int[np.ndarray, " refs"]:
        """The rows in the order in which they were learned."""
        return np.argsort(self.numbers, kind="stable")

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs."""
        return {"numbers": self.numbers, "weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "MappedLessons":
        """The lessons that `arrays` described; ValueError where two were learned at once."""
        lessons = cls(arrays["numbers"], arrays["weights"])
        if not np.array_equal(np.sort(lessons.numbers), np.arange(len(lessons.numbers))):
            raise ValueError("the numbers of its lessons are not those from 0 on, each once")
        return lessons


@dataclass(frozen=True, slots=True)
class Learned:
    """What became of views, in the order in which they were learned: their places, and the weights they had."""

    places: Int[np.ndarray, " refs"]
    weights: Float[np.ndarray, "refs points"]


def learn_each(
    classifier: Classifier,
    descriptors: Float[np.ndarray, "refs dim"],
    positions: Float[np.ndarray, "refs 2"],
    watch: Watch,
) -> Learned:
    """Let a classifier learn views one after another, each with the weights that it finds itself."""
    lessons = (classifier.learn(descriptors[row].astype(float), positions[row]) for row in watch(range(len(positions))))
    told = [(lesson.place, lesson.weights) for lesson in lessons]
    return Learned(np.array([place for place, _ in told]), np.array([weights for _, weights in told]))
