"""How likely a candidate is right, from what it looks like: log-odds that add up over frames.

Three qualities tell right candidates from wrong ones: the cosine, how familiar the frame is to the classifier (minus
the logarithm of the leverage), and the margin to the best match elsewhere (its logarithm). Logistic regression on a
validation drive, off the map too, gives their weights; before looking, right and wrong are taken as equally likely.
"""

from math import log, log1p

from pydantic import Field

from tmapr.config import Settings
from tmapr.types import Candidate

_LEAST, _MOST = 1e-6, 1e3


class Quality(Settings):
    """One term, weight · (value − centre); a value that is unknown adds nothing."""

    centre: float = Field(0.0, description="value at which the term adds nothing")
    weight: float = Field(0.0, description="log-odds a unit")

    def of(self, value: float) -> float:
        """Log-odds that a value adds."""
        return self.weight * (value - self.centre)


class Odds(Settings):
    """The terms of the log-odds."""

    bias: float = Field(0.0, description="log-odds where every quality is at its centre")
    similarity: Quality = Quality()
    familiarity: Quality = Quality()
    margin: Quality = Quality()

    def of(self, candidate: Candidate, leverage: float | None) -> float:
        """Log-odds that the candidate is right; without place scores there is no leverage."""
        looks = self.similarity.of(candidate.similarity) + self.margin.of(distinction(candidate.margin))
        known = 0.0 if leverage is None else self.familiarity.of(familiarity(leverage))
        return self.bias + looks + known


def familiarity(leverage: float) -> float:
    """How well what was learned explains the frame."""
    return -log(max(leverage, _LEAST))


def distinction(margin: float) -> float:
    """How far a candidate stands out; ten deviations are hardly more than nine, and nothing elsewhere is infinite."""
    return log1p(min(max(margin, 0.0), _MOST))
