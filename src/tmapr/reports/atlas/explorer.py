"""The interactive part of a map's page: the map, its likeness along the way, and the card of what is pointed at.

All that is shown is written here, numbers as text and places as pixels; the script looks up the station nearest to the
pointer. Without it, the figures are still on the page.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from tmapr.reports.atlas.atlas import Atlas
from tmapr.reports.atlas.drawing import (
    CURSOR,
    HIDDEN,
    LIKENESS_KEYS,
    AtlasAxes,
    draw_atlas,
    draw_likeness,
    list_atlas_keys,
)
from tmapr.reports.atlas.likeness import ALIKE
from tmapr.reports.atlas.pictures import Thumbnails
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.drawing.svg import layer_keys
from tmapr.reports.page.card import render_card
from tmapr.reports.page.document import render_data
from tmapr.reports.page.figure import render_figure
from tmapr.reports.page.footage import Album
from tmapr.reports.page.zooming import render_map
from tmapr.reports.tables.table import NOTHING
from tmapr.types import NANOSECONDS

FACTS = ("taken", "stamp", "position", "place", "away", "similarity", "of neighbours", "of any two places")
Pixels = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ShownStation:
    """A station as the script knows it: where it and its look-alike lie, their pictures' numbers, and its card."""

    title: str
    match_title: str
    here: Pixels
    match: Pixels | None
    moment: Pixels
    alike: bool
    picture: int | None
    match_picture: int | None
    verdict: str
    facts: Sequence[str]


@dataclass(frozen=True, slots=True)
class ShownTwin:
    """A twin as the script knows it: the numbers of a shown station on it, and both stretches in pixels."""

    station: int
    stretches: Sequence[Sequence[Sequence[float]]]


def render_explorer(atlas: Atlas, thumbnails: Thumbnails, album: Album) -> str:
    """The figures and the card; pictures go into the album."""
    view = AtlasAxes.of(atlas)
    plots = (
        render_map(draw_atlas(atlas, view.map), _MAP, list_atlas_keys(atlas)),
        _render_steps(len(thumbnails.shown), len(atlas.memory)),
        render_figure(draw_likeness(atlas, view), _LIKENESS, "strip", layer_keys(LIKENESS_KEYS)),
    )
    stations = [asdict(station) for station in list_stations(atlas, thumbnails, album, view)]
    twins = [asdict(twin) for twin in _list_twins(atlas, thumbnails, view)]
    data = render_data({"stations": stations, "twins": twins, "cursor": CURSOR, "hidden": HIDDEN})
    card = render_card("the reference that is looked at", FACTS)
    return element("div", {"class": "explorer atlas"}, element("div", {"class": "plots"}, *plots), card, data)


def list_stations(atlas: Atlas, thumbnails: Thumbnails, album: Album, view: AtlasAxes) -> list[ShownStation]:
    """What the card says of each station that can be looked at."""
    places = view.map(atlas.stations.positions).round(1)
    moments = view.locate(atlas, np.arange(len(atlas.stations))).round(1)

    def show(station: int) -> ShownStation:
        known = bool(atlas.likeness.known[station])
        partner = int(atlas.likeness.partner[station])
        numbers = [
            None if picture is None else album.add(picture)
            for picture in (thumbnails.found.get(station), thumbnails.found.get(partner) if known else None)
        ]
        return ShownStation(
            title=_describe(atlas, station),
            match_title=f"most alike elsewhere: {_describe(atlas, partner)}" if known else "nothing is elsewhere",
            here=tuple(places[station].tolist()),
            match=tuple(places[partner].tolist()) if known else None,
            moment=tuple(moments[station].tolist()),
            alike=bool(known and atlas.likeness.value[station] >= ALIKE),
            picture=numbers[0],
            match_picture=numbers[1],
            verdict=_judge(atlas, station) if known else "The map has no other place to take it for.",
            facts=_list_facts(atlas, station),
        )

    return [show(station) for station in thumbnails.shown.tolist()]


def _list_twins(atlas: Atlas, thumbnails: Thumbnails, view: AtlasAxes) -> list[ShownTwin]:
    shown = []
    for twin in atlas.twins:
        middle = twin.choose_pair(0.5)[0]
        station = int(np.abs(thumbnails.shown - middle).argmin())
        spans = (slice(start, stop + 1) for start, stop in (twin.first, twin.second))
        stretches = [view.map(atlas.stations.positions[span]).round(1).tolist() for span in spans]
        shown.append(ShownTwin(station, stretches))
    return shown


def _describe(atlas: Atlas, station: int) -> str:
    return atlas.memory.describe(int(atlas.stations.rows[station]))


def _judge(atlas: Atlas, station: int) -> str:
    likeness, value = atlas.likeness, float(atlas.likeness.value[station])
    partner = int(likeness.partner[station])
    away = float(np.hypot(*(atlas.stations.positions[station] - atlas.stations.positions[partner])))
    told = f"{max(0.0, 100 * value):.0f} % as alike as its own neighbours"
    if value >= ALIKE:
        return f"Looks like a place {away:.0f} m away: {told}."
    return f"Can be told apart: the most similar place elsewhere is {told}."


def _list_facts(atlas: Atlas, station: int) -> list[str]:
    memory, likeness, row = atlas.memory, atlas.likeness, int(atlas.stations.rows[station])
    first = int(memory.stamps[memory.sequences == memory.sequences[row]].min())
    x, y = memory.positions[row].tolist()
    place = int(memory.places[row])
    count = int(memory.offsets[place + 1] - memory.offsets[place])
    known, partner = bool(likeness.known[station]), int(likeness.partner[station])
    neighbours = likeness.neighbours[[station, partner] if known else [station]].mean()
    away = float(np.hypot(*(atlas.stations.positions[station] - atlas.stations.positions[partner])))
    return [
        f"{(int(memory.stamps[row]) - first) / NANOSECONDS:.1f} s after the start",
        str(int(memory.stamps[row])),
        f"{x:.1f}, {y:.1f} m",
        f"{place}, of {count} reference{'' if count == 1 else 's'}",
        f"{away:.0f} m" if known else NOTHING,
        f"{likeness.similarity[station]:.2f}" if known else NOTHING,
        f"{neighbours:.2f}",
        f"{likeness.background:.2f}" if known else NOTHING,
    ]


def _render_steps(count: int, references: int) -> str:
    """A slider: keys and fingers know how to move one."""
    slider = {"type": "range", "min": "0", "max": str(count - 1), "value": "0", "aria-label": "references of the map"}
    hint = f"{count} of {references} references can be looked at: point at one, or step with the arrow keys."
    return element("div", {"class": "steps", "hidden": "hidden"}, element("input", slider), escape(hint))


_MAP = (
    "References, coloured by how alike the most similar place elsewhere looks: 100 % is as alike as the next view of"
    " the same street, 0 % as any other place. Press a key to take a layer away or to bring it back; places and lines"
    " between look-alikes are there on request."
)
_LIKENESS = (
    "The same along the way that was driven. A stretch above the dashed line can be taken for another one: point at it"
    " to see for which."
)
