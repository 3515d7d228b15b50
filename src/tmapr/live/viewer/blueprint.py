"""Where everything lies in a recording, and how the viewer lays it out.

The map is drawn with y upward, as maps are, though the viewer's planes have y downward: `MAP` is turned over once, and
whatever lies under it is in metres from the map's middle. The lens looks at the same things from `HERE`, which moves.
"""

from typing import TYPE_CHECKING

import numpy as np
import rerun.blueprint as rrb
from jaxtyping import Float
from rerun import TimeRangeBoundary, VisibleTimeRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rerun.blueprint.api import VisualizerLike
    from rerun.encodings import EntityPath

APPLICATION = "tmapr"
FRAME, STAMP = "frame", "stamp"
"""The timelines: frames that came, and the camera's clock."""

CAMERA, CAMERA_WORDS = "camera/image", "camera/words"
MATCH, MATCH_WORDS = "match/image", "match/words"

MAP = "map"
REFERENCES, SCALE = "map/references", "map/scale"
BELIEF = "map/belief"
TRACK, RECENT_TRACK = "map/track/past", "map/track/recent"
TRUTH, RECENT_TRUTH = "map/truth/past", "map/truth/recent"
ELLIPSE, WAY_TO_MATCH = "map/ellipse", "map/match"
HERE = "map/here"

ROUTE, OFF_MAP = "route/probability", "route/off_map"

STATE = "state"
STATUS, REASON, VERDICTS = "verdict/status", "verdict/reason", "verdict/log"

TRUST, SEMI_AXIS, LATENCY = "curves/trust", "curves/semi_axis", "curves/latency"
"""Several curves each: similarity, p_place and p_off_map; the ellipse's; those of `Timings`, in milliseconds."""

LENS = 20.0
"""Metres that the lens shows on each side of the estimate."""
_MARGIN = 0.08
_BELIEF_TITLE = "Belief along the mapped route, m; orange: off the map"
_HIDDEN, _LEGEND = rrb.PlotLegend(visible=False), rrb.PlotLegend(corner=rrb.Corner2D.LeftBottom)


def lay_out(low: Float[np.ndarray, "2"], high: Float[np.ndarray, "2"], *, timed: bool) -> rrb.Blueprint:
    """The viewer's window for a map between two corners; a run that is read back has no latencies to show."""
    ellipse = rrb.TimeSeriesView(origin=SEMI_AXIS, name="95 % ellipse, m", plot_legend=_HIDDEN)
    latency = rrb.TimeSeriesView(origin=LATENCY, name="Latency, ms", plot_legend=_LEGEND)
    return rrb.Blueprint(
        rrb.Horizontal(
            rrb.Vertical(
                rrb.Spatial2DView(origin="camera", name="Camera"),
                rrb.Spatial2DView(origin="match", name="Match in the map"),
            ),
            rrb.Vertical(
                rrb.Horizontal(_show_map(low, high), _show_lens(), column_shares=[3, 2]),
                rrb.BarChartView(origin="route", name=_BELIEF_TITLE, plot_legend=_HIDDEN),
                row_shares=[5, 2],
            ),
            rrb.Vertical(
                rrb.Tabs(
                    rrb.TextDocumentView(origin=STATE, name="Answer"),
                    rrb.TextLogView(origin=VERDICTS, name="Changes"),
                ),
                rrb.StateTimelineView(contents=[STATUS, REASON], name="Verdicts"),
                rrb.TimeSeriesView(
                    origin=TRUST,
                    name="Similarity and probabilities",
                    axis_y=rrb.ScalarAxis(range=(0.0, 1.0)),
                    plot_legend=_LEGEND,
                ),
                rrb.Tabs(latency, ellipse) if timed else ellipse,
                row_shares=[9, 5, 6, 6],
            ),
            column_shares=[3, 6, 4],
        ),
        rrb.TimePanel(timeline=FRAME, play_state="following", state="collapsed"),
        rrb.SelectionPanel(state="hidden"),
        rrb.BlueprintPanel(state="hidden"),
        auto_views=False,
    )


def _show_map(low: Float[np.ndarray, "2"], high: Float[np.ndarray, "2"]) -> rrb.Spatial2DView:
    """All of the map; it does not move, so that a belief that is split over distant places is seen to be."""
    room = _MARGIN * float((high - low).max())
    (left, bottom), (right, top) = (low - room).tolist(), (high + room).tolist()
    return rrb.Spatial2DView(
        origin="/",
        contents=[f"/{MAP}/**"],
        name="Map",
        overrides=_keep_past(),
        visual_bounds=rrb.VisualBounds2D(x_range=[left, right], y_range=[-top, -bottom]),
    )


def _show_lens() -> rrb.Spatial2DView:
    span = [-LENS, LENS]
    return rrb.Spatial2DView(
        origin=f"/{HERE}",
        contents=[f"/{MAP}/**", f"- /{SCALE}"],
        name=f"Lens, {2 * LENS:g} m",
        overrides=_keep_past(),
        visual_bounds=rrb.VisualBounds2D(x_range=span, y_range=span),
    )


def _keep_past() -> "dict[str | EntityPath, VisualizerLike | Iterable[VisualizerLike]]":
    """Tracks are sent piece by piece: all pieces up to now are shown, where of all else the last is."""
    until_now = [
        VisibleTimeRange(timeline, start=TimeRangeBoundary.infinite(), end=TimeRangeBoundary.cursor_relative())
        for timeline in (FRAME, STAMP)
    ]
    return {path: rrb.VisibleTimeRanges(until_now) for path in (TRACK, TRUTH)}
