"""The classifier's rows for a descriptor: U's sigma points, or the descriptor alone, projected.

They depend on nothing but the descriptor and U's step, so those made last are kept: a frame that is observed and then
learned is projected once.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tmapr.places.projection import Projector
from tmapr.places.unscented import Unscented

_Origin = tuple[str, bytes, bytes]


@dataclass(frozen=True, slots=True)
class _Made:
    origin: _Origin
    rows: Float[np.ndarray, "k out"]


class Features:
    """Makes rows, and keeps the last ones."""

    def __init__(self, projector: Projector, unscented: Unscented | None) -> None:
        self._projector = projector
        self._unscented = unscented
        self._last: _Made | None = None

    def make(
        self, descriptor: Float[np.ndarray, " dim"], step: Float[np.ndarray, " dim"] | None
    ) -> Float[np.ndarray, "k out"]:
        """Three rows with U and one of its steps, otherwise one."""
        if self._unscented and step is not None:
            return self._projector(self._unscented.points(descriptor, step))
        return self._projector(descriptor[None])

    def keep(
        self, descriptor: Float[np.ndarray, " dim"], step: Float[np.ndarray, " dim"] | None
    ) -> Float[np.ndarray, "k out"]:
        """The rows, which the caller must not change: the next one may take them."""
        origin = self._trace(descriptor, step)
        if self._last is None or self._last.origin != origin:
            self._last = _Made(origin, self.make(descriptor, step))
        return self._last.rows

    def take(
        self, descriptor: Float[np.ndarray, " dim"], step: Float[np.ndarray, " dim"] | None
    ) -> Float[np.ndarray, "k out"]:
        """The rows for the caller alone: those that were kept, if they are of the same origin."""
        rows = self.keep(descriptor, step)
        self._last = None
        return rows

    def _trace(self, descriptor: Float[np.ndarray, " dim"], step: Float[np.ndarray, " dim"] | None) -> _Origin:
        """What rows are made of, as bytes: a program may fill its array with the next frame."""
        moved = step.tobytes() if self._unscented and step is not None else b""
        return descriptor.dtype.str, descriptor.tobytes(), moved
