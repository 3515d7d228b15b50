"""Which classifier answers: the self-trained one or its base, the one that it began as; and when to go back to that.

Both are asked about each proven view before it is learned. The learned one answers while it is significantly better on
places that it has lessons of, and where the camera is more likely at such a place than not: elsewhere a new condition
is evidence for the places just visited.

A label is contradicted where the base, which no label has taught, sees less evidence for it than for the mean of the
route. Doubt is Page's cumulative sum over the labels: the log-likelihood ratio of one wrong label in five to the few
that are contradicted always, never below 0. At the alarm, or if the learned one is significantly worse than the base,
all self-training is taken back, and nothing is learned before the doubt is gone, which takes longer each time.
"""

import logging
from dataclasses import astuple, dataclass

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
_USUAL, _WRONG = 0.02, 0.2
"""Shares of labels that are contradicted: of right ones, and where one label in five is wrong."""
_AGAINST, _FOR = float(np.log(_WRONG / _USUAL)), float(np.log((1.0 - _WRONG) / (1.0 - _USUAL)))
"""What a label that is contradicted adds to the doubt, and one that is not."""
_ALARM = 12.0
"""Doubt at which labels are not believed any more: six that are contradicted in a row. Four right ones were seen to."""

LAYOUT = {
    "passed": Array("b"),
    "tally": Array("f", "3"),
    "doubt": Array("f", "", 0),
    "resting": Array("b"),
    "rollbacks": Array("i", "", 0),
}
"""Of what `Guard.arrays` gives; `base.` holds the classifier that it began as, where there is one."""
_log = logging.getLogger("tmapr")


@dataclass(slots=True)
class Tally:
    """Mean and variance of differences, of which the last ones count most."""

    count: float = 0.0
    mean: float = 0.0
    variance: float = 0.0

    def add(self, value: float) -> None:
        """Count one more."""
        self.count = min(self.count + 1.0, _MOST)
        gain, off = 1.0 / self.count, value - self.mean
        self.mean += gain * off
        self.variance = (1.0 - gain) * (self.variance + gain * off**2)

    @property
    def trend(self) -> int:
        """1 where the mean is significantly above 0, -1 where it is below, else 0."""
        significant = self.count >= _ENOUGH and abs(self.mean) > _DEVIATIONS * np.sqrt(self.variance / self.count)
        return int(np.sign(self.mean)) if significant else 0


class Guard:
    """Owns the classifier that was there before anything taught itself, and what both were worth since."""

    def __init__(self) -> None:
        self.base: Classifier | None = None
        self.tally = Tally()
        """The learned one's logarithm of the chance of the right place, less the base's."""
        self.passed = False
        """Whether the learned one may answer."""
        self.doubt = 0.0
        self.resting = False
        """Whether nothing is learned, until the doubt is gone."""
        self.rollbacks = 0

    def choose(self, learned: Classifier, known: float) -> Classifier:
        """The one that answers; `known` is the probability of a place that the learned one has lessons of."""
        return learned if self.base is None or (self.passed and known >= _LIKELY) else self.base

    def begin(self, learned: Classifier) -> Classifier:
        """Keep what is known before the first lesson of one's own; that base."""
        if self.base is None:
            self.base = learned.continue_from(learned.arrays())
        return self.base

    def adopt(self, lesson: Lesson, vector: Float[np.ndarray, " dim"]) -> None:
        """Somebody taught the learned one: the base knows it, too."""
        if self.base is not None:
            self.base.adopt(lesson, vector)

    def unlearn(self, lesson: Lesson) -> None:
        """Somebody took a lesson back, one of theirs or one that was taught by oneself."""
        if self.base is not None and self.base.holds(lesson):
            self.base.unlearn(lesson)

    def judge(self, difference: float) -> None:
        """Count one more view; only a significant change of the answer counts, or it would change back and forth."""
        self.tally.add(difference)
        self.passed = self.tally.trend >= (0 if self.passed else 1)

    def check(self, evidence: float) -> None:
        """Count one more label, by the logarithm of what the base's evidence for it is to the mean of the route's."""
        step, most = _AGAINST if evidence < 0.0 else _FOR, _ALARM * max(self.rollbacks, 1)
        self.doubt = min(max(self.doubt + step, 0.0), most)
        self.resting = self.resting and self.doubt > 0.0

    @property
    def fallen(self) -> bool:
        """Whether what was taught by oneself has to go."""
        return not self.resting and self.base is not None and (self.doubt >= _ALARM or self.tally.trend < 0)

    def roll_back(self, learned: Classifier) -> None:
        """Take back all that was taught by oneself, and rest: the longer, the more often it had to be."""
        learned.return_to(self.begin(learned))  # one that is done again may begin there
        self.rollbacks += 1
        why = "labels contradict what is seen" if self.doubt >= _ALARM else "it recognises less than the map alone"
        _log.warning("what was learned while driving is taken back, for the %d. time: %s", self.rollbacks, why)
        self.tally, self.passed = Tally(), False
        self.resting, self.doubt = True, _ALARM * self.rollbacks

    def moment(self) -> dict[str, np.ndarray]:
        """Everything that changes but the base, which is large."""
        own = {"passed": self.passed, "tally": astuple(self.tally), "doubt": self.doubt}
        own |= {"resting": self.resting, "rollbacks": self.rollbacks}
        return {name: np.array(value) for name, value in own.items()}

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        return self.moment() | (put("base.", self.base.arrays()) if self.base else {})

    def restore(self, arrays: Arrays, learned: Classifier) -> None:
        """Continue from where `arrays` were taken; `learned` says what a classifier of this map is like."""
        self.passed, self.resting = bool(arrays["passed"]), bool(arrays["resting"])
        self.tally = Tally(*arrays["tally"].tolist())
        self.doubt, self.rollbacks = float(arrays["doubt"]), int(arrays["rollbacks"])
        base = take(arrays, "base.")
        self.base = learned.continue_from(base) if base else None
