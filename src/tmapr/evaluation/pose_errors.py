"""Absolute and relative pose errors of a trajectory, defined as in evo, whose numbers these are.

With reference poses Qᵢ and estimated poses Pᵢ of the same moments, the error is a pose: Pᵢ⁻¹Qᵢ (APE), or
(Qᵢ⁻¹Qⱼ)⁻¹(Pᵢ⁻¹Pⱼ) between two moments a distance apart (RPE). One number is made of it: the length of its translation,
its angle, or ‖E − I‖ of the whole matrix, which is √(length² + 8 sin²(angle/2)).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, Int, Int64
from scipy.spatial.transform import Rotation

from tmapr.data.trajectory import TUM, read_tum
from tmapr.evaluation.alignment import fit_planar
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS

Alignment = Literal["none", "origin", "planar", "rigid", "similarity"]
Relation = Literal["translation", "rotation", "full"]

_PATH_TOLERANCE = 0.1  # share of the distance by which any pair may miss it
_FLAT = 1e-12  # a second singular value this much smaller than the first is rounding: the track is a line


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Timed poses: nanoseconds, metres, and quaternions x, y, z, w of any length."""

    stamps: Int64[np.ndarray, " n"]
    positions: Float[np.ndarray, "n 3"]
    quaternions: Float[np.ndarray, "n 4"]

    @classmethod
    def read(cls, path: Path) -> "Trajectory":
        """The poses of a TUM file."""
        stamps = read_tum(path).stamps  # refuses, line by line, what is no trajectory
        numbers = np.loadtxt(path, encoding="utf-8-sig", usecols=range(1, len(TUM)), ndmin=2)
        return cls(stamps, numbers[:, :3], numbers[:, 3:])

    @classmethod
    def of_positions(cls, stamps: Int64[np.ndarray, " n"], positions: Float[np.ndarray, "n 2"]) -> "Trajectory":
        """Positions on the ground plane whose axes are the map's: nothing is said of a heading."""
        flat = np.zeros((len(stamps), 1))
        return cls(stamps, np.hstack([positions, flat]), np.hstack([flat, flat, flat, flat + 1.0]))

    @property
    def rotations(self) -> Rotation:
        """The orientations."""
        return Rotation.from_quat(self.quaternions)

    def at(self, rows: Int[np.ndarray, " rows"]) -> "Trajectory":
        """The poses of some rows."""
        return Trajectory(self.stamps[rows], self.positions[rows], self.quaternions[rows])

    def moved(self, turn: Rotation, shift: Float[np.ndarray, "3"], scale: float = 1.0) -> "Trajectory":
        """Every pose scaled, then turned, then shifted."""
        return Trajectory(self.stamps, turn.apply(scale * self.positions) + shift, (turn * self.rotations).as_quat())


@dataclass(frozen=True, slots=True)
class Delta:
    """How far apart the poses of a relative error are; `all_pairs` overlap, others follow one another."""

    value: int | float = 1
    unit: Literal["frames", "metres"] = "frames"
    all_pairs: bool = False

    def __post_init__(self) -> None:
        if not self.value > 0 or (self.unit == "frames" and self.value != int(self.value)):
            raise ValueError(f"a distance must be positive and of frames a whole number, got {self.value} {self.unit}")


@dataclass(frozen=True, slots=True)
class PoseErrors:
    """What evo says of the errors of many poses, under its names; `std` is that of a population."""

    rmse: float
    mean: float
    median: float
    std: float
    min: float
    max: float
    sse: float

    @classmethod
    def of(cls, errors: Float[np.ndarray, " n"]) -> "PoseErrors":
        """Condense the errors of single poses or pairs."""
        if not len(errors):
            raise ValueError("errors must not be empty")
        squares = float(np.sum(errors**2))
        middle = (float(np.mean(errors)), float(np.median(errors)), float(np.std(errors)))
        return cls(float(np.sqrt(squares / len(errors))), *middle, float(errors.min()), float(errors.max()), squares)


def associate(
    reference: Trajectory, estimate: Trajectory, max_difference: float = 0.01
) -> tuple[Trajectory, Trajectory]:
    """Both at the moments that both have: each pose of the shorter one and, within so many seconds, the nearest one."""
    estimate_longer = len(estimate.stamps) > len(reference.stamps)
    short, long = (reference, estimate) if estimate_longer else (estimate, reference)
    rows, others = _nearest(_seconds(short), _seconds(long), max_difference)
    if not len(rows):
        raise InputError(f"no stamps of the two trajectories lie within {max_difference:g} s; do their clocks agree?")
    matched = short.at(rows), long.at(others)
    return matched if estimate_longer else (matched[1], matched[0])


def align(estimate: Trajectory, reference: Trajectory, alignment: Alignment) -> Trajectory:
    """The estimate brought onto a reference of the same moments."""
    if alignment == "none":
        return estimate
    if alignment == "origin":
        turn = reference.rotations[0] * estimate.rotations[0].inv()
        return estimate.moved(turn, reference.positions[0] - turn.apply(estimate.positions[0]))
    if alignment == "planar":
        fit = fit_planar(estimate.positions[:, :2], reference.positions[:, :2])
        return estimate.moved(Rotation.from_euler("z", fit.angle), np.array([*fit.translation, 0.0]))
    return _umeyama(estimate, reference, with_scale=alignment == "similarity")


