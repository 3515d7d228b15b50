"""Which odometry has a say: a topic that is all zero, or stuck, while the pictures change measures nothing.

Speed and yaw rate are judged apart, each by its own numbers alone: it is heard from its first change on, until it has
not changed at all for `UNCHANGED` new views. What stands still tells so in the pictures, too: then no view is new.
"""

import numpy as np

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.tracking.speeds import UNCHANGED
from tmapr.types import Estimate, Odometry

LAYOUT = {
    "told": Array("f", "2"),
    "views": Array("i", "2", -1, UNCHANGED),
}
"""Of what `OdometryTrust.arrays` gives."""


class OdometryTrust:
    """Owns what speed and yaw rate said last, and for how many views they have said it."""

    def __init__(self) -> None:
        self._told = [0.0, 0.0]
        self._views = [-1, -1]
        """Below none: it said nothing yet."""

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
            self._views[which] = UNCHANGED if self._views[which] < 0 else 0
            self._told[which] = value
        return value if self._views[which] < UNCHANGED else None

    def see(self, estimate: Estimate) -> None:
        """Count the view that an estimate is of, if it was a new one."""
        if estimate.route and estimate.route.new_view:
            self._views = [min(views + 1, UNCHANGED) if views >= 0 else views for views in self._views]

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        return {"told": np.array(self._told), "views": np.array(self._views, dtype=np.int64)}

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        self._told, self._views = arrays["told"].tolist(), arrays["views"].tolist()
