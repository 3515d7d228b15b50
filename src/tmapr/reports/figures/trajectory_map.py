"""The map view: which traverses were mapped, where the camera was, and where it was said to be.

Each kind of mark is a layer of its own, named by its role, so that a reader can take it away. Where nobody knows where
the camera was, the map shows the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from tmapr.evaluation.off_map import list_stretches
from tmapr.reports.drawing.lines import keep_bends, keep_distinct, split_at_silences, split_by_status
from tmapr.reports.drawing.markup import element
from tmapr.reports.drawing.scale import LinearScale, format_number, round_step
from tmapr.reports.drawing.svg import (
    WIDTH,
    Key,
    anchored_label,
    away_layer,
    axes,
    dots,
    drawing,
    label,
    layer,
    line,
    lines,
    marker,
    window,
)
from tmapr.reports.reported import ReportedSequence, TimedPath
from tmapr.types import CoordinateFrame, Status

_LEFT, _TOP, _BELOW, _ASIDE = 78.0, 10.0, 46.0, 12.0
_TALLEST, _SHORTEST = 620.0, 260.0
_MARGIN, _STRAY = 0.06, 0.4
_LEAST = 1.0
_SPACING = 83.0  # pixels from one number of an axis to the next, at least
_GRADES = ("graded small", "graded medium", "graded large")

GRADES = (1.0, 10.0)
"""Metres up to which an error is small, and up to which it is medium."""


@dataclass(frozen=True, slots=True)
class MapAxes:
    """Two axes with one scale; y in pixels runs downward, so its axis starts at the bottom."""

    x: LinearScale
    y: LinearScale

    def __call__(self, positions: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        """Metres to pixels."""
        return np.column_stack([self.x(positions[:, 0]), self.y(positions[:, 1])])

    @property
    def metre(self) -> float:
        """In pixels."""
        left, right = self.x.pixels
        return (right - left) / (self.x.high - self.x.low)

    def keep_inside(self, positions: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "kept 2"]:
        """The positions that can be seen."""
        low, high = [self.x.low, self.y.low], [self.x.high, self.y.high]
        return positions[((positions >= low) & (positions <= high)).all(axis=1)]

    @classmethod
    def of(cls, sequence: ReportedSequence, references: Sequence[TimedPath]) -> "MapAxes":
        """The view of a test sequence."""
        driven = np.vstack([sequence.truth.values[sequence.truth.known], *(path.positions for path in references)])
        return cls.around(driven, sequence.fused.values)

    @classmethod
    def around(
        cls, mapped: Float[np.ndarray, "n 2"], fused: Float[np.ndarray, "m 2"], width: float = WIDTH
    ) -> "MapAxes":
        """Shows all that was driven, and of the estimates what does not stray too far: an outlier shrinks nothing."""
        low, high = mapped.min(axis=0), mapped.max(axis=0)
        reach = _STRAY * max(float((high - low).max()), _LEAST)
        low = np.maximum(np.minimum(low, fused.min(axis=0)), low - reach)
        high = np.minimum(np.maximum(high, fused.max(axis=0)), high + reach)
        center, size = (low + high) / 2, np.maximum((high - low) * (1 + 2 * _MARGIN), _LEAST)
        wide = width - _ASIDE - _LEFT
        tall = float(np.clip(wide * size[1] / size[0], _SHORTEST, _TALLEST))
        half = max(size[0] / wide, size[1] / tall) / 2 * np.array([wide, tall])
        (x_low, y_low), (x_high, y_high) = (center - half).tolist(), (center + half).tolist()
        # One spacing for both axes: the squares of the grid are squares on the ground.
        count = round(wide / _SPACING)
        step = (x_high - x_low) / count
        return cls(
            LinearScale(x_low, x_high, (_LEFT, width - _ASIDE), count),
            LinearScale(y_low, y_high, (_TOP + tall, _TOP), max(1, round((y_high - y_low) / step))),
        )


def draw_map(
    sequence: ReportedSequence, references: Sequence[TimedPath], names: tuple[str, str], sampled: Sequence[int] = ()
) -> str:
    """References, truth, the pose head's points, and the fused line in the colour of its status.

    Beside them a line from each frame to the wrong match that was believed, the numbers of the sampled frames, and
    markers that a script moves.
    """
    truth = TimedPath(sequence.seconds[sequence.truth.known], sequence.truth.values[sequence.truth.known])
    view = MapAxes.of(sequence, references)
    apr = view(view.keep_inside(sequence.apr.values[sequence.apr.known]))
    start = view(locate_frames(sequence)[:1])
    marks = [
        layer("reference", *(draw_route(view, path, "reference") for path in references)),
        away_layer("graded large", *_draw_grades(view, sequence)),
        layer("apr", dots(keep_distinct(apr), "apr faint")),
        layer("truth", draw_route(view, truth, "truth")),
        *_draw_estimates(view, sequence),
        layer("wrong", *_draw_wrong(view, sequence)),
        dots(start, "start"),
        anchored_label(start[0], (9.0, -7.0), "start", "halo"),
        *_draw_numbers(view(locate_frames(sequence)[list(sampled)])),
        *([layer("likely", marker("likely"))] if sequence.trial.beliefs is not None else []),
        layer("ellipse", marker("ellipse")),
        marker("gap", "link", "matched", "here"),
    ]
    described = "Map in metres with equal axes: reference traverse, fused path by status, positions of the pose head."
    if len(truth.positions):
        described += " The true path, and a line from each frame to a wrong match that was accepted."
    return draw_window(view, names, f"Map of {sequence.name}", described, marks)


def name_axes(frame: CoordinateFrame) -> tuple[str, str]:
    """What the axes of a map are called."""
    return ("x", "y") if frame.kind == "local" else ("east", "north")


def draw_window(view: MapAxes, names: tuple[str, str], title: str, described: str, marks: Sequence[str]) -> str:
    """Marks on a map with axes and a scale, which a script can zoom: it is told the metres at the edges."""
    bottom, top = view.y.pixels
    spans = {"data-x": f"{view.x.low!r} {view.x.high!r}", "data-y": f"{view.y.low!r} {view.y.high!r}"}
    around = axes(view.x, view.y, (f"{names[0]}, m", f"{names[1]}, m"))
    parts = [
        element("g", {"class": "axes", **spans}, around, _draw_scale_bar(view)),
        window(view.x.pixels, (top, bottom), marks),
    ]
    return drawing(bottom + _BELOW, title, described, parts)


def list_map_keys(sequence: ReportedSequence) -> list[Key]:
    """What is drawn, each key of one layer."""
    known = bool(sequence.truth.known.any())
    keys = [Key("line", "reference", "mapped route"), *([Key("line", "truth", "truth")] if known else [])]
    keys += [
        Key("line", _name_role(status), STATUSES[status]) for status in Status if status in sequence.table.statuses
    ]
    if sequence.apr.known.any():
        keys.append(Key("dot", "apr", "pose head"))
    keys.append(Key("line", "ellipse", "95 % ellipse"))
    if sequence.trial.beliefs is not None:
        keys.append(Key("dot", "likely", "where the frame may be"))
    wrong = int(sequence.misled.sum())
    keys += [Key("line", "wrong", f"wrong match accepted: {wrong}")] if wrong else []
    return [*keys, Key("line", "graded large", "errors as colours", away=True)] if known else keys


STATUSES = {
    Status.LOCALIZED: "track, localized",
    Status.APR_ONLY: "track, pose head only",
    Status.PREDICTING: "track, predicting",
    Status.LOST: "track, lost",
}
"""The fused track by how far it can be trusted."""


def locate_frames(sequence: ReportedSequence) -> Float[np.ndarray, "n 2"]:
    """Where each frame was taken; where nobody knows, where it was said to be."""
    return np.where(sequence.truth.known[:, None], sequence.truth.values, sequence.fused.values)


def count_unseen(sequence: ReportedSequence, references: Sequence[TimedPath]) -> int:
    """How many fused positions lie outside the view."""
    fused = sequence.fused.values
    return len(fused) - len(MapAxes.of(sequence, references).keep_inside(fused))


def draw_route(view: MapAxes, track: TimedPath, role: str) -> str:
    """A path as one mark, broken at silences."""
    return lines([keep_bends(view(track.positions[part])) for part in split_at_silences(track.seconds)], role)


def _draw_estimates(view: MapAxes, sequence: ReportedSequence) -> list[str]:
    pixels = view(sequence.fused.values)
    parts = [
        (status, keep_bends(pixels[part]))
        for status, part in split_by_status(sequence.seconds, sequence.table.statuses)
    ]
    seen = [status for status in Status if status in sequence.table.statuses]
    drawn = {_name_role(status): [route for of, route in parts if of is status] for status in seen}
    return [layer(role, lines(routes, role)) for role, routes in drawn.items()]


def _draw_grades(view: MapAxes, sequence: ReportedSequence) -> list[str]:
    """The true path in the colour of the fused track's error there; a stretch goes on to the frame after it."""
    errors = sequence.errors(sequence.fused)
    rows = np.flatnonzero(errors.known)
    grades, pixels = np.digitize(errors.values[rows], GRADES, right=True), view(sequence.truth.values[rows])
    parts = split_at_silences(sequence.seconds[rows])

    def draw(chosen: Bool[np.ndarray, " n"], role: str) -> str:
        spans = [(part, span) for part in parts for span in list_stretches(chosen[part])]
        return lines([keep_bends(pixels[part][start : stop + 1]) for part, (start, stop) in spans], role)

    return [draw(grades == grade, role) for grade, role in enumerate(_GRADES)]


