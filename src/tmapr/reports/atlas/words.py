"""What a map's page says in words and tables."""

from collections.abc import Iterator

import numpy as np

from tmapr.reference import measure_steps
from tmapr.reports.atlas.atlas import Atlas
from tmapr.reports.atlas.twins import Span, Twin
from tmapr.reports.tables.table import Table, TableCell, TableColumn
from tmapr.types import NANOSECONDS


def describe_map(atlas: Atlas) -> str:
    """What there is of it."""
    coverage, places = atlas.coverage, atlas.places
    names, count = atlas.traverses, len(atlas.memory)
    driven = names[0] if len(names) == 1 else f"{len(names)} traverses"
    route = f"{format_way(coverage.distinct)} of route, from {driven}"
    held = f"{count_of(count, 'reference')} in {count_of(places.places, 'place')}"
    if count == 1:
        return f"{held}: a single spot, from {driven}."
    return f"{route}: {held}, {coverage.median:.1f} m apart in the median. {describe_gaps(atlas)}"


def describe_gaps(atlas: Atlas) -> str:
    """The longest step, and how many are gaps."""
    gaps = atlas.coverage.gaps
    if not gaps:
        return f"The longest step from one reference to the next is {atlas.coverage.longest:.1f} m; there is no gap."
    if len(gaps) == 1:
        return f"There is 1 gap, of {format_way(gaps[0].metres)}."
    missing = format_way(sum(gap.metres for gap in gaps))
    return f"There are {len(gaps)} gaps, {missing} in all, the longest of {format_way(gaps[0].metres)}."


def describe_alike(atlas: Atlas) -> str:
    """How much of the route looks like another part of it."""
    if not atlas.likeness.known.any():
        return "The map is too small to have two places that could be taken for each other."
    if not atlas.twins:
        return "No stretch of it looks like another one."
    share = 100 * float(atlas.twin.mean())
    longest = max(twin.metres for twin in atlas.twins)
    pairs = f"{count_of(len(atlas.twins), 'pair')} of stretches, the longest of {longest:.0f} m"
    return f"{share:.0f} % of the route looks like another part of it: {pairs}."


def describe_repeats(atlas: Atlas) -> str:
    """Loops: what was driven more than once."""
    along, against = (atlas.stations.measure(mask) for mask in (atlas.repeats.along, atlas.repeats.against))
    if not along and not against:
        return "No part of the route was driven twice."
    told = [f"{format_way(metres)} {words}" for metres, words in ((along, _ALONG), (against, _AGAINST)) if metres]
    return (
        f"Of {format_way(atlas.coverage.driven)} driven, {' and '.join(told)}; the same place twice is no look-alike."
    )


def describe_twin(atlas: Atlas, twin: Twin) -> str:
    """Both stretches and how alike they are."""
    spans = (twin.first, twin.second)
    mine, other = (str(atlas.memory.sequences[atlas.stations.rows[span[0]]]) for span in spans)
    here, there = (_name_frames(atlas, span) for span in spans)
    both = f"{here}{'' if mine == other else f' of {mine}'} and {there} of {other}"
    start, stop = (atlas.stations.positions[station] for station in twin.choose_pair(0.5))
    away = float(((start - stop) ** 2).sum() ** 0.5)
    way = "driven the same way" if twin.forth else "driven against each other"
    return f"{twin.metres:.0f} m: frames {both}, {format_way(away)} apart, {way}"


def describe_similarity(atlas: Atlas, twin: Twin) -> str:
    """A twin's similarity beside those that it is judged by."""
    told = f"{100 * twin.likeness:.0f} % as alike as neighbours"
    return (
        f"{told}: similarity {twin.similarity:.2f}, of neighbours on the two stretches {twin.neighbours:.2f},"
        f" of any two places {atlas.likeness.background:.2f}"
    )


def tabulate_coverage(atlas: Atlas) -> Table:
    """A row for each traverse, and one for all."""
    columns = (
        TableColumn("traverse", "traverse"),
        TableColumn("references", "references", 0),
        TableColumn("metres", "driven, m", 0),
        TableColumn("median", "median step, m", 2),
        TableColumn("p95", "95 % below, m", 2),
        TableColumn("longest", "longest, m", 1),
    )
    return Table(columns, tuple(_list_coverage(atlas)))


def tabulate_gaps(atlas: Atlas) -> Table | None:
    """The longest gaps; None where there is none."""
    memory = atlas.memory
    columns = (
        TableColumn("metres", "gap, m", 0),
        TableColumn("after", "after"),
        TableColumn("before", "before"),
        TableColumn("seconds", "seconds", 1),
    )
    rows = tuple(
        (
            gap.metres,
            memory.describe(gap.start),
            memory.describe(gap.stop),
            float(memory.stamps[gap.stop] - memory.stamps[gap.start]) / NANOSECONDS,
        )
        for gap in atlas.coverage.gaps[:_MOST_GAPS]
    )
    return Table(columns, rows) if rows else None


def tabulate_places(atlas: Atlas) -> Table:
    """References per place."""
    places = atlas.places
    columns = (
        TableColumn("places", "places", 0),
        TableColumn("cell", "side, m", 1),
        TableColumn("median", "references in one, median", 1),
        TableColumn("most", "most", 0),
        TableColumn("lonely", "with one only", 0),
    )
    row = (places.places, places.cell, places.median, places.most, places.lonely)
    return Table(columns, (row,))


def tabulate_left_out(atlas: Atlas) -> Table | None:
    """Frames that are no references; None where every frame is one."""
    columns = (
        TableColumn("traverse", "traverse"),
        TableColumn("frames", "frames", 0),
        TableColumn("reason", "why"),
        TableColumn("which", "which"),
    )
    rows = tuple(
        (
            each.traverse,
            each.count,
            each.reason,
            ", ".join(map(str, each.frames)) + (", …" * (each.count > len(each.frames))),
        )
        for each in atlas.left_out
    )
    return Table(columns, rows) if rows else None


def format_way(metres: float) -> str:
    """Metres, or kilometres of a long way."""
    return f"{metres / 1000:.2f} km" if metres >= 1000 else f"{metres:.0f} m"


def count_of(count: int, noun: str) -> str:
    """So many of something."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _name_frames(atlas: Atlas, span: Span) -> str:
    first, last = sorted(atlas.memory.frames[atlas.stations.rows[list(span)]].tolist())
    return f"{first} to {last}"


def _list_coverage(atlas: Atlas) -> Iterator[tuple[TableCell, ...]]:
    memory = atlas.memory
    drives = memory.drives()
    for name, drive, steps in zip(atlas.traverses, drives, measure_steps(drives, memory.positions), strict=True):
        moved = steps[steps > 0] if (steps > 0).any() else np.zeros(1)
        figures = (float(np.median(moved)), float(np.percentile(moved, 95)), float(moved.max()))
        yield name, len(drive), float(steps[steps <= 2 * atlas.stations.tolerance].sum()), *figures


_MOST_GAPS = 20
_ALONG = "were driven again in the same direction"
_AGAINST = "in the other direction, too"