def absolute_errors(
    reference: Trajectory, estimate: Trajectory, relation: Relation = "translation"
) -> Float[np.ndarray, " n"]:
    """APE of every pose, in metres or degrees."""
    turned = estimate.rotations.inv() * reference.rotations
    return _condensed(reference.positions - estimate.positions, turned, relation)


def relative_errors(
    reference: Trajectory, estimate: Trajectory, relation: Relation = "translation", delta: Delta | None = None
) -> Float[np.ndarray, " pairs"]:
    """RPE of every pair of poses that lie `delta` apart on the estimate's path, in metres or degrees; may be none."""
    first, second = _pairs(estimate.positions, delta or Delta())
    if not len(first):
        return np.zeros(0)
    shift, turn = _between(estimate.at(first), estimate.at(second))
    true_shift, true_turn = _between(reference.at(first), reference.at(second))
    return _condensed(shift - true_shift, true_turn.inv() * turn, relation)


def _condensed(shift: Float[np.ndarray, "n 3"], turn: Rotation, relation: Relation) -> Float[np.ndarray, " n"]:
    length, angle = np.linalg.norm(shift, axis=1), turn.magnitude()
    if relation == "translation":
        return length
    if relation == "rotation":
        return np.rad2deg(angle)
    return np.sqrt(length**2 + 8 * np.sin(angle / 2) ** 2)


def _between(first: Trajectory, second: Trajectory) -> tuple[Float[np.ndarray, "n 3"], Rotation]:
    """How the second poses look from the first ones."""
    back = first.rotations.inv()
    return back.apply(second.positions - first.positions), back * second.rotations


def _pairs(
    positions: Float[np.ndarray, "n 3"], delta: Delta
) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
    if delta.unit == "metres" and delta.all_pairs:
        return _pairs_along(positions, delta.value)
    if delta.unit == "frames" and delta.all_pairs:
        rows = np.arange(len(positions))
        return rows[: -int(delta.value)], rows[int(delta.value) :]
    if delta.unit == "frames":
        ends = np.arange(0, len(positions), int(delta.value))
    else:
        ends = _milestones(positions, delta.value)
    return ends[:-1], ends[1:]


def _milestones(positions: Float[np.ndarray, "n 3"], distance: float) -> Int64[np.ndarray, " ends"]:
    """The first row, and every one at which the path since the last such row has reached the distance."""
    ends, travelled = [0], 0.0
    # Added up step by step: differences of one running sum round otherwise, and even steps end on the distance.
    for row, step in enumerate(np.diff(positions, axis=0), start=1):
        travelled += float(np.linalg.norm(step))
        if travelled >= distance:
            ends.append(row)
            travelled = 0.0
    return np.array(ends)


def _pairs_along(
    positions: Float[np.ndarray, "n 3"], distance: float
) -> tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]:
    """For every row the later one whose path to it comes nearest to the distance, if it comes near enough."""
    path = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(positions, axis=0), axis=1))])
    later = [row + 1 + int(np.argmin(np.abs(path[row + 1 :] - path[row] - distance))) for row in range(len(path) - 1)]
    first, second = np.arange(len(later)), np.array(later, dtype=np.int64)
    near = np.abs(path[second] - path[first] - distance) <= distance * _PATH_TOLERANCE
    return first[near], second[near]


def _seconds(trajectory: Trajectory) -> Float[np.ndarray, " n"]:
    """Stamps as evo reads them, rounded once: which of two poses is nearer must not differ from there."""
    return np.array([stamp / NANOSECONDS for stamp in trajectory.stamps.tolist()])


def _nearest(
    short: Float[np.ndarray, " n"], long: Float[np.ndarray, " m"], limit: float
) -> tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]:
    """Rows of both that lie within the limit, the nearest and of two the earlier one."""
    order = np.argsort(long, kind="stable")
    times = long[order]
    after = np.minimum(np.searchsorted(times, short, side="right"), len(times) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(times[after] - short) < np.abs(times[before] - short), after, before)
    rows = np.flatnonzero(np.abs(times[nearest] - short) <= limit)
    return rows, order[nearest[rows]]


def _umeyama(estimate: Trajectory, reference: Trajectory, *, with_scale: bool) -> Trajectory:
    """The least-squares rotation, translation and scale (Umeyama 1991)."""
    source, target = estimate.positions.mean(axis=0), reference.positions.mean(axis=0)
    a, b = estimate.positions - source, reference.positions - target
    U, D, Vt = np.linalg.svd(b.T @ a)
    if D[1] <= _FLAT * D[0]:
        raise InputError("the positions lie on a line, around which any turn fits; align them in the plane instead")
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(U) * np.linalg.det(Vt))])
    turn = Rotation.from_matrix(U * signs @ Vt)
    scale = float(D @ signs / np.sum(a**2)) if with_scale else 1.0
    return estimate.moved(turn, target - scale * turn.apply(source), scale)
