"""A drive's condition: what its views share, such as hour, weather and camera. Without it, two conditions compare.

With μ the mean of the map's descriptors and m that of a drive's views so far, a view d compares with a reference r as

    cos(d − w m, r − w μ),    w = most · n / (n + few)

after n views on the map. Nothing is known of m at first, and to subtract another condition's mean is worse than to
subtract none: so w begins at 0, the plain cosine. The classifier has learned references as they are; it is asked with
d − w (m − μ), the view as it would be under the map's condition, and learns views as such.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.types import LATEST, NANOSECONDS, Estimate

FEW = 20.0
"""Views after which the mean counts half: neighbouring views share more than their condition."""
MOST = 0.8
"""Less than 1: part of a mean is the place's own, where a route is short or all of it looks alike."""
REMEMBERED = 200.0
"""Views after which older ones fade: conditions change slowly."""
SHORTEST = 1e-3
"""Below this a view has no direction worth the name."""
ANOTHER_DRIVE = 3600 * NANOSECONDS
"""After an hour unseen, sun and weather are others."""

LAYOUT = {
    "mean": Array("f", "width", -1.01, 1.01, optional=True),
    "views": Array("f", "", 0, REMEMBERED, optional=True),
    "stamp": Array("i", "", -LATEST, LATEST, optional=True),
}
"""Of what `Condition.arrays` gives: all of them, or none."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What the views of a drive share by now, and the weight that has beside them."""

    mean: Float[np.ndarray, " dim"]
    weight: float

    def remove(self, descriptor: Float[np.ndarray, " dim"]) -> Float[np.ndarray, " dim"]:
        """What a view has of its own; of no particular length."""
        return descriptor - self.weight * self.mean

    def exchange(
        self, descriptor: Float[np.ndarray, " dim"], mapped: Float[np.ndarray, " dim"]
    ) -> Float[np.ndarray, " dim"]:
        """The view as it would be where views share the map's mean instead, at length 1."""
        moved = descriptor - self.weight * (self.mean - mapped)
        length = float(np.linalg.norm(moved))
        return moved / length if length > SHORTEST else descriptor


class Condition:
    """Owns the mean of the views of one drive after another."""

    def __init__(self) -> None:
        self._mean: Float[np.ndarray, " dim"] | None = None
        self._views = 0.0
        self._stamp = 0

    def recall(self, stamp: int) -> Shared | None:
        """What the views of the drive that a frame of this time belongs to share; None if it is its first."""
        if self._mean is None or not 0 <= stamp - self._stamp <= ANOTHER_DRIVE:
            return None
        return Shared(self._mean, MOST * self._views / (self._views + FEW))

    def follow(self, estimate: Estimate) -> None:
        """Count the view that an estimate is of, as far as it shows the map and nothing that was shown before."""
        if estimate.route:
            shown = (1.0 - estimate.route.p_off_map) if estimate.route.new_view else 0.0
            self.note(estimate.percept.descriptor, estimate.percept.stamp, shown)

    def note(self, descriptor: Float[np.ndarray, " dim"], stamp: int, share: float) -> None:
        """Count a view, as far as it is a new one of the map; without a share only time goes on."""
        known = self.recall(stamp)
        mean, views = (known.mean, self._views) if known else (np.zeros_like(descriptor), 0.0)
        self._views, self._stamp = min(views + share, REMEMBERED), stamp
        # A new array: what was handed out stays as it was.
        self._mean = mean + share / self._views * (descriptor - mean) if share > 0 else mean

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        if self._mean is None:
            return {}
        return {"mean": self._mean, "views": np.array(self._views), "stamp": np.array(self._stamp, dtype=np.int64)}

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken; without any, from nothing."""
        self._mean = np.array(arrays["mean"]) if arrays else None
        self._views, self._stamp = (float(arrays["views"]), int(arrays["stamp"])) if arrays else (0.0, 0)
