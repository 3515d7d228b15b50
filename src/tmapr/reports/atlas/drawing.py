"""The map of a map, and its likeness along the way: each kind of mark a layer that a reader can take away."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.evaluation.off_map import list_stretches
from tmapr.reports.atlas.atlas import Atlas
from tmapr.reports.atlas.likeness import ALIKE
from tmapr.reports.atlas.stations import list_runs
from tmapr.reports.drawing.lines import keep_bends, keep_distinct, keep_extremes
from tmapr.reports.drawing.scale import LinearScale
from tmapr.reports.drawing.svg import (
    WIDTH,
    Key,
    axes,
    dots,
    drawing,
    label,
    layer,
    line,
    lines,
    marker,
    strips,
)
from tmapr.reports.figures.trajectory_map import MapAxes, draw_window, name_axes

LEVELS = (0.5, ALIKE, 1.0)
"""Where one colour of likeness ends and the next begins."""
LEVEL_WORDS = ("likeness under 50 %", "50 to 75 %", "75 to 100 %", "100 % and more")
HIDDEN = ("cell", "tie-line")
"""Layers that a reader has to ask for."""

_BELOW = 46.0
_LEFT, _RIGHT = 78.0, WIDTH - 12.0
_TOP, _BOTTOM = 10.0, 130.0
_ARROW, _BETWEEN = 6.5, 90.0
_MOST_TIED = 60
CURSOR = (_TOP, _BOTTOM)
"""How far up and down a line through one station goes, in pixels."""


@dataclass(frozen=True, slots=True)
class AtlasAxes:
    """Where references lie on the map, and stations on the strip."""

    map: MapAxes
    along: LinearScale
    height: LinearScale
    unit: float
    """Metres of one of the strip's: kilometres where the way is long."""

    @classmethod
    def of(cls, atlas: Atlas) -> "AtlasAxes":
        """As wide as the map and the way are."""
        length = max(float(atlas.stations.way[-1]), 1.0)
        unit = 1000.0 if length > 5000 else 1.0
        highest = max(1.05, float(atlas.likeness.value.max(initial=0.0)) * 1.05)
        positions = atlas.memory.positions
        return cls(
            MapAxes.around(positions, positions),
            LinearScale(0.0, length / unit, (_LEFT, _RIGHT), 10),
            LinearScale(0.0, 100 * highest, (_BOTTOM, _TOP), 4),
            unit,
        )

    def locate(self, atlas: Atlas, stations: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 2"]:
        """Stations on the strip."""
        way, value = atlas.stations.way[stations] / self.unit, 100 * atlas.likeness.value[stations]
        return np.column_stack([self.along(way), self.height(np.maximum(value, 0.0))])


def draw_atlas(atlas: Atlas, view: MapAxes) -> str:
    """References by how alike their best look-alike is, over the ways they were driven; cells, gaps and ties."""
    memory, names = atlas.memory, name_axes(atlas.source.environment.frame)
    marks = [
        layer("cell", _draw_cells(atlas, view)),
        layer("way", *_draw_ways(atlas, view)),
        *(layer(role, dots(keep_distinct(view(memory.positions[rows])), role)) for role, rows in _list_levels(atlas)),
        layer("arrow", lines(_list_arrows(atlas, view), "arrow")),
        layer("tie-line", lines(_list_ties(atlas, view), "tie-line")),
        *([layer("missing", lines(_list_gaps(atlas, view), "missing"))] if atlas.coverage.gaps else []),
        dots(view(memory.positions[[drive[0] for drive in memory.drives()]]), "start"),
        *_label_starts(atlas, view),
        *_label_gaps(atlas, view),
        marker("stretch", "link", "matched", "here"),
    ]
    described = "Map in metres with equal axes: references, coloured by how alike their best look-alike elsewhere is."
    return draw_window(view, names, f"Map {atlas.source.name}", described, marks)


def list_atlas_keys(atlas: Atlas) -> list[Key]:
    """What is drawn, each key of one layer."""
    keys = [Key("dot", _name_level(level), words) for level, words in enumerate(LEVEL_WORDS)]
    shown = {role for role, rows in _list_levels(atlas) if len(rows)}
    keys = [key for key in keys if key.role in shown]
    keys += [Key("line", "way", "way driven"), Key("line", "arrow", "direction"), Key("area", "cell", "places")]
    keys += [Key("line", "missing", f"gaps: {len(atlas.coverage.gaps)}")] if atlas.coverage.gaps else []
    return [*keys, Key("line", "tie-line", f"look-alikes: {len(atlas.twins)}")] if atlas.twins else keys


def draw_likeness(atlas: Atlas, view: AtlasAxes) -> str:
    """The best look-alike of every station, along the way."""
    stations = atlas.stations
    order = np.arange(len(stations))
    points = view.locate(atlas, order)
    parts_of = np.split(order, np.flatnonzero(np.diff(stations.runs)) + 1)
    level = float(view.height(np.array([100 * ALIKE]))[0])
    spans = [(float(points[a, 0]), float(points[b - 1, 0])) for a, b in list_stretches(atlas.twin)]
    unit = "km" if view.unit > 1 else "m"
    parts = [
        layer("alike", strips([(a, max(b, a + 1.0)) for a, b in spans], CURSOR, "alike")),
        axes(view.along, view.height, (f"along the way, {unit}", "likeness, %")),
        layer("threshold", line(np.array([[_LEFT, level], [_RIGHT, level]]), "threshold")),
        layer("elsewhere", lines([keep_extremes(points[part]) for part in parts_of], "elsewhere")),
        marker("cursor", "here"),
    ]
    described = "Likeness of the best look-alike elsewhere along the way that was driven."
    return drawing(_BOTTOM + _BELOW, "Likeness along the way", described, parts)


LIKENESS_KEYS = (
    Key("line", "elsewhere", "best look-alike elsewhere"),
    Key("area", "alike", "stretches with a look-alike"),
    Key("line", "threshold", f"alike from {100 * ALIKE:.0f} % on"),
)


def _list_levels(atlas: Atlas) -> list[tuple[str, Int[np.ndarray, " _"]]]:
    """The references of each colour; the alike ones last, so that they lie on top."""
    of_station = np.searchsorted(LEVELS, np.where(atlas.likeness.known, atlas.likeness.value, 0.0), "right")
    of_reference = of_station[atlas.stations.nearest]
    return [(_name_level(level), np.flatnonzero(of_reference == level)) for level in range(len(LEVEL_WORDS))]


def _name_level(level: int) -> str:
    return f"like-{level}"


def _draw_cells(atlas: Atlas, view: MapAxes) -> str:
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]])
    cells = atlas.grid.cells[np.unique(atlas.memory.places)]
    squares = atlas.grid.origin + atlas.grid.cell * (cells[:, None] + corners)
    return lines([view(square) for square in squares], "cell")