def _draw_wrong(view: MapAxes, sequence: ReportedSequence) -> list[str]:
    """From where the camera was to the reference that it was taken for."""
    wrong = sequence.misled
    starts, stops = view(locate_frames(sequence)[wrong]), view(sequence.table.reference_positions.values[wrong])
    ways = [np.array(way) for way in zip(starts, stops, strict=True)]
    return [lines(ways, "wrong"), dots(keep_distinct(stops), "wrong")]


def _draw_numbers(points: Float[np.ndarray, "k 2"]) -> list[str]:
    numbers = (anchored_label(at, (0.0, 4.0), str(number), "number") for number, at in enumerate(points, start=1))
    return [dots(points, "sampled"), *numbers]


def _name_role(status: Status) -> str:
    return f"fused {status.value.replace(' ', '-')}"


def _draw_scale_bar(view: MapAxes) -> str:
    """A round length of about a tenth of the width, below the axis, where it hides nothing."""
    metres = round_step((view.x.high - view.x.low) / 12)
    right, y = view.x.pixels[1] - 1, view.y.pixels[0] + 37
    left = right - metres * view.metre
    ends = np.array([[left, y - 4], [left, y], [right, y], [right, y - 4]])
    return line(ends, "scale") + label(left - 8, y, f"{format_number(metres)} m", "end", "tick scale")
