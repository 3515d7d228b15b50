"""Which classifier answers: the one that taught itself, or the one that it began as.

Both are asked about views whose place the smoother is sure of, before those views are learned. The learned one may
answer while it is better, beyond luck, on views of places that it has lessons of, and it answers where the camera is
more likely at such a place than not: elsewhere a new condition is evidence for the places just visited, and a mean that
is not worse hides the few views that are, of which one can be enough to lose the way.
"""

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.artifacts.layout import Array
from tmapr.places.classifier import Classifier
from tmapr.places.lessons import Lesson

_MOST = 60.0
"""Views after which older ones fade."""
_ENOUGH = 10.0
"""Views from which on a mean is worth something."""
_DEVIATIONS = 2.0
"""Standard errors that are luck: neighbouring views err together, so one is too few."""
_LIKELY = 0.5

LAYOUT = {"passed": Array("b"), "tally": Array("f", "3")}
"""Of what `Guard.arrays` gives; `base.` holds the classifier that it began as, where there is one."""


class Tally:
    """Mean and variance of differences, of which the last ones count most."""

    def __init__(self) -> None:
        self.count, self.mean, self.variance = 0.0, 0.0, 0.0

    def add(self, value: float) -> None:
        """Count one more."""
        self.count = min(self.count + 1.0, _MOST)
        gain, off = 1.0 / self.count, value - self.mean
        self.mean += gain * off
        self.variance = (1.0 - gain) * (self.variance + gain * off**2)

    @property
    def luck(self) -> float:
        """By how much the mean may differ from what it would become."""
        return _DEVIATIONS * float(np.sqrt(self.variance / max(self.count, 1.0)))

    @property
    def better(self) -> bool:
        """Whether it is above nought, beyond luck."""
        return self.count >= _ENOUGH and self.mean > self.luck

    @property
    def worse(self) -> bool:
        """Whether it is below nought, beyond luck."""
        return self.count >= _ENOUGH and self.mean < -self.luck


class Guard:
    """Owns the classifier that was there before anything taught itself, and what both were worth since."""

    def __init__(self) -> None:
        self.base: Classifier | None = None
        self.tally = Tally()
        """The learned one's logarithm of the chance of the right place, less the base's."""
        self.passed = False
        """Whether the learned one may answer."""
        self.rollbacks = 0

    def choose(self, learned: Classifier, known: float) -> Classifier:
        """The one that answers; `known` is the probability of a place that the learned one has lessons of."""
        return learned if self.base is None or (self.passed and known >= _LIKELY) else self.base

    def begin(self, learned: Classifier) -> None:
        """Keep what is known before the first lesson of one's own."""
        if self.base is None:
            self.base = learned.continue_from(learned.arrays())

    def adopt(self, lesson: Lesson, vector: Float[np.ndarray, " dim"]) -> None:
        """Somebody taught the learned one: the base knows it, too."""
        if self.base is not None:
            self.base.adopt(lesson, vector)

    def unlearn(self, lesson: Lesson) -> None:
        """Somebody took a lesson back, one of theirs or one that was taught by oneself."""
        if self.base is not None and self.base.holds(lesson):
            self.base.unlearn(lesson)

    def judge(self, difference: float) -> None:
        """Count one more view. What changes the answer is beyond luck, or it would change back and forth."""
        self.tally.add(difference)
        self.passed = not self.tally.worse if self.passed else self.tally.better

    def moment(self) -> dict[str, np.ndarray]:
        """Everything that changes but the base, which is large."""
        tally = np.array([self.tally.count, self.tally.mean, self.tally.variance])
        return {"passed": np.array(self.passed), "tally": tally}

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        return self.moment() if self.base is None else self.moment() | put("base.", self.base.arrays())

    def restore(self, arrays: Arrays, learned: Classifier) -> None:
        """Continue from where `arrays` were taken; `learned` says what a classifier of this map is like."""
        self.passed = bool(arrays["passed"])
        self.tally.count, self.tally.mean, self.tally.variance = arrays["tally"].tolist()
        base = take(arrays, "base.")
        self.base = learned.continue_from(base) if base else None
