"""What a frame of a film shows: every part in its place, for one frame of the drive after another."""

import numpy as np

from tmapr.artifacts.letters import Pixels
from tmapr.reports.figures.route_belief import RouteAxes
from tmapr.reports.film.canvas import Canvas
from tmapr.reports.film.colours import GROUND
from tmapr.reports.film.footage import Reel, Shelf
from tmapr.reports.film.layout import Layout
from tmapr.reports.film.map_panel import MapPanel
from tmapr.reports.film.moments import Match, Story
from tmapr.reports.film.panels import (
    BeliefStrip,
    Shown,
    caption_match,
    draw_header,
    draw_picture,
    draw_timeline,
    format_clock,
)
from tmapr.types import Status


class Scene:
    """Draws the frames of a drive in their order."""

    def __init__(self, story: Story, layout: Layout, width: int, reel: Reel, shelf: Shelf) -> None:
        self._story, self._layout, self._reel, self._shelf = story, layout, reel, shelf
        self._blank = Canvas.blank(width, GROUND)
        self._map = MapPanel(story, layout.map, self._blank.scale)
        believes = story.sequence.trial.beliefs is not None
        self._strip = BeliefStrip(layout.belief, RouteAxes.of(story.run.memory).along) if believes else None
        order = list(Status)
        self._statuses = np.array([order.index(status) for status in story.sequence.table.statuses])
        self._driven = 0

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of a frame in pixels."""
        height, width = self._blank.pixels.shape[:2]
        return width, height

    def draw(self, row: int) -> Pixels:
        """The film's frame of a row; all rows up to it are on its map."""
        while self._driven < row:
            self._map.drive(self._story.tell(self._driven))
            self._driven += 1
        moment = self._story.tell(row)
        if self._driven == row:
            self._map.drive(moment)
            self._driven += 1
        canvas, layout = self._blank.copy(), self._layout
        name = self._story.sequence.name
        query = Shown(self._reel.wind(row), self._reel.absent, name, format_clock(moment.seconds))
        draw_picture(canvas, layout.query, query)
        draw_picture(canvas, layout.match, self._show_match(moment.match))
        draw_header(canvas, layout.header, moment)
        self._map.draw(canvas, moment)
        if self._strip is not None:
            self._strip.draw(canvas, moment)
        draw_timeline(canvas, layout.timeline, self._statuses, self._story.sequence.seconds, moment.seconds)
        return canvas.pixels

    def _show_match(self, match: Match | None) -> Shown:
        name, remark = caption_match(match)
        if match is None:
            return Shown(None, "nothing in the map resembles this", name, remark)
        picture = self._shelf.take(match.row)
        return Shown(picture, self._shelf.explain(match.traverse), name, remark, match.believed)
