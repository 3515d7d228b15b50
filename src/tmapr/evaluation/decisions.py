"""Decisions over time: the share of a drive on which it claims to know where it is, and the claims that are wrong.

Wrong is farther from the truth than the radius of `loops`, or than two references of a sparser map lie apart, and
whatever is farther than `WRONG`. A frame is on the map where a reference is as near as that, and off it where none is
within `OFF`; what lies between is neither.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.documents.decisions import Decisions
from tmapr.data.poses import track_direction, wrap_angles
from tmapr.evaluation.errors import LEAST_MOTION, measure_consistency, position_errors
from tmapr.evaluation.loops import RADIUS, correct_candidates, opportunities
from tmapr.evaluation.off_map import list_stretches, measure_way

OFF, WRONG = 20.0, 25.0
_AGAINST = 2.0  # radians: more than a crossing street
_STANDING = 0.05  # metres between two frames: less is a stop, whose references are one


@dataclass(frozen=True, slots=True)
class Judged:
    """What was said of each frame with a true position, and what was true; candidates are NaN where there was none."""

    truth: Float[np.ndarray, "n 2"]
    estimated: Float[np.ndarray, "n 2"]
    covariances: Float[np.ndarray, "n 2 2"]
    localized: Bool[np.ndarray, " n"]
    first: Float[np.ndarray, "n 2"]
    nearest: Float[np.ndarray, "n 2"] | None = None
    """Where the most similar reference of the whole map lies; None if nobody asked."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """What was mapped, in the order in which it was driven; `twins` are streets off the map that copy mapped ones."""

    positions: Float[np.ndarray, "refs 2"]
    twins: tuple[Float[np.ndarray, "2 2"], ...] = ()

    @property
    def spacing(self) -> float:
        """Metres from one reference to the next while driving, in the median."""
        steps = position_errors(self.positions[1:], self.positions[:-1])
        moving = steps[steps > _STANDING]
        return float(np.median(moving)) if len(moving) else 0.0

    @property
    def tolerance(self) -> float:
        """Metres from the truth up to which an estimate is right."""
        return min(max(RADIUS, 2 * self.spacing), WRONG)

    def return_row(self, truth: Float[np.ndarray, "n 2"]) -> int:
        """The row from which a drive stays on the map, in the direction in which that was driven."""
        nearest = np.array([np.argmin(np.hypot(*(self.positions - point).T)) for point in truth])
        there, here = (track_direction(track, LEAST_MOTION) for track in (self.positions, truth))
        against = np.abs(wrap_angles(here - there[nearest])) > _AGAINST
        away = np.flatnonzero(against | ~opportunities(truth, self.positions, self.tolerance))
        return int(away[-1]) + 1 if len(away) else 0

    def beside_twins(self, points: Float[np.ndarray, "n 2"]) -> Bool[np.ndarray, " n"]:
        """Whether each point lies in a street that copies a mapped one."""
        beside = np.zeros(len(points), dtype=bool)
        for start, stop in self.twins:
            street = stop - start
            along = np.clip((points - start) @ street / (street @ street), 0.0, 1.0)
            beside |= position_errors(points, start + along[:, None] * street) <= _BESIDE
        return beside


_BESIDE = 15.0
"""Metres from a street within which a camera sees it."""


def judge_decisions(judged: Judged, mapped: Mapped, since: int = 0) -> Decisions:
    """Count what was claimed; `since` is the row at which a disturbance had ended."""
    errors, tolerance = position_errors(judged.estimated, judged.truth), mapped.tolerance
    on = opportunities(judged.truth, mapped.positions, tolerance)
    away = ~opportunities(judged.truth, mapped.positions, OFF)
    twin = away & mapped.beside_twins(judged.truth)
    off = away & ~twin
    wrong, right = judged.localized & (errors > tolerance), judged.localized & (errors <= tolerance)
    way = measure_way(judged.truth)
    return Decisions(
        frames=len(errors),
        on_map=int(on.sum()),
        localized=_share(judged.localized, on),
        wrong=int(wrong.sum()),
        wrong_metres=_longest(way, wrong),
        recovered_after=_first(way, right, on, since),
        coverage95=measure_consistency(judged.estimated - judged.truth, judged.covariances).coverage95,
        rmse=float(np.sqrt(np.mean(errors[on] ** 2))) if on.any() else None,
        first_right=_share(correct_candidates(judged.first, judged.truth, tolerance), on),
        global_right=None
        if judged.nearest is None
        else _share(correct_candidates(judged.nearest, judged.truth, tolerance), on),
        off_map=int(off.sum()),
        off_localized=int((off & judged.localized).sum()),
        twin_frames=int(twin.sum()),
        twin_localized=int((twin & judged.localized).sum()),
        tolerance=tolerance,
    )


def _share(happened: Bool[np.ndarray, " n"], among: Bool[np.ndarray, " n"]) -> float | None:
    return float(happened[among].mean()) if among.any() else None


def _longest(way: Float[np.ndarray, " n"], mask: Bool[np.ndarray, " n"]) -> float:
    """Metres of the longest unbroken stretch, up to the frame that ends it."""
    last = len(way) - 1
    return float(max((way[min(stop, last)] - way[start] for start, stop in list_stretches(mask)), default=0.0))


def _first(
    way: Float[np.ndarray, " n"], happened: Bool[np.ndarray, " n"], on: Bool[np.ndarray, " n"], since: int
) -> float | None:
    """Metres driven on the map from a row until it happened."""
    rows = np.flatnonzero(happened[since:])
    if not len(rows):
        return None
    steps = np.diff(way[since : since + rows[0] + 1])
    return float(steps[on[since + 1 : since + rows[0] + 1]].sum())
