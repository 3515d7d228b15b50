"""Whether a frame looks like nothing mapped: a hand before the lens, the inside of a garage, another camera.

Two things tell it, each against the drive's own views and in their deviations, so that no similarity is a threshold:
how like its closest reference a frame looks, and how like what all views of the drive share. A street beside the map
has the second and may have the first; a picture from elsewhere lacks both, and proves nothing of any place. It comes
at once: what looks half like the frame before it is the drive's, however its condition changes.
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
"""Deviations, both measures together, of a strange frame, and of one that follows it."""
_PASSING = 3
"""Strange frames in a row that were of the drive after all: bad luck, and part of what is usual."""
_PATIENCE = 60.0
"""Strange views after which all that was usual is not so any more: the condition has changed at once."""
_AT_ONCE = 2.0
"""New views: half of what separates two frames that have nothing in common."""
_LEAST = 1e-6

LAYOUT = {
    "usual": Array("f", "2 2"),
    "counts": Array("f", "2", 0),
    "strange": Array("f", "in_a_row 2"),
    "key": Array("f", "width", -1.01, 1.01, optional=True),
    "last": Array("f", "width", -1.01, 1.01, optional=True),
}
"""Of what `Novelty.arrays` gives."""

Measures = Float[np.ndarray, "2"]


class Novelty:
    """Knows what is usual in this drive; a frame is a new view if it differs by `view`, in 1 − cosine."""

    def __init__(self, view: float) -> None:
        self._view = view
        self.forget()

    def forget(self) -> None:
        """Nothing is usual yet."""
        self._means, self._variances = np.zeros(2), np.zeros(2)
        self._views = self._strange_views = 0.0
        self._strange: list[Measures] = []
        """The measures of strange frames in a row."""
        self._key: Float[np.ndarray, " dim"] | None = None
        """The last strange view."""
        self._last: Float[np.ndarray, " dim"] | None = None
        """The last frame that was not strange."""

    def judge(self, familiar: Measures, descriptor: Float[np.ndarray, " dim"]) -> bool:
        """Whether a frame is strange. After many strange views nothing is: then the condition is another one."""
        if self._views < _ENOUGH or not self._is_strange(familiar, descriptor):
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
        deviations = (familiar - self._means) / np.sqrt(self._variances + _LEAST)
        return float(np.minimum(deviations, 0.0).sum()) < (_STILL_STRANGE if self._strange else _STRANGE)

    def learn(self, familiar: Measures) -> None:
        """Count a view of the drive."""
        passing = self._strange if len(self._strange) <= _PASSING else []
        for seen in (*passing, familiar):
            self._add(seen)
        self._strange, self._strange_views, self._key = [], 0.0, None

    def _add(self, familiar: Measures) -> None:
        self._views = min(self._views + 1.0, _MOST)
        gain, off = 1.0 / self._views, familiar - self._means
        self._means = self._means + gain * off
        self._variances = (1.0 - gain) * (self._variances + gain * off**2)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        frames = {"key": self._key, "last": self._last}
        return {name: frame for name, frame in frames.items() if frame is not None} | {
            "usual": np.array([self._means, self._variances]),
            "counts": np.array([self._views, self._strange_views]),
            "strange": np.array(self._strange).reshape(-1, 2),
        }

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken; states of earlier versions have none."""
        self.forget()
        if arrays:
            self._means, self._variances = np.array(arrays["usual"])
            self._views, self._strange_views = (float(count) for count in arrays["counts"])
            self._strange = list(np.array(arrays["strange"]))
            self._key, self._last = (np.array(arrays[each]) if each in arrays else None for each in ("key", "last"))
