"""Confidence against error: what the filter stated of its error, and how far it was off, frame by frame."""

import numpy as np
from jaxtyping import Bool, Float

from tmapr.reports.drawing.lines import keep_distinct
from tmapr.reports.drawing.scale import LogarithmicScale
from tmapr.reports.drawing.svg import HALF, Key, axes, dots, drawing, label, legend, line
from tmapr.reports.figures.error_curve import fit_decades
from tmapr.reports.reported import ReportedSequence

_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, HALF - 22.0, 12.0, 302.0
_LEGEND_BELOW, _LINE = 60.0, 18.0


def draw_confidence(sequence: ReportedSequence) -> str | None:
    """A dot for each frame whose true position is known, and the line on which the error is what was stated."""
    errors = sequence.errors(sequence.fused)
    if not errors.known.any():
        return None
    stated, actual = sequence.semi_axes[errors.known], errors.values[errors.known]
    localized = sequence.trial.localized[errors.known]
    x, y = _fit_axes(stated, actual)
    points = np.column_stack([x(stated), y(actual)])
    beyond = actual > stated
    keys = [
        Key("dot", "confident", _tell("localized", beyond[localized])),
        Key("dot", "doubtful", _tell("not localized", beyond[~localized])),
        Key("line", "threshold", "as stated: 95 of 100 frames should lie below"),
    ]
    parts = [
        axes(x, y, ("stated 95 % semi-axis, m", "actual error, m")),
        dots(keep_distinct(points[~localized]), "doubtful"),
        dots(keep_distinct(points[localized]), "confident"),
        line(np.array([[_LEFT, _BOTTOM], [_RIGHT, _TOP]]), "threshold"),
        label(_LEFT + 8, _TOP + 14, "↑ claimed more than it knew", role="halo"),
        *(legend([key], _LEFT, _BOTTOM + _LEGEND_BELOW + _LINE * n) for n, key in enumerate(keys)),
    ]
    described = (
        "Actual position error over the stated 95 % semi-axis in metres, both logarithmic, a dot for each frame."
    )
    height = _BOTTOM + _LEGEND_BELOW + _LINE * len(keys)
    return drawing(height, f"Confidence against error on {sequence.name}", described, parts, HALF)


def _fit_axes(
    stated: Float[np.ndarray, " n"], actual: Float[np.ndarray, " n"]
) -> tuple[LogarithmicScale, LogarithmicScale]:
    """The same decades on both, so that the line of honesty leads from corner to corner."""
    both = fit_decades(np.concatenate([stated, actual]), (_BOTTOM, _TOP))
    return LogarithmicScale(both.low, both.high, (_LEFT, _RIGHT)), both


def _tell(name: str, beyond: Bool[np.ndarray, " n"]) -> str:
    if not len(beyond):
        return f"{name}: no frame"
    return f"{name}: {int(beyond.sum())} of {len(beyond)} above the line ({100 * beyond.mean():.1f} %)"
