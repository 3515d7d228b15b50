"""Reliability: of the frames on which a place was given some probability, how many were at that place?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.reports.drawing.scale import LinearScale
from tmapr.reports.drawing.svg import HALF, Key, axes, dots, drawing, label, legend, line, lines
from tmapr.reports.reported import ReportedSequence

_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, HALF - 12.0, 22.0, 302.0
_LEGEND_BELOW, _LINE = 60.0, 18.0
_NORMAL = 1.959964  # the 97.5th percentile of a normal distribution

BINS = 10
"""Of equal width, from no probability to all of it."""


@dataclass(frozen=True, slots=True)
class Reliability:
    """For each bin that has frames: their number, their mean stated probability, the share that was right."""

    counts: Int[np.ndarray, " bins"]
    stated: Float[np.ndarray, " bins"]
    right: Float[np.ndarray, " bins"]

    @classmethod
    def of(cls, probabilities: Float[np.ndarray, " n"], right: Bool[np.ndarray, " n"]) -> "Reliability":
        """Sort frames into bins; a probability on a bound belongs to the bin above, and 1 to the last."""
        bins = np.clip((probabilities * BINS).astype(np.int64), 0, BINS - 1)
        counts, stated, hits = (
            np.bincount(bins, weights, minlength=BINS) for weights in (None, probabilities, right.astype(float))
        )
        filled = counts > 0
        return cls(counts[filled], stated[filled] / counts[filled], hits[filled] / counts[filled])

    @property
    def intervals(self) -> Float[np.ndarray, "bins 2"]:
        """Where the true share of each bin lies with 95 % if frames were independent (Wilson 1927)."""
        spread = _NORMAL**2 / self.counts
        middle = (self.right + spread / 2) / (1 + spread)
        half = np.sqrt(spread * (self.right * (1 - self.right) + spread / 4)) / (1 + spread)
        return np.column_stack([middle - half, middle + half])


def draw_reliability(sequence: ReportedSequence) -> str | None:
    """The share of right frames over the stated probability of the place; None without a belief or without truth."""
    errors, stated = sequence.errors(sequence.fused), sequence.table.p_place
    known = errors.known & stated.known
    if sequence.trial.beliefs is None or not known.any():
        return None
    right = errors.values[known] <= sequence.tolerance
    found = Reliability.of(stated.values[known], right)
    x, y = LinearScale(0.0, 1.0, (_LEFT, _RIGHT), 5), LinearScale(0.0, 1.0, (_BOTTOM, _TOP), 5)
    points = np.column_stack([x(found.stated), y(found.right)])
    whiskers = [
        np.column_stack([np.full(2, at), y(ends)]) for at, ends in zip(points[:, 0], found.intervals, strict=True)
    ]
    keys = [
        Key("dot", "confident", "a tenth of the axis: frames, 95 % interval"),
        Key("line", "threshold", "as stated; below it, it was too sure"),
    ]
    parts = [
        axes(x, y, ("stated probability of the place", "share of frames at that place")),
        line(np.array([[_LEFT, _BOTTOM], [_RIGHT, _TOP]]), "threshold"),
        lines(whiskers, "whisker"),
        dots(points, "binned"),
        *(
            label(at, max(float(end) - 6, _TOP - 8), str(count), "middle", "halo")
            for at, end, count in zip(points[:, 0], y(found.intervals[:, 1]), found.counts.tolist(), strict=True)
        ),
        *(legend([key], _LEFT, _BOTTOM + _LEGEND_BELOW + _LINE * n) for n, key in enumerate(keys)),
    ]
    described = "Share of frames at the place that the estimate names, over the probability that was stated for it."
    height = _BOTTOM + _LEGEND_BELOW + _LINE * len(keys)
    return drawing(height, f"Reliability on {sequence.name}", described, parts, HALF)
