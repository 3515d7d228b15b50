"""The map of a film: the mapped way, the way driven so far, and where the camera may be at this moment.

The whole route is shown and does not move: a belief that is split over distant places is then seen to be, and nobody
loses their bearings. What is too small to be seen so, the ellipse and the way to the match, is in a lens that follows.
The way driven is drawn once, piece by piece, so that a long drive costs no more than a short one.
"""

from collections import deque
from itertools import pairwise

import numpy as np

from tmapr.reports.drawing.lines import SILENCE, keep_bends, split_at_silences
from tmapr.reports.drawing.scale import LinearScale, format_number, round_step
from tmapr.reports.figures.trajectory_map import MapAxes
from tmapr.reports.film.canvas import WIDTH, Box, Canvas, Points
from tmapr.reports.film.colours import ALIKE, BELIEF, GROUND, PANEL, QUIET, ROAD, RULE, TRUTH, mix
from tmapr.reports.film.marks import draw_belief, draw_estimate, draw_way
from tmapr.reports.film.moments import Moment, Story

_SMALL = 18.0
_KEYS = 34.0
"""Points at the lower edge for what the marks mean."""
_BAR = 36.0
"""Points of the scale's bar, at least."""
_LENS, _SPAN = 178.0, 36.0
"""Points and metres that the lens is wide."""
_INSET = 10.0
_REMEMBERED = 200
"""Moments whose way is seen through the lens."""


class MapPanel:
    """Owns the layer of what stays; moments are to come in their order."""

    def __init__(self, story: Story, box: Box, scale: float) -> None:
        sequence, mapped = story.sequence, story.run.references
        references = [path.positions[part] for path in mapped for part in split_at_silences(path.seconds)]
        room, axes = Box(box.left, box.top, box.width, box.height - _KEYS), MapAxes.of(sequence, mapped)
        driven = np.vstack([*references, sequence.truth.values[sequence.truth.known]])
        self.view = fit_view(axes, room)
        corner = choose_corner(room, self.view(driven))
        if count_inside(corner, self.view(driven)):
            self.view = fit_view(axes, leave_out(room, corner))
        self._box, self._story = box, story
        self._last: Moment | None = None
        self._lens = Lens(corner, references)
        self._layer = Canvas.blank(round(WIDTH * scale), GROUND).inside(box)
        self._layer.fill(box, PANEL)
        for part in references:
            self._layer.line(keep_bends(self.view(part)), ROAD, 9.0)
        self._draw_scale_bar()
        self._draw_keys()

    def drive(self, moment: Moment) -> None:
        """The way from the moment before to this one, which stays on the map."""
        before, self._last = self._last, moment
        self._lens.follow(moment)
        if before is not None and moment.seconds - before.seconds <= SILENCE:
            draw_way(self._layer, self.view, before, moment)

    def draw(self, frame: Canvas, moment: Moment) -> None:
        """The map at a moment, on a film's frame."""
        canvas, references = frame.inside(self._box), self._story.run.memory.positions
        canvas.pixels[:] = self._layer.pixels
        draw_belief(canvas, self.view, references, moment)
        draw_estimate(canvas, self.view, moment)
        self._lens.draw(frame, references, moment)

    def _draw_scale_bar(self) -> None:
        scale = (self.view.x.pixels[1] - self.view.x.pixels[0]) / (self.view.x.high - self.view.x.low)
        metres = round_step(_BAR / scale)
        width = metres * scale
        right, y = self._box.right - 16, self._box.bottom - 14
        ends = np.array([[right - width, y - 6], [right - width, y], [right, y], [right, y - 6]])
        self._layer.line(ends, QUIET, 2.0)
        self._layer.text(f"{format_number(metres)} m", (right - width - 10, y), _SMALL, QUIET, align="right")

    def _draw_keys(self) -> None:
        """What the marks mean, in a row at the lower edge."""
        sequence, layer = self._story.sequence, self._layer
        x, y = self._box.left + 14, self._box.bottom - 14
        names = layer.shorten(", ".join(self._story.run.experiment.data.references), 80.0, _SMALL)
        keys = [(ROAD, 7.0, f"mapped: {names}")]
        if sequence.truth.known.any():
            keys.append((TRUTH, 1.5, "true path"))
        for colour, width, words in keys:
            layer.line(np.array([[x + 2, y - 6], [x + 22, y - 6]]), colour, width)
            x = layer.text(words, (x + 31, y), _SMALL, QUIET) + 20
        if sequence.trial.beliefs is not None:
            layer.dot(np.array([x + 8, y - 6]), 7.0, mix(BELIEF, PANEL, 0.7))
            x = layer.text("may be here", (x + 21, y), _SMALL, QUIET) + 20
        if sequence.table.first.positions.known.any():
            layer.ring(np.array([x + 8, y - 6]), 7.0, ALIKE, 2.5)
            layer.text("looks most alike", (x + 22, y), _SMALL, QUIET)


