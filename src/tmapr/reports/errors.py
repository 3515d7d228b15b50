"""The error over time: log scale, so that a lost minute does not flatten the good ones; beneath it, the status."""

import math

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.trajectory import Column
from tmapr.reports.evidence import SequenceEvidence
from tmapr.reports.figure import WIDTH, Key, area, axes, dots, drawing, label, legend, lines, rectangle, strips
from tmapr.reports.scale import Linear, Logarithmic, Scale
from tmapr.reports.stretches import SILENCE, stretches
from tmapr.reports.thinning import distinct, extremes
from tmapr.types import Status

_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, WIDTH - 12.0, 44.0, 300.0
_LANE, _LANES_AT = 15.0, _BOTTOM + 50.0
_LOWEST, _HIGHEST = -2, 5
_MINUTES_FROM = 1200.0


def error_view(sequence: SequenceEvidence) -> str:
    """APR and fused as lines, the first candidate as dots, the stated 95 % semi-axis as a band."""
    apr, fused, retrieval = map(sequence.errors, (sequence.apr, sequence.fused, sequence.candidates))
    unit, word = (60.0, "min") if sequence.seconds[-1] > _MINUTES_FROM else (1.0, "s")
    x = Linear(0.0, max(float(sequence.seconds[-1]), 1e-3) / unit, (_LEFT, _RIGHT), 10)
    y = _log_axis(np.concatenate([track.values[track.known] for track in (apr, fused, retrieval)]))
    pixels = x(sequence.seconds / unit)
    marks = _band(pixels, sequence, y)
    keys = [Key("line", "fused localized", "fused"), Key("area", "band", "95 % semi-axis stated by the filter")]
    if apr.known.any():
        marks.append(_curve(pixels, sequence, apr, y, "apr"))
        keys.append(Key("line", "apr", "APR"))
    if retrieval.known.any():
        seen = np.column_stack([pixels, y(retrieval.values)])[retrieval.known]
        marks.append(dots(distinct(seen), "retrieval"))
        keys.append(Key("dot", "retrieval", "first candidate"))
    marks.append(_curve(pixels, sequence, fused, y, "fused localized"))
    titles = (f"time since the first frame, {word}", "position error, m")
    parts = [legend(keys, _LEFT, 14.0), axes(x, y, titles), *marks, *_lanes(pixels, sequence)]
    described = "Position error in metres over time, logarithmic, of APR, fused and first candidate, and the status."
    height = _LANES_AT + _LANE * len(Status) + 8
    return drawing(height, f"Error over time of {sequence.name}", described, parts)


def _log_axis(errors: Float[np.ndarray, " n"]) -> Logarithmic:
    """Whole decades around all but the smallest twentieth; an exact hit has no logarithm."""
    lowest, highest = np.percentile(errors, [5, 100]).tolist()
    low = math.floor(math.log10(lowest)) if lowest > 0 else _LOWEST
    low = min(max(low, _LOWEST), _HIGHEST - 1)
    high = math.ceil(math.log10(highest)) if highest > 0 else low
    return Logarithmic(low, min(max(high, low + 1), _HIGHEST), (_BOTTOM, _TOP))


def _curve(pixels: Float[np.ndarray, " n"], sequence: SequenceEvidence, errors: Column, y: Scale, role: str) -> str:
    known = errors.known
    points = np.column_stack([pixels[known], y(errors.values[known])])
    return lines([extremes(points[part]) for part in stretches(sequence.seconds[known])], role)


def _band(pixels: Float[np.ndarray, " n"], sequence: SequenceEvidence, y: Scale) -> list[str]:
    points = np.column_stack([pixels, y(sequence.semi_axes)])
    parts = [extremes(points[part]) for part in stretches(sequence.seconds)]
    return [*(area(part, _BOTTOM, "band") for part in parts), lines(parts, "band")]


def _lanes(pixels: Float[np.ndarray, " n"], sequence: SequenceEvidence) -> list[str]:
    """A lane for each status, so that colour is not the only thing that tells them apart."""
    parts = []
    for lane, status in enumerate(Status):
        y = _LANES_AT + _LANE * lane
        chosen = np.array([given is status for given in sequence.statuses])
        spans = _columns(pixels, sequence.seconds, chosen)
        parts += [
            label(_LEFT - 8, y + 9, status.value, "end", "tick"),
            rectangle((_LEFT, _RIGHT), (y, y + _LANE - 4), "lane"),
            strips(spans, (y, y + _LANE - 4), status.value.replace(" ", "-")),
        ]
    return parts


def _columns(
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