def _draw_ways(atlas: Atlas, view: MapAxes) -> list[str]:
    runs = [keep_bends(view(atlas.memory.positions[run])) for run in list_runs(atlas.memory)]
    return [lines(runs, "way")]


def _list_arrows(atlas: Atlas, view: MapAxes) -> list[Float[np.ndarray, "3 2"]]:
    """Heads of arrows at equal distances on the page."""
    arrows = []
    for run in list_runs(atlas.memory):
        points = view(atlas.memory.positions[run])
        way = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
        for place in np.arange(_BETWEEN / 2, way[-1], _BETWEEN):
            at, ahead = (np.array([np.interp(place + more, way, axis) for axis in points.T]) for more in (-4.0, 4.0))
            length = float(np.hypot(*(ahead - at)))
            if length > 2.0:  # not where it turns round
                arrows.append(_head(ahead, (ahead - at) / length))
    return arrows


def _head(tip: Float[np.ndarray, "2"], along: Float[np.ndarray, "2"]) -> Float[np.ndarray, "3 2"]:
    aside = np.array([-along[1], along[0]])
    return np.array([tip - _ARROW * (along - 0.8 * aside), tip, tip - _ARROW * (along + 0.8 * aside)])


def _list_ties(atlas: Atlas, view: MapAxes) -> list[Float[np.ndarray, "2 2"]]:
    """A line from the middle of one stretch to that of the other, for the worst twins."""
    middles = (list(twin.choose_pair(0.5)) for twin in atlas.twins[:_MOST_TIED])
    return [view(atlas.stations.positions[pair]) for pair in middles]


def _list_gaps(atlas: Atlas, view: MapAxes) -> list[Float[np.ndarray, "2 2"]]:
    return [view(atlas.memory.positions[[gap.start, gap.stop]]) for gap in atlas.coverage.gaps]


def _label_gaps(atlas: Atlas, view: MapAxes) -> list[str]:
    """The longest few in metres."""
    middles = [ends.mean(axis=0).tolist() for ends in _list_gaps(atlas, view)[:5]]
    return [
        label(x + 8, y - 6, f"{gap.metres:.0f} m", role="halo")
        for gap, (x, y) in zip(atlas.coverage.gaps, middles, strict=False)
    ]


def _label_starts(atlas: Atlas, view: MapAxes) -> list[str]:
    """Where each traverse starts; where several do so at one place, one above the other."""
    names: Sequence[str] = atlas.traverses
    words = ["start" if len(names) == 1 else f"start of {name}" for name in names]
    placed: list[tuple[float, float]] = []
    labels = []
    for told, drive in zip(words, atlas.memory.drives(), strict=True):
        x, y = view(atlas.memory.positions[drive[:1]])[0].tolist()
        while any(abs(x - left) < 120 and abs(y - top) < 15 for left, top in placed):
            y -= 15
        placed.append((x, y))
        labels.append(label(x + 9, y - 7, told, role="halo"))
    return labels