class Lens:
    """A few metres around the estimate, in a corner of the map; it remembers the last moments."""

    def __init__(self, box: Box, references: list[Points]) -> None:
        self._box, self._references = box, references
        self._recent: deque[Moment] = deque(maxlen=_REMEMBERED)

    def follow(self, moment: Moment) -> None:
        """Remember a moment."""
        self._recent.append(moment)

    def draw(self, frame: Canvas, references: Points, moment: Moment) -> None:
        """What lies around the estimate of a moment."""
        frame.fill(self._box.shrink(-3.0), RULE)
        canvas, (x, y), half = frame.inside(self._box), moment.position.tolist(), _SPAN / 2
        canvas.fill(self._box, GROUND)
        view = MapAxes(
            LinearScale(x - half, x + half, (self._box.left, self._box.right)),
            LinearScale(y - half, y + half, (self._box.bottom, self._box.top)),
        )
        for part in self._references:
            canvas.line(view(part), ROAD, 22.0)
        for before, after in pairwise(self._recent):
            if after.seconds - before.seconds <= SILENCE:
                draw_way(canvas, view, before, after)
        draw_belief(canvas, view, references, moment)
        draw_estimate(canvas, view, moment)
        corner = (self._box.left + 8, self._box.top + 21)
        canvas.text(f"{_SPAN:g} m", corner, _SMALL, QUIET)


def fit_view(axes: MapAxes, box: Box) -> MapAxes:
    """The same metres on the points of a box, in one scale."""
    size = np.array([axes.x.high - axes.x.low, axes.y.high - axes.y.low])
    scale = float(min(box.width / size[0], box.height / size[1]))
    wide, tall = (size * scale).tolist()
    left, bottom = box.left + (box.width - wide) / 2, box.bottom - (box.height - tall) / 2
    return MapAxes(
        LinearScale(axes.x.low, axes.x.high, (left, left + wide)),
        LinearScale(axes.y.low, axes.y.high, (bottom, bottom - tall)),
    )


def choose_corner(box: Box, points: Points) -> Box:
    """The corner of a box in which a lens hides the fewest points."""
    inner = box.shrink(_INSET)
    corners = [
        Box(left, top, _LENS, _LENS)
        for left in (inner.left, inner.right - _LENS)
        for top in (inner.top, inner.bottom - _LENS)
    ]

    return min(corners, key=lambda corner: count_inside(corner, points))


def count_inside(box: Box, points: Points) -> int:
    """How many points lie in a box."""
    low, high = [box.left, box.top], [box.right, box.bottom]
    return int(((points >= low) & (points <= high)).all(axis=1).sum())


def leave_out(box: Box, corner: Box) -> Box:
    """What is left of a box beside the lens in its corner."""
    beside = corner.width + _INSET
    on_left = corner.left < box.left + box.width / 2
    return Box(box.left + beside if on_left else box.left, box.top, box.width - beside, box.height)
