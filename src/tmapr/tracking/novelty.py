"""Whether a frame looks like nothing mapped: a hand before the lens, the inside of a garage, another camera.

Three things tell it, each against the drive's own views and in their deviations, so that no similarity is a threshold:
how like its closest reference a frame looks, how like what all views of the drive share, and, where they were looked
for, its local matches. A street beside the map has the second and may have the others; a picture from elsewhere lacks
all, and proves nothing of any place. It comes at once: what looks half like the frame before it is the drive's, however
its condition changes.
"""

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array

_MOST = 60.0
"""Views after which older ones fade."""
_ENOUGH = 10.0
"""Views from which on it is known what is usual."""
_STRANGE, _STILL_STRANGE = -5.0, -3.5
"""Deviations, the first two measures together, of a strange frame, and of one that follows it."""
_UNMAPPED = -2.0
"""Deviations of the first one, without which nothing is strange: around a corner a drive may look like never before."""
_UNMATCHED = -2.0
"""Deviations that the third one has to add where it is known."""
_PASSING = 3
"""Strange frames in a row that were of the drive after all: bad luck, and part of what is usual."""
_PATIENCE = 60.0
"""Strange views after which all that was usual is not so any more: the condition has changed at once."""
_AT_ONCE = 2.0
"""New views: half of what separates two frames that have nothing in common."""
_LEAST = 1e-6

LAYOUT = {
    "usual": Array("f", "2 3"),
    "counts": Array("f", "4", 0),
    "strange": Array("f", "in_a_row 3", unknown=True),
    "key": Array("f", "width", -1.01, 1.01, optional=True),
    "last": Array("f", "width", -1.01, 1.01, optional=True),
}
"""Of what `Novelty.arrays` gives."""

Measures = Float[np.ndarray, "3"]
"""NaN for what is not known."""


class Novelty:
    """Knows what is usual in this drive; a frame is a new view if it differs by `view`, in 1 − cosine."""

    def __init__(self, view: float) -> None:
        self._view = view
        self.forget()

    def forget(self) -> None:
        """Nothing is usual yet."""
        self._means, self._variances, self._views = np.zeros(3), np.zeros(3), np.zeros(3)
        self._strange_views = 0.0
        self._strange: list[Measures] = []
        """The measures of strange frames in a row."""
        self._key: Float[np.ndarray, " dim"] | None = None
        """The last strange view."""
        self._last: Float[np.ndarray, " dim"] | None = None
        """The last frame that was not strange."""

    def judge(self, familiar: Measures, descriptor: Float[np.ndarray, " dim"]) -> bool:
        """Whether a frame is strange. After many strange views nothing is: then the condition is another one."""
        if self._views[0] < _ENOUGH or not self._is_strange(familiar, descriptor):
            # A copy: a program may fill its array with the next frame.
            self._last = descriptor.copy()
            return False
        # A few are told from many, and no more: somebody may keep a hand before the lens for hours.
        self._strange = [*self._strange[-_PASSING:], familiar]
        if self._key is None or 1.0 - float(self._key @ descriptor) >= self._view:
            self._key, self._strange_views = descriptor.copy(), self._strange_views + 1.0
        if self._strange_views > _PATIENCE:
            self.forget()
            return False
        return True

    def _is_strange(self, familiar: Measures, descriptor: Float[np.ndarray, " dim"]) -> bool:
        if self._last is None or 1.0 - float(self._last @ descriptor) < _AT_ONCE * self._view:
            return False
        deviations = np.minimum((familiar - self._means) / np.sqrt(self._variances + _LEAST), 0.0)
        if deviations[0] >= _UNMAPPED:
            return False
        known = self._views[2] >= _ENOUGH and not np.isnan(deviations[2])
        bound = _STILL_STRANGE if self._strange else _STRANGE
        return float(deviations[: 3 if known else 2].sum()) < (bound + _UNMATCHED if known else bound)

    def learn(self, familiar: Measures) -> None:
        """Count a view of the drive."""
        passing = self._strange if len(self._strange) <= _PASSING else []
        for seen in (*passing, familiar):
            self._add(seen)
        self._strange, self._strange_views, self._key = [], 0.0, None

    def _add(self, familiar: Measures) -> None:
        told = ~np.isnan(familiar)
        self._views = np.minimum(self._views + told, _MOST)
        gain = np.where(told, 1.0 / np.maximum(self._views, 1.0), 0.0)
        off = np.where(told, familiar - self._means, 0.0)
        self._means = self._means + gain * off
        self._variances = (1.0 - gain) * (self._variances + gain * off**2)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        frames = {"key": self._key, "last": self._last}
        return {name: frame for name, frame in frames.items() if frame is not None} | {
            "usual": np.array([self._means, self._variances]),
            "counts": np.append(self._views, self._strange_views),
            "strange": np.array(self._strange).reshape(-1, 3),
        }

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        self._means, self._variances = np.array(arrays["usual"])
        self._views, self._strange_views = np.array(arrays["counts"][:3]), float(arrays["counts"][3])
        self._strange = list(np.array(arrays["strange"]))
        self._key, self._last = (np.array(arrays[each]) if each in arrays else None for each in ("key", "last"))
