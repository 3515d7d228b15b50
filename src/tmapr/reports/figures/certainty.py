"""How certain the route filter was over time: of the place that the estimate names, and of being off the map."""

import numpy as np

from tmapr.artifacts.trajectory import Column
from tmapr.reports.drawing.lines import keep_extremes, split_at_silences
from tmapr.reports.drawing.scale import LinearScale, format_number
from tmapr.reports.drawing.svg import Key, axes, drawing, layer, line, lines, marker
from tmapr.reports.figures.error_curve import ErrorAxes
from tmapr.reports.reported import ReportedSequence

_TOP, _BOTTOM = 16.0, 176.0
_HEIGHT = _BOTTOM + 46.0

CURSOR = (_TOP, _BOTTOM)
"""How far up and down a line through one moment goes, in pixels."""


def draw_certainty(sequence: ReportedSequence, certainty: float) -> str:
    """Two lines over the time of the error curve, and the probability from which on a frame is localized."""
    times, y = ErrorAxes.of(sequence), LinearScale(0.0, 1.0, (_BOTTOM, _TOP), 5)

    def curve(column: Column, role: str) -> str:
        seconds = sequence.seconds[column.known]
        points = np.column_stack([times.x(seconds / times.unit), y(column.values[column.known])])
        return lines([keep_extremes(points[part]) for part in split_at_silences(seconds)], role)

    left, right = times.x.pixels
    level = float(y(np.array([certainty]))[0])
    parts = [
        axes(times.x, y, (times.title, "probability")),
        layer("threshold", line(np.array([[left, level], [right, level]]), "threshold")),
        layer("off-map", curve(sequence.table.p_off_map, "off-map")),
        layer("this-place", curve(sequence.table.p_place, "this-place")),
        marker("cursor"),
    ]
    described = "Probability over time of the place that the estimate names, and of being off the map."
    return drawing(_HEIGHT, f"Certainty over time of {sequence.name}", described, parts)


def list_certainty_keys(certainty: float) -> list[Key]:
    """What is drawn, each key of one layer."""
    words = f"localized from {format_number(certainty)} on"
    return [
        Key("line", "this-place", "this place"),
        Key("line", "off-map", "off the map"),
        Key("line", "threshold", words),
    ]
