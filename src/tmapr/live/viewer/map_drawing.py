"""The map of a recording: references, where the camera may be, where it is said to be, and how it got there."""

import numpy as np
import rerun as rr
from jaxtyping import Float

from tmapr.live.viewer import blueprint as at
from tmapr.live.viewer.moments import Moment
from tmapr.live.viewer.trail import Trail, to_rgb
from tmapr.reports.drawing.lines import split_at_silences
from tmapr.reports.drawing.scale import format_number, round_step
from tmapr.reports.film.canvas import Points
from tmapr.reports.film.colours import BELIEF, INK, QUIET, ROAD, STATUSES, TRUTH
from tmapr.reports.film.marks import trace_ellipse
from tmapr.retrieval.memory import Memory
from tmapr.types import NANOSECONDS

_LARGEST, _SMALLEST = 14.0, 1.5
"""Points of radius of a place that has all the probability, and of one that has hardly any."""
_BAR = 0.15
"""Of the map's width, at least: the scale's bar."""


class MapDrawing:
    """Draws moments on a map, in metres from its middle: the viewer has 24 bits for a number, UTM needs more."""

    def __init__(self, stream: rr.RecordingStream, memory: Memory, driven: Points) -> None:
        self._stream = stream
        shown = np.vstack([memory.positions, driven])
        corners = shown.min(axis=0), shown.max(axis=0)
        self.middle = np.round((corners[0] + corners[1]) / 2)
        self.low, self.high = (corner - self.middle for corner in corners)
        self._references: Float[np.ndarray, "refs 2"] = memory.positions - self.middle
        self._track = Trail(stream, at.TRACK, at.RECENT_TRACK, radius=2.5, order=20.0)
        self._truth = Trail(stream, at.TRUTH, at.RECENT_TRUTH, radius=1.2, order=15.0)
        self._log(at.MAP, rr.Transform3D(mat3x3=np.diag([1.0, -1.0, 1.0])), static=True)
        stream.send_property("map", rr.AnyValues(middle=self.middle))
        self._draw_references(memory)
        self._draw_scale()

    def draw(self, moment: Moment) -> None:
        """A moment at the time that is set."""
        here, colour = moment.position - self.middle, to_rgb(STATUSES[moment.status])
        if moment.truth is not None:
            self._truth.extend(moment.truth - self.middle, TRUTH)
        self._track.extend(here, STATUSES[moment.status])
        self._draw_belief(moment)
        ring = trace_ellipse(here, moment.covariance)
        closed = np.vstack([ring, ring[:1]])
        self._log(at.ELLIPSE, rr.LineStrips2D([closed], colors=colour, radii=rr.Radius.ui_points(1.2), draw_order=30))
        self._draw_match(moment, here)
        # The lens looks from here, and has its y downward.
        self._log(
            at.HERE,
            rr.Transform3D(translation=[*here, 0.0], mat3x3=np.diag([1.0, -1.0, 1.0])),
            rr.Points2D([[0.0, 0.0]], colors=colour, radii=rr.Radius.ui_points(5.5), draw_order=40),
        )

    def _draw_references(self, memory: Memory) -> None:
        """As lines, broken where nothing was recorded."""
        strips = []
        for rows in memory.drives():
            seconds = (memory.stamps[rows] - memory.stamps[rows[0]]) / NANOSECONDS
            strips += [self._references[rows][part] for part in split_at_silences(seconds)]
        lines = rr.LineStrips2D(strips, colors=to_rgb(ROAD), radii=rr.Radius.ui_points(3.0), draw_order=0)
        self._log(at.REFERENCES, lines, static=True)

    def _draw_scale(self) -> None:
        """A bar of a round number of metres beneath the map."""
        width = float((self.high - self.low).max())
        metres = round_step(max(_BAR * width, 1.0))
        left, y = float(self.low[0]), float(self.low[1]) - 0.05 * width
        bar = rr.LineStrips2D(
            [[[left, y], [left + metres, y]]],
            colors=to_rgb(QUIET),
            radii=rr.Radius.ui_points(1.5),
            labels=f"{format_number(metres)} m",
            show_labels=True,
        )
        self._log(at.SCALE, bar, static=True)

    def _draw_belief(self, moment: Moment) -> None:
        """A disc on every reference where it may be; its area is the probability."""
        if moment.route is None:
            return
        radii = np.maximum(_LARGEST * np.sqrt(moment.route.masses), _SMALLEST)
        places = self._references[moment.route.rows]
        discs = rr.Points2D(places, colors=to_rgb(BELIEF), radii=rr.Radius.ui_points(radii), draw_order=10)
        self._log(at.BELIEF, discs)

    def _draw_match(self, moment: Moment, here: Float[np.ndarray, "2"]) -> None:
        """A line to the reference, thin and gray where it was not believed."""
        if moment.match is None:
            self._log(at.WAY_TO_MATCH, rr.LineStrips2D([]))
            return
        ends = np.stack([here, self._references[moment.match.row]])
        colour, radius = (INK, 1.2) if moment.match.believed else (QUIET, 0.5)
        line = rr.LineStrips2D([ends], colors=to_rgb(colour), radii=rr.Radius.ui_points(radius), draw_order=25)
        self._log(at.WAY_TO_MATCH, line)

    def _log(self, path: str, *parts: rr.AsComponents, static: bool = False) -> None:
        self._stream.log(path, *parts, static=static, strict=True)
