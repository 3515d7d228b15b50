"""The page of two maps: what is new in the second, what is gone, and how far the weights of each place are apart."""

from collections.abc import Iterator

import numpy as np

from tmapr.reports.atlas.words import count_of
from tmapr.reports.drawing.lines import keep_distinct
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.drawing.svg import Key, dots, layer
from tmapr.reports.figures.trajectory_map import MapAxes, draw_window, name_axes
from tmapr.reports.page.document import render_document
from tmapr.reports.page.zooming import render_map
from tmapr.reports.tables.table import Table, TableColumn
from tmapr.system import Map
from tmapr.upkeep.difference import Compared, MapDifference


def render_difference(compared: Compared, first: Map, second: Map) -> str:
    """One page of HTML that needs nothing beside itself."""
    told = compared.told
    parts = [
        element("h1", {}, escape(f"From {told.first} to {told.second}")),
        *(element("p", {"class": "result"}, escape(words)) for words in describe_difference(told)),
        element("div", {"class": "overview"}, _render_plan(compared, first, second)),
        element("h2", {}, "Traverses"),
        _tabulate_traverses(told).html(),
        *_render_places(told),
        element("h2", {}, "Which maps"),
        _render_facts(told),
    ]
    return render_document(f"{told.first}, {told.second}", "".join(parts), script="explorer.js")


def describe_difference(told: MapDifference) -> list[str]:
    """What a reader should know first, in a few sentences."""
    references, places = told.references, told.places
    lines = [
        f"{count_of(references.new, 'reference')} new, {references.gone} gone, {references.same} the same;"
        f" {count_of(places.new, 'place')} new, {places.gone} gone, {places.same} the same."
    ]
    if told.distance is None:
        lines.append("Grid or projections differ, so weights cannot be compared.")
    else:
        lines.append(f"The weights of all places are apart by {told.distance:.3g} of those of {told.first}.")
    steps = "; ".join(step.told for step in told.steps)
    return [*lines, f"{told.second} came of {told.first}: {steps}."] if steps else lines


def _render_plan(compared: Compared, first: Map, second: Map) -> str:
    parts = {
        "kept": second.memory.positions[compared.known],
        "gone": first.memory.positions[~compared.kept],
        "new": second.memory.positions[~compared.known],
    }
    everything = np.vstack(list(parts.values()))
    view = MapAxes.around(everything, everything)
    marks = [layer(role, dots(keep_distinct(view(where)), role)) for role, where in parts.items()]
    title = f"{compared.told.first} and {compared.told.second}"
    drawn = draw_window(view, name_axes(first.frame), title, "References of both maps in metres, equal axes.", marks)
    keys = [Key("dot", role, f"{words}: {len(parts[role])}") for role, words in _WORDS.items()]
    return render_map(drawn, _PLAN, keys)


def _tabulate_traverses(told: MapDifference) -> Table:
    counts = [("same", "the same"), ("new", "new"), ("gone", "gone")]
    columns = (TableColumn("traverse", "traverse"), *(TableColumn(key, title, 0) for key, title in counts))
    rows = [(each.name, each.references.same, each.references.new, each.references.gone) for each in told.traverses]
    return Table(columns, tuple(rows), ("References of each traverse.",))


def _render_places(told: MapDifference) -> Iterator[str]:
    yield element("h2", {}, "Places that changed most")
    if not told.farthest:
        yield element("p", {}, "No place has other references or other weights.")
        return
    columns = (
        TableColumn("place", "place, m"),
        TableColumn("before", "references before", 0),
        TableColumn("after", "after", 0),
        TableColumn("distance", "weights apart", 4),
    )
    rows = tuple(
        (f"{each.place[0]:.1f}, {each.place[1]:.1f}", *each.references, each.distance) for each in told.farthest
    )
    yield Table(columns, rows, (_PLACES,)).html()


def _render_facts(told: MapDifference) -> str:
    facts = {told.first: told.first_digest, told.second: told.second_digest}
    facts |= {f"step {number + 1}": f"{step.action}: {step.told}" for number, step in enumerate(told.steps)}
    entries = (element("dt", {}, escape(name)) + element("dd", {}, escape(value)) for name, value in facts.items())
    return element("dl", {}, *entries)


_WORDS = {"kept": "in both", "gone": "gone", "new": "new"}
_PLAN = "The references of both maps; north, or the second axis of a local frame, is up."
_PLACES = (
    "A place is a cell of the first map's grid, named by its middle. Weights are apart by the norm of their difference,"
    " as a share of the norm of all weights of the first map. A reference that comes or goes moves the weights of other"
    " places, too, a little."
)
