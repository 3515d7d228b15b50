"""What a tracker has to beat: the plain first candidate of each frame, and the best line through ten frames of them.

Both answer every usable frame. They state that the truth is within the radius of a right candidate: 95 % of a circular
Gaussian.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from tmapr.evaluation.decisions import Judged, Mapped
from tmapr.evaluation.loops import RADIUS
from tmapr.running.progressive import RecognisedDrive
from tmapr.types import CHI2_95

LINE = 10
"""Frames."""
_WEIGHT, _PRIOR = 0.8, 20.0
"""Of the drive's mean that is taken out of a view, and the views after which that counts half."""


def answer_first(judged: Judged) -> Judged:
    """Every frame with a candidate is where its first candidate is."""
    return _claim(judged, judged.first)


def answer_lines(judged: Judged, drive: RecognisedDrive, mapped: Mapped) -> Judged:
    """Every frame is where the best line through the last ten ends; the speed of the line is known.

    A line goes through the references in the order in which they were driven, by the ratio of metres a frame.
    """
    scores, known = compare_views(drive), drive.recording.known
    usable = np.array([percept.fault is None for percept in drive.recording.percepts])
    scores[~usable] = 0.0
    steps = np.hypot(*np.diff(drive.recording.truth[known], axis=0).T)
    moving = steps[steps > 0]
    ratio = float(np.median(moving)) / mapped.spacing if len(moving) and mapped.spacing else 1.0
    positions = np.where(usable[:, None], mapped.positions[find_lines(scores, ratio)], np.nan)
    return _claim(judged, positions[known])


def compare_views(drive: RecognisedDrive) -> Float[np.ndarray, "frames refs"]:
    """The cosine of each view with each reference in driven order, what the map and what the drive share taken out."""
    references = drive.memory.descriptors[drive.memory.order].astype(float)
    views = np.array([percept.descriptor for percept in drive.recording.percepts])
    count = np.arange(1, len(views) + 1)[:, None]
    own = _WEIGHT * count / (count + _PRIOR) * (np.cumsum(views, axis=0) / count)
    return _normalise(views - own) @ _normalise(references - _WEIGHT * references.mean(axis=0)).T


def find_lines(scores: Float[np.ndarray, "frames refs"], ratio: float, length: int = LINE) -> np.ndarray:
    """The reference at which the best line ends, for each frame; `ratio` is in references a frame."""
    total, count = np.zeros_like(scores), np.zeros_like(scores)
    for back in range(min(length, len(scores))):
        by = round(back * ratio)
        if by < scores.shape[1]:
            total[back:, by:] += scores[: len(scores) - back, : scores.shape[1] - by]
            count[back:, by:] += 1
    return np.argmax(total / count, axis=1)


def _normalise(rows: Float[np.ndarray, "n dim"]) -> Float[np.ndarray, "n dim"]:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _claim(judged: Judged, positions: Float[np.ndarray, "n 2"]) -> Judged:
    answered = ~np.isnan(positions).any(axis=1)
    covariances = np.tile(np.eye(2) * RADIUS**2 / CHI2_95, (len(positions), 1, 1))
    estimated = np.where(answered[:, None], positions, judged.estimated)
    return replace(judged, estimated=estimated, covariances=covariances, localized=answered)
