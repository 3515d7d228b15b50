"""Absolute and relative errors of a trajectory of positions, defined as in evo, whose numbers these are.

The absolute error (APE) of a pose is its distance to the true one. The relative error (RPE) of two poses some distance
apart is the difference between their displacement and the true one, here in the map's axes: positions alone say nothing
of a heading. No rigid alignment changes it.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int64

from tmapr.artifacts.documents.runs import PoseErrors
from tmapr.evaluation.errors import position_errors


@dataclass(frozen=True, slots=True)
class Delta:
    """How far apart the poses of a relative error are; pairs follow one another."""

    value: int | float
    unit: Literal["frames", "metres"]


def summarize_poses(errors: Float[np.ndarray, " n"]) -> PoseErrors:
    """Condense the errors of single poses or pairs."""
    if not len(errors):
        raise ValueError("errors must not be empty")
    squares = float(np.sum(errors**2))
    return PoseErrors(
        rmse=float(np.sqrt(squares / len(errors))),
        mean=float(np.mean(errors)),
        median=float(np.median(errors)),
        std=float(np.std(errors)),
        min=float(errors.min()),
        max=float(errors.max()),
        sse=squares,
    )


def relative_errors(
    truth: Float[np.ndarray, "n 2"], estimate: Float[np.ndarray, "n 2"], delta: Delta
) -> Float[np.ndarray, " pairs"]:
    """RPE of every pair of poses that lie `delta` apart on the estimate's path, in metres; may be none."""
    if delta.unit == "frames":
        ends = np.arange(0, len(estimate), int(delta.value))
    else:
        ends = _milestones(estimate, delta.value)
    return position_errors(np.diff(estimate[ends], axis=0), np.diff(truth[ends], axis=0))


def _milestones(positions: Float[np.ndarray, "n 2"], distance: float) -> Int64[np.ndarray, " ends"]:
    """The first row, and every one at which the path since the last such row has reached the distance."""
    ends, travelled = [0], 0.0
    # Added up step by step: differences of one running sum round otherwise, and even steps end on the distance.
    for row, step in enumerate(np.diff(positions, axis=0), start=1):
        travelled += float(np.linalg.norm(step))
        if travelled >= distance:
            ends.append(row)
            travelled = 0.0
    return np.array(ends)
