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
from tmapr.reports.film.colours import BELIEF, GROUND, PANEL, QUIET, ROAD, RULE, TRUTH, mix
from tmapr.reports.film.marks import draw_belief, draw_estimate, draw_way
from tmapr.reports.film.moments import Moment, Story

_SMALL = 18.0
_KEYS = 34.0
"""Points at the lower edge for what the marks mean."""
_LENS, _SPAN = 178.0, 36.0
"""Points and metres that the lens is wide."""
_REMEMBERED = 200
"""Moments whose way is seen through the lens."""


class MapPanel:
    """Owns the layer of what stays; moments are to come in their order."""

    def __init__(self, story: Story, box: Box, scale: float) -> None:
        references = [path.positions[part] for path in story.run.references for part in split_at_silences(path.seconds)]
        room = Box(box.left, box.top, box.width, box.height - _KEYS)
        self.view = fit_view(MapAxes.of(story.sequence, story.run.references), room)
        self._box, self._story, self._last = box, story, None
        driven = [*references, story.sequence.truth.values[story.sequence.truth.known]]
        self._lens = Lens(choose_corner(room, self.view(np.vstack(driven))), references)
        self._layer = Canvas.blank(round(WIDTH * scale), GROUND).inside(box)
        self._layer.fill(box, PANEL)
        for part in references:
            self._layer.line(keep_bends(self.view(part)), ROAD, 9.0)
        self._draw_scale_bar()
        self._draw_keys()

    def drive(self, moment: Moment) -> None:
        """The way from the moment before to this one, which stays on the map."""
        before: Moment | None = self._last
        self._last = moment
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
        metres = round_step((self.view.x.high - self.view.x.low) / 8)
        width = metres * (self.view.x.pixels[1] - self.view.x.pixels[0]) / (self.view.x.high - self.view.x.low)
        right, y = self._box.right - 16, self._box.bottom - 14
        ends = np.array([[right - width, y - 6], [right - width, y], [right, y], [right, y - 6]])
        self._layer.line(ends, QUIET, 2.0)
        self._layer.text(f"{format_number(metres)} m", (right - width - 10, y), _SMALL, QUIET, align="right")

    def _draw_keys(self) -> None:
        """What the marks mean, in a row at the lower edge."""
        sequence = self._story.sequence
        x, y = self._box.left + 14, self._box.bottom - 14
        keys = [(ROAD, 7.0, f"mapped: {', '.join(self._story.run.experiment.data.references)}")]
        if sequence.truth.known.any():
            keys.append((TRUTH, 1.5, "true path"))
        for colour, width, words in keys:
            self._layer.line(np.array([[x + 2, y - 6], [x + 24, y - 6]]), colour, width)
            x = self._layer.text(self._layer.shorten(words, 300, _SMALL), (x + 35, y), _SMALL, QUIET) + 22
        if sequence.trial.beliefs is not None:
            self._layer.dot(np.array([x + 8, y - 6]), 7.0, mix(BELIEF, PANEL, 0.7))
            self._layer.text("it may be here", (x + 22, y), _SMALL, QUIET)


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
        frame.fill(self._box.shrink(-3), RULE)
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
    inner = box.shrink(10)
    corners = [
        Box(left, top, _LENS, _LENS)
        for left in (inner.left, inner.right - _LENS)
        for top in (inner.top, inner.bottom - _LENS)
    ]

    def count_hidden(corner: Box) -> int:
        low, high = [corner.left, corner.top], [corner.right, corner.bottom]
        return int(((points >= low) & (points <= high)).all(axis=1).sum())

    return min(corners, key=count_hidden)
