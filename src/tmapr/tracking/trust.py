"""How far to believe what does not come from the map: odometry by its changes, a pose head by its measured error."""

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.tracking.model import RouteModel
from tmapr.types import Odometry

ODOMETRY = {"told": Array("f", "2"), "views": Array("i", "2", -1)}
"""Of what `OdometryTrust.arrays` gives."""


class OdometryTrust:
    """Owns what speed and yaw rate said last, and for how many views they have said it.

    A topic that is all zero, or stuck, while the pictures change measures nothing: each is heard from its first change
    on, until it has not changed at all for some views. What stands still shows no new views.
    """

    def __init__(self, most: int) -> None:
        self._most, self._told = most, [0.0, 0.0]
        self._views = [-1, -1]
        """Below 0: it said nothing yet."""

    def heed(self, motion: Odometry | None) -> Odometry | None:
        """What of it has a say."""
        if motion is None:
            return None
        heard = [self._hear(which, value) for which, value in enumerate((motion.speed, motion.yaw_rate))]
        return None if heard == [None, None] else Odometry(*heard)

    def _hear(self, which: int, value: float | None) -> float | None:
        if value is None:
            return None
        if value != self._told[which] or self._views[which] < 0:
            self._views[which] = self._most if self._views[which] < 0 else 0
            self._told[which] = value
        return value if self._views[which] < self._most else None

    def see_view(self) -> None:
        """Count a new view."""
        self._views = [min(views + 1, self._most) if views >= 0 else views for views in self._views]

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        return {"told": np.array(self._told), "views": np.array(self._views, dtype=np.int64)}

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        self._told, self._views = arrays["told"].tolist(), arrays["views"].tolist()


class HeadTrust:
    """The mean squared error of a pose head, square metres along an axis, measured where the place is proven.

    Before the first view it is what the head's validation said, or unknown. A head that learned nothing soon has the
    error of a guess, and then no say; it errs alike for a long while, so it is new in one view of many.
    """

    def __init__(self, extent: float, model: RouteModel) -> None:
        self._extent, self._model = max(extent, 1e-3), model
        self.variance, self.views = self._extent**2, 0.0

    def expect(self, error: float) -> None:
        """Take the error of a validation, if nothing was measured yet."""
        if self.views == 0.0:
            self.variance, self.views = max(error, 1e-3) ** 2 / 2.0, 1.0

    def measure(self, said: Float[np.ndarray, "2"], found: Float[np.ndarray, "2"]) -> None:
        """Add a view whose position is known without the head."""
        squared = min(float(((said - found) ** 2).sum()) / 2.0, self._extent**2)
        self.views = min(max(self.views, 1.0) + 1.0, self._model.head_most)
        self.variance += (squared - self.variance) / self.views

    @property
    def known(self) -> bool:
        """Whether it says more than a guess."""
        return self.views > 0 and self.variance < (self._extent / 4.0) ** 2

    def weigh(self, away: float, share: float) -> Float[np.ndarray, "2 2"]:
        """The covariance of what it says so far from the map, in a frame that is so much of a new view."""
        return np.eye(2) * (self.variance + away**2) / max(self._model.head_new * share, 1e-3)
