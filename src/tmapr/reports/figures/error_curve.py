"""The error over time: log scale, so that a lost minute does not flatten the good ones; beneath it, the status.

Where nobody knows the truth, what the filter states of its error is left.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.trajectory import Column
from tmapr.reports.drawing.lines import SILENCE, keep_distinct, keep_extremes, split_at_silences
from tmapr.reports.drawing.scale import LinearScale, LogarithmicScale
from tmapr.reports.drawing.svg import (
    WIDTH,
    Key,
    area,
    axes,
    dots,
    drawing,
    label,
    layer,
    lines,
    marker,
    rectangle,
    strips,
)
from tmapr.reports.reported import ReportedSequence
from tmapr.types import Status

# Room for the names of the lanes, also as large as a phone shows them.
_LEFT, _RIGHT, _TOP, _BOTTOM = 138.0, WIDTH - 12.0, 16.0, 272.0
_LANE, _BAR, _LANES_AT = 25.0, 11.0, _BOTTOM + 50.0
_HEIGHT = _LANES_AT + _LANE * len(Status)
_LOWEST, _HIGHEST = -2, 5
_MINUTE, _MINUTES_FROM = 60.0, 1200.0

LANES = {status: "pose head" if status is Status.APR_ONLY else status.value for status in Status}
"""How a status is called."""

CURSOR = (_TOP, _HEIGHT - 8)
"""How far up and down a line through one moment goes, in pixels."""


@dataclass(frozen=True, slots=True)
class ErrorAxes:
    """Time since the first frame to the right, in seconds or minutes; the error upward, in decades of metres."""

    x: LinearScale
    y: LogarithmicScale
    unit: float

    def __call__(self, seconds: Float[np.ndarray, " n"], errors: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 2"]:
        """Seconds and metres to pixels."""
        return np.column_stack([self.x(seconds / self.unit), self.y(errors)])

    @property
    def title(self) -> str:
        """Of the axis of time."""
        return f"time since the first frame, {'min' if self.unit == _MINUTE else 's'}"

    @classmethod
    def of(cls, sequence: ReportedSequence) -> "ErrorAxes":
        """The axes of a test sequence."""
        unit = _MINUTE if sequence.seconds[-1] > _MINUTES_FROM else 1.0
        tracks = map(sequence.errors, (sequence.apr, sequence.fused, sequence.table.first.positions))
        errors = np.concatenate([track.values[track.known] for track in tracks])
        x = LinearScale(0.0, max(float(sequence.seconds[-1]), 1e-3) / unit, (_LEFT, _RIGHT), 10)
        return cls(x, fit_decades(errors if len(errors) else sequence.semi_axes, (_BOTTOM, _TOP)), unit)


def draw_errors(sequence: ReportedSequence) -> str:
    """APR and fused as lines, the first candidate and wrong accepted ones as dots, the 95 % semi-axis as a band."""
    apr, fused, retrieval = map(sequence.errors, (sequence.apr, sequence.fused, sequence.table.first.positions))
    axis = ErrorAxes.of(sequence)
    candidates = axis(sequence.seconds, retrieval.values)
    judged = axis(sequence.seconds, sequence.errors(sequence.table.reference_positions).values)
    marks = [
        layer("band", *_draw_band(axis, sequence)),
        layer("apr", _draw_curve(axis, sequence, apr, "apr")),
        layer("retrieval", dots(keep_distinct(candidates[retrieval.known]), "retrieval")),
        layer("fused localized", _draw_curve(axis, sequence, fused, "fused localized")),
        layer("wrong", dots(keep_distinct(judged[sequence.misled]), "wrong")),
        marker("cursor", "here"),
    ]
    known = bool(fused.known.any())
    titles = (axis.title, "position error, m" if known else "stated 95 % semi-axis, m")
    parts = [axes(axis.x, axis.y, titles), *_draw_lanes(axis.x(sequence.seconds / axis.unit), sequence), *marks]
    described = (
        "Position error in metres over time, logarithmic, of pose head, fused track and best match, and the status."
        if known
        else "Longest semi-axis of the stated 95 % ellipse in metres over time, logarithmic, and the status."
    )
    title = f"{'Error' if known else 'Stated uncertainty'} over time of {sequence.name}"
    return drawing(_HEIGHT, title, described, parts)


def list_error_keys(sequence: ReportedSequence) -> list[Key]:
    """What is drawn, each key of one layer."""
    band = Key("area", "band", "95 % semi-axis stated by the filter")
    if not sequence.truth.known.any():
        return [band]
    keys = [Key("line", "fused localized", "fused track"), band]
    if sequence.errors(sequence.apr).known.any():
        keys.append(Key("line", "apr", "pose head"))
    if sequence.errors(sequence.table.first.positions).known.any():
        keys.append(Key("dot", "retrieval", "best match alone"))
    return [*keys, Key("dot", "wrong", "wrong match accepted")] if sequence.misled.any() else keys


def fit_decades(errors: Float[np.ndarray, " n"], pixels: tuple[float, float]) -> LogarithmicScale:
    """An axis of whole decades around all but the smallest twentieth; an exact hit has no logarithm."""
    lowest, highest = np.percentile(errors, [5, 100]).tolist()
    low = math.floor(math.log10(lowest)) if lowest > 0 else _LOWEST
    low = min(max(low, _LOWEST), _HIGHEST - 1)
    high = math.ceil(math.log10(highest)) if highest > 0 else low
    return LogarithmicScale(low, min(max(high, low + 1), _HIGHEST), pixels)


def _draw_curve(axis: ErrorAxes, sequence: ReportedSequence, errors: Column, role: str) -> str:
    known = errors.known
    points = axis(sequence.seconds[known], errors.values[known])
    return lines([keep_extremes(points[part]) for part in split_at_silences(sequence.seconds[known])], role)


def _draw_band(axis: ErrorAxes, sequence: ReportedSequence) -> list[str]:
    points = axis(sequence.seconds, sequence.semi_axes)
    parts = [keep_extremes(points[part]) for part in split_at_silences(sequence.seconds)]
    return [*(area(part, _BOTTOM, "band") for part in parts), lines(parts, "band")]


def _draw_lanes(pixels: Float[np.ndarray, " n"], sequence: ReportedSequence) -> list[str]:
    """A lane for each status, so that colour is not the only thing that tells them apart."""
    parts = []
    for lane, status in enumerate(Status):
        y = _LANES_AT + _LANE * lane
        chosen = np.array([given is status for given in sequence.table.statuses])
        spans = _cover_columns(pixels, sequence.seconds, chosen)
        parts += [
            label(_LEFT - 8, y + 9, LANES[status], "end", "tick"),
            rectangle((_LEFT, _RIGHT), (y, y + _BAR), "lane"),
            strips(spans, (y, y + _BAR), status.value.replace(" ", "-")),
        ]
    return parts


def _cover_columns(
    pixels: Float[np.ndarray, " n"], seconds: Float[np.ndarray, " n"], chosen: Bool[np.ndarray, " n"]
) -> list[tuple[float, float]]:
    """Pixel columns that a chosen frame touches; a frame lasts until the next one, unless a silence follows."""
    lasting = np.append(np.diff(seconds) <= SILENCE, False)
    stops = np.where(lasting, np.append(pixels[1:], pixels[-1]), pixels)
    covered = np.zeros(math.ceil(_RIGHT) + 2, dtype=np.int8)
    for start, stop in zip(pixels[chosen].tolist(), stops[chosen].tolist(), strict=True):
        covered[math.floor(start) : max(math.ceil(stop), math.floor(start) + 1)] = 1
    edges = np.flatnonzero(np.diff(covered, prepend=0, append=0)).astype(float).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))
