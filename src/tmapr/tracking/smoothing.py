"""Where the camera was, by what it saw since: a fixed-lag smoother over the route filter.

The filter says after each view where the camera may be, by the views up to it. With the probability pₜ(j) that the
motion model brings to reference j from all that was believed at view t, the later views correct that belief backwards:

    γₜ(i) = αₜ(i) Σⱼ T(i, j) γₜ₊₁(j) / pₜ(j),    pₜ(j) = Σᵢ αₜ(i) T(i, j),

which needs no evidence, only what the filter kept. T is plainer than the filter's own motion: as far as the way between
the views, in whichever direction, or, seldom, anywhere. What is not on one of the references that a view kept is
elsewhere: off the map, or too improbable to be kept.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.tracking.route import Route
from tmapr.tracking.speeds import CARRIED, LEAVE, RETURN

LAG = 20
"""Views after which nothing more is to be expected: a wrong match seldom outlives ten metres, and a view is a few."""
_MOST, _LEAST = 128, 1e-5
"""References that a view keeps, and the probability from which on."""

LAYOUT = {
    "counts": Array("i", "views", 0, _MOST),
    "rows": Array("i", "likely", 0),
    "masses": Array("f", "likely", 0, 1.01),
    "metres": Array("f", "views", 0),
}
"""Of what `Smoother.arrays` gives."""


@dataclass(frozen=True, slots=True)
class View:
    """Where the camera may have been at a new view: references by their number along the route; the rest: elsewhere."""

    rows: Int[np.ndarray, " likely"]
    masses: Float[np.ndarray, " likely"]
    metres: float
    """From the view before."""

    @property
    def elsewhere(self) -> float:
        """The probability of everything else."""
        return max(1.0 - float(self.masses.sum()), 0.0)


def keep_view(where: Float[np.ndarray, " refs"], metres: float, trust: float = 1.0) -> View:
    """What of a belief is kept; `trust` is the share of it that is believed at all."""
    rows = np.flatnonzero(where > _LEAST)
    if len(rows) > _MOST:
        rows = np.sort(rows[np.argpartition(-where[rows], _MOST)[:_MOST]])
    return View(rows, trust * where[rows], metres)


class Smoother:
    """Holds the last views; one that `lag` others have followed is due."""

    def __init__(self, route: Route, lag: int = LAG) -> None:
        self.route = route
        self._lag = lag
        self._share = route.widths / route.widths.sum()
        self._length = float(route.widths.sum())
        self._views: deque[View] = deque()

    def __len__(self) -> int:
        return len(self._views)

    def forget(self) -> None:
        """Begin anew: the next view does not follow on the last one."""
        self._views.clear()

    @property
    def full(self) -> bool:
        """Whether nothing more is to be expected for the oldest view."""
        return len(self._views) > self._lag

    def add(self, view: View) -> None:
        """One more view."""
        self._views.append(view)

    def smooth_oldest(self) -> View:
        """Let the oldest view go, with what all later ones say of it."""
        smoothed = self._views[-1]
        for index in range(len(self._views) - 2, -1, -1):
            smoothed = self._step_back(self._views[index], smoothed)
        self._views.popleft()
        return smoothed

    def _step_back(self, earlier: View, later: View) -> View:
        """What a smoothed view says of the one before it."""
        chances = self.move(earlier.rows, later.rows, later.metres)
        believed = np.append(earlier.masses, earlier.elsewhere)
        predicted = believed @ chances
        # What cannot have come from anywhere proves nothing of where it came from.
        ratio = np.append(later.masses, later.elsewhere) / np.maximum(predicted, 1e-300)
        smoothed = believed * (chances @ ratio)
        return View(earlier.rows, (smoothed / smoothed.sum())[:-1], earlier.metres)

    def move(
        self, before: Int[np.ndarray, " n"], after: Int[np.ndarray, " m"], metres: float
    ) -> Float[np.ndarray, "n_and_off m_and_off"]:
        """T: from each reference, and from elsewhere in the last row, to each other, and to elsewhere."""
        reach = metres + self.route.spacing
        spots = self.route.positions
        squared = ((spots[before][:, None] - spots[after][None]) ** 2).sum(axis=2)
        leaving, returning = (float(-np.expm1(-rate * metres)) for rate in (LEAVE, RETURN))
        along = np.exp(-0.5 * squared / reach**2) * self._length / (np.sqrt(2.0 * np.pi) * reach)
        chances = np.empty((len(before) + 1, len(after) + 1))
        chances[:-1, :-1] = (1.0 - leaving) * self._share[after] * ((1.0 - CARRIED) * along + CARRIED)
        chances[:-1, -1] = leaving
        chances[-1, :-1] = returning * self._share[after]
        chances[-1, -1] = 1.0 - returning
        return chances

    def arrays(self) -> dict[str, np.ndarray]:
        """The views that are held."""
        return pack_views(self._views)

    def restore(self, arrays: Arrays) -> None:
        """Take up the views that `arrays` described."""
        self._views = deque(unpack_views(arrays, len(self.route)))


def pack_views(views: Iterable[View]) -> dict[str, np.ndarray]:
    """Views as arrays, one after the other."""
    held = list(views)
    return {
        "counts": np.array([len(view.rows) for view in held], dtype=np.int64),
        "rows": np.concatenate([np.zeros(0, dtype=np.int64), *(view.rows for view in held)]),
        "masses": np.concatenate([np.zeros(0), *(view.masses for view in held)]),
        "metres": np.array([view.metres for view in held], dtype=float),
    }


def unpack_views(arrays: Arrays, references: int) -> list[View]:
    """The views that `pack_views` made arrays of, on a route of so many references."""
    counts, rows, masses = arrays["counts"], arrays["rows"], arrays["masses"]
    if int(counts.sum()) != len(rows) or rows.max(initial=-1) >= references:
        raise ValueError(f"{len(rows)} references of views, {counts.sum()} counted, on a route of {references}")
    ends = np.cumsum(counts)
    return [
        View(np.array(rows[stop - count : stop]), np.array(masses[stop - count : stop]), metres)
        for count, stop, metres in zip(counts.tolist(), ends.tolist(), arrays["metres"].tolist(), strict=True)
    ]
