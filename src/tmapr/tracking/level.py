"""Whether matches are as good as the drive's own: leaving the map shows in them, whatever the condition.

No absolute similarity tells whether a frame shows the map: by night the right match may look worse than a wrong one by
day. But a drive knows what its matches looked like where it was sure of its place, and every view shows what the best
match *elsewhere* on the map reaches, which is wrong. A view is weighed by which of the two it is more like; where both
are alike, it says nothing.
"""

import numpy as np
from jaxtyping import Float

FIRST, MOST = 3.0, 60.0
"""Views that the first one counts as, and after which older ones fade."""
ENOUGH = 8.0
"""Views from which on a level is known."""
WORST, BEST = -0.75, 1.0
"""Bounds of a view's log-odds: neighbouring views err together."""


class Levels:
    """Means and variances of several measures, where the place is certain (row 0) and elsewhere (row 1)."""

    def __init__(self, measures: int) -> None:
        self.means = np.zeros((2, measures))
        self.variances = np.ones((2, measures))
        self.views = np.zeros(2)

    def weigh(self, here: Float[np.ndarray, " measures"], elsewhere: Float[np.ndarray, " measures"]) -> float:
        """Log-odds that a view whose best match is so good shows the map."""
        if not self.views.any():
            self.means[:] = np.maximum(here, elsewhere), elsewhere
            self.variances[:] = (np.abs(here - elsewhere) / 2.0) ** 2 + 1e-6
            self.views[:] = FIRST
        if self.views[0] < ENOUGH:
            return 0.0
        wrong = self.means[1]
        right = np.maximum(self.means[0], wrong)
        seen = np.minimum(here, right)  # better than usual is no reason to doubt
        variance = self.variances.max(axis=0) + 1e-9
        odds = ((seen - wrong) ** 2 - (seen - right) ** 2) / (2.0 * variance)
        return float(np.clip(odds, WORST, BEST).mean())

    def learn(
        self,
        here: Float[np.ndarray, " measures"],
        elsewhere: Float[np.ndarray, " measures"],
        certain: bool,
        new: float,
    ) -> None:
        """Add a view, of which the share `new` is, whose place is certain or at least likely."""
        for kind, value in ((0, here), (1, elsewhere)) if certain else ((1, elsewhere),):
            self.views[kind] = min(self.views[kind] + new, MOST)
            gain = new / self.views[kind]
            off = value - self.means[kind]
            self.means[kind] += gain * off
            self.variances[kind] = (1.0 - gain) * (self.variances[kind] + gain * off**2)
