"""The map view: which traverses were mapped, where the camera was, and where it was said to be.

Each kind of mark is a layer of its own, named by its role, so that a reader can take it away.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tmapr.reports.drawing.lines import keep_bends, keep_distinct, split_at_silences, split_by_status
from tmapr.reports.drawing.scale import LinearScale, format_number, round_step
from tmapr.reports.drawing.svg import WIDTH, Key, axes, dots, drawing, label, layer, line, lines, marker, window
from tmapr.reports.reported import ReportedSequence, TimedPath
from tmapr.types import Status

_LEFT, _RIGHT, _TOP, _BELOW = 78.0, WIDTH - 12.0, 10.0, 46.0
_TALLEST, _SHORTEST = 620.0, 260.0
_MARGIN, _STRAY = 0.06, 0.4
_LEAST = 1.0


@dataclass(frozen=True, slots=True)
class MapAxes:
    """Two axes with one scale; y in pixels runs downward, so its axis starts at the bottom."""

    x: LinearScale
    y: LinearScale

    def __call__(self, positions: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        """Metres to pixels."""
        return np.column_stack([self.x(positions[:, 0]), self.y(positions[:, 1])])

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
    def around(cls, mapped: Float[np.ndarray, "n 2"], fused: Float[np.ndarray, "m 2"]) -> "MapAxes":
        """Shows all that was driven, and of the estimates what does not stray too far: an outlier shrinks nothing."""
        low, high = mapped.min(axis=0), mapped.max(axis=0)
        reach = _STRAY * max(float((high - low).max()), _LEAST)
        low = np.maximum(np.minimum(low, fused.min(axis=0)), low - reach)
        high = np.minimum(np.maximum(high, fused.max(axis=0)), high + reach)
        center, size = (low + high) / 2, np.maximum((high - low) * (1 + 2 * _MARGIN), _LEAST)
        wide = _RIGHT - _LEFT
        tall = float(np.clip(wide * size[1] / size[0], _SHORTEST, _TALLEST))
        half = max(size[0] / wide, size[1] / tall) / 2 * np.array([wide, tall])
        (x_low, y_low), (x_high, y_high) = (center - half).tolist(), (center + half).tolist()
        # One spacing for both axes: the squares of the grid are squares on the ground.
        step = (x_high - x_low) / 10
        return cls(
            LinearScale(x_low, x_high, (_LEFT, _RIGHT), 10),
            LinearScale(y_low, y_high, (_TOP + tall, _TOP), max(1, round((y_high - y_low) / step))),
        )


def draw_map(
    sequence: ReportedSequence, references: Sequence[TimedPath], names: tuple[str, str], sampled: Sequence[int] = ()
) -> str:
    """References, truth, the pose head's points, and the fused line in the colour of its status.

    Beside them a line from each frame to the wrong match that was believed, the numbers of the sampled frames, and a
    marker that a script moves.
    """
    truth = TimedPath(sequence.seconds[sequence.truth.known], sequence.truth.values[sequence.truth.known])
    view = MapAxes.of(sequence, references)
    apr = view(view.keep_inside(sequence.apr.values[sequence.apr.known]))
    marks = [
        layer("reference", *(_draw_route(view, path, "reference") for path in references)),
        layer("apr", dots(keep_distinct(apr), "apr faint")),
        layer("truth", _draw_route(view, truth, "truth")),
        *_draw_estimates(view, sequence),
        layer("wrong", *_draw_wrong(view, sequence)),
        dots(view(truth.positions[:1]), "start"),
        *_draw_numbers(view(locate_frames(sequence)[list(sampled)])),
        *([layer("likely", marker("likely"))] if sequence.trial.beliefs is not None else []),
        marker("gap", "link", "matched", "here"),
    ]
    bottom, top = view.y.pixels
    start_x, start_y = view(truth.positions[:1])[0].tolist()
    parts = [
        axes(view.x, view.y, (f"{names[0]}, m", f"{names[1]}, m")),
        window(view.x.pixels, (top, bottom), marks),
        label(start_x + 9, start_y - 7, "start", role="halo"),
        _draw_scale_bar(view),
    ]
    described = (
        "Map in metres with equal axes: reference traverse, true path, fused path by status, APR positions, and a line"
        " from each frame to a wrong match that was accepted."
    )
    return drawing(bottom + _BELOW, f"Map of {sequence.name}", described, parts)


def list_map_keys(sequence: ReportedSequence) -> list[Key]:
    """What is drawn, each key of one layer."""
    keys = [Key("line", "reference", "reference"), Key("line", "truth", "truth")]
    keys += [
        Key("line", _name_role(status), f"fused, {status.value}")
        for status in Status
        if status in sequence.table.statuses
    ]
    if sequence.apr.known.any():
        keys.append(Key("dot", "apr", "APR"))
    if sequence.trial.beliefs is not None:
        keys.append(Key("dot", "likely", "where the frame may be"))
    wrong = int(sequence.misled.sum())
    return [*keys, Key("line", "wrong", f"wrong match accepted: {wrong}")] if wrong else keys


def locate_frames(sequence: ReportedSequence) -> Float[np.ndarray, "n 2"]:
    """Where each frame was taken; where nobody knows, where it was said to be."""
    return np.where(sequence.truth.known[:, None], sequence.truth.values, sequence.fused.values)


def count_unseen(sequence: ReportedSequence, references: Sequence[TimedPath]) -> int:
    """How many fused positions lie outside the view."""
    fused = sequence.fused.values
    return len(fused) - len(MapAxes.of(sequence, references).keep_inside(fused))


def _draw_route(view: MapAxes, track: TimedPath, role: str) -> str:
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


def _draw_wrong(view: MapAxes, sequence: ReportedSequence) -> list[str]:
    """From where the camera was to the reference that it was taken for."""
    wrong = sequence.misled
    starts, stops = view(locate_frames(sequence)[wrong]), view(sequence.table.reference_positions.values[wrong])
    ways = [np.array(way) for way in zip(starts, stops, strict=True)]
    return [lines(ways, "wrong"), dots(keep_distinct(stops), "wrong")]


def _draw_numbers(points: Float[np.ndarray, "k 2"]) -> list[str]:
    numbers = (
        label(x, y + 4, str(number), "middle", "number") for number, (x, y) in enumerate(points.tolist(), start=1)
    )
    return [dots(points, "sampled"), *numbers]


def _name_role(status: Status) -> str:
    return f"fused {status.value.replace(' ', '-')}"


def _draw_scale_bar(view: MapAxes) -> str:
    """A round length of about a tenth of the width, below the axis, where it hides nothing."""
    metres = round_step((view.x.high - view.x.low) / 12)
    width = metres * (_RIGHT - _LEFT) / (view.x.high - view.x.low)
    right, y = _RIGHT - 1, view.y.pixels[0] + 37
    ends = np.array([[right - width, y - 4], [right - width, y], [right, y], [right, y - 4]])
    return line(ends, "scale") + label(right - width - 8, y, f"{format_number(metres)} m", "end", "tick scale")
