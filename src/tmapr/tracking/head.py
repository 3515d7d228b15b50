"""How far a pose head can be trusted: its error is measured against the route filter, which does without it.

Before the first frame the error is what the head's validation said, or unknown. Every view that the filter is sure of
adds one: the head that learned nothing soon has the error of a guess, and then no weight. A head errs alike for a long
while, so its evidence is that of one view in many.
"""

import numpy as np
from jaxtyping import Float

_FIRST_VIEWS = 3.0
"""Views that a validation counts as: another drive may be another world."""
_MOST_VIEWS = 100.0
USELESS = 0.5
"""Chance that what the head says has nothing to do with where the camera is."""
AT_FIRST, ERRS_ALIKE = 0.5, 0.1
"""Shares of a view's evidence that are new: of the first one, and of those after it."""


class HeadTrust:
    """The mean squared error of a pose head, square metres along an axis, and the views it was measured on."""

    def __init__(self, extent: float) -> None:
        self._extent = max(extent, 1e-3)
        self.variance = self._extent**2
        self.views = 0.0

    def expect(self, error: float) -> None:
        """Take the error of a validation, if nothing was measured yet."""
        if self.views == 0.0:
            self.variance, self.views = max(error, 1e-3) ** 2 / 2.0, _FIRST_VIEWS

    def measure(self, said: Float[np.ndarray, "2"], found: Float[np.ndarray, "2"]) -> None:
        """Add a view whose position is known without the head."""
        squared = min(float(((said - found) ** 2).sum()) / 2.0, self._extent**2)
        if self.views == 0.0:
            self.views = 1.0
        self.views = min(self.views + 1.0, _MOST_VIEWS)
        self.variance += (squared - self.variance) / self.views

    @property
    def known(self) -> bool:
        """Whether it says more than a guess."""
        return self.views > 0 and self.variance < (self._extent / 4.0) ** 2

    def share_of(self, view: float) -> float:
        """How much of a share of a view is new to the head."""
        return ERRS_ALIKE * view

    def weigh(
        self,
        said: Float[np.ndarray, "2"],
        positions: Float[np.ndarray, "refs 2"],
        share: Float[np.ndarray, " refs"],
        first: bool,
    ) -> Float[np.ndarray, " refs"]:
        """The log-evidence of every reference, whose exponential is 1 in the mean over the route."""
        if not self.known:
            return np.zeros(len(positions))
        squared = ((positions - said) ** 2).sum(axis=1)
        likely = np.exp(-0.5 * (squared - squared.min()) / self.variance)
        # Far from every reference it says nothing of which one.
        useless = 1.0 - (1.0 - USELESS) * np.exp(-0.5 * float(squared.min()) / self.variance)
        evidence = np.log(useless + (1.0 - useless) * likely / float(likely @ share))
        weighed: Float[np.ndarray, " refs"] = evidence * (AT_FIRST if first else ERRS_ALIKE)
        return weighed
