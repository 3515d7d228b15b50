"""The tables of a study: what each method did by family, drive and rate, and paired differences between methods.

A difference is taken place by place; its 95 % interval is Student's over places.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tmapr.artifacts.documents.decisions import AskedDrive, StudyRow
from tmapr.evaluation.bootstrap import mean_interval
from tmapr.reports.tables.table import Table, TableCell, TableColumn

Rows = Mapping[str, Sequence[StudyRow]]
"""Of each method."""
Figure = Callable[[AskedDrive], float | None]
ALL = "all"
FOREIGN = "foreign drives"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _off(each: AskedDrive) -> float | None:
    return _share(each.off_localized + each.twin_localized, each.off_map + each.twin_frames)


_COUNTED: Mapping[str, tuple[str, int | None, Callable[[Sequence[AskedDrive]], TableCell]]] = {
    "frames": ("frames", 0, lambda drives: sum(each.frames for each in drives)),
    "wrong": ("wrong", 0, lambda drives: sum(each.wrong_on_map for each in drives)),
    "wrong_in_1000": ("in 1000", 1, lambda drives: _in_1000(drives)),
    "off_map": ("off map", 0, lambda drives: sum(each.off_map + each.twin_frames for each in drives)),
    "off_localized": (
        "localized there",
        0,
        lambda drives: sum(each.off_localized + each.twin_localized for each in drives),
    ),
}
"""Sums over the places."""
_AVERAGED: Mapping[str, tuple[str, int, Figure]] = {
    "localized": ("localized", 3, lambda each: each.localized),
    "median_m": ("median, m", 2, lambda each: each.median_m),
    "first_median_m": ("first candidate's, m", 2, lambda each: each.first_median_m),
    "localized_coverage95": ("in 95 %", 3, lambda each: each.localized_coverage95),
    "recovered_after": ("back after, m", 1, lambda each: each.recovered_after),
}
"""Means over the places."""
_COMPARED: Mapping[str, tuple[str, int, Figure]] = {
    "wrong": ("wrong", 1, lambda each: float(each.wrong_on_map)),
    "off": ("localized off the map", 3, _off),
    **_AVERAGED,
}


def _in_1000(drives: Sequence[AskedDrive]) -> float | None:
    share = _share(sum(each.wrong_on_map for each in drives), sum(each.localized_on_map for each in drives))
    return None if share is None else 1000 * share


def tabulate_study(found: Rows) -> Table:
    """A line for each drive as it was asked, family and method, and for all families together."""
    columns = [TableColumn("asked", "asked"), TableColumn("family", "family"), TableColumn("method", "method")]
    columns += [TableColumn("places", "places", 0)]
    columns += [TableColumn(key, title, decimals) for key, (title, decimals, _) in _COUNTED.items()]
    columns += [TableColumn(key, title, decimals) for key, (title, decimals, _) in _AVERAGED.items()]
    lines = []
    for title in _list_titles(found):
        for family in _list_families(found, title):
            for method, rows in found.items():
                drives = _pick(rows, title, family)
                if drives:
                    lines.append((title, family, method, *_tell(drives)))
    return Table(tuple(columns), tuple(lines), tuple(_describe(found)))


def _tell(drives: Sequence[Sequence[AskedDrive]]) -> Iterator[TableCell]:
    whole = [each for place in drives for each in place]
    yield len(drives)
    for _, _, count in _COUNTED.values():
        yield count(whole)
    for _, _, figure in _AVERAGED.values():
        yield _mean([_mean([figure(each) for each in place]) for place in drives])


def compare_methods(found: Rows, against: str, other: Sequence[StudyRow]) -> Table:
    """Each method less another one, as a mean over the places that both have, and its interval."""
    columns = [TableColumn("asked", "asked"), TableColumn("family", "family"), TableColumn("method", "method")]
    columns += [TableColumn("places", "places", 0)]
    columns += [TableColumn(key, title) for key, (title, _, _) in _COMPARED.items()]
    lines = []
    for method, rows in found.items():
        for title in _list_titles({method: rows}) if method != against else ():
            for family in _list_families({method: rows}, title):
                pairs = list(_pair(rows, other, title, family))
                if pairs:
                    cells = (
                        _spell_difference([_subtract(figure, *pair) for pair in pairs], decimals)
                        for _, decimals, figure in _COMPARED.values()
                    )
                    lines.append((title, family, method, len(pairs), *cells))
    note = f"each method less {against}, paired by place: mean [95 % interval]"
    return Table(tuple(columns), tuple(lines), (note,))


def _pair(
    rows: Sequence[StudyRow], other: Sequence[StudyRow], title: str, family: str
) -> Iterator[tuple[list[AskedDrive], list[AskedDrive]]]:
    theirs = {row.name: row for row in other}
    for row in rows:
        if row.name in theirs and family in (row.kind, ALL):
            ours, others = _list_drives(row, title), _list_drives(theirs[row.name], title)
            if ours and others:
                yield ours, others


def _subtract(figure: Figure, ours: Sequence[AskedDrive], theirs: Sequence[AskedDrive]) -> float | None:
    values = [_mean([figure(each) for each in drives]) for drives in (ours, theirs)]
    return None if values[0] is None or values[1] is None else values[0] - values[1]


def _spell_difference(values: Sequence[float | None], decimals: int) -> str | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = f"{np.mean(known):+.{decimals}f}"
    if len(known) < 2:
        return mean
    found = mean_interval(known)
    return f"{mean} [{found.low:+.{decimals}f} {found.high:+.{decimals}f}]"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _name(title: str, drive: AskedDrive) -> str:
    """Drives of other places are told together."""
    if not drive.away:
        return title
    return FOREIGN if drive.every == 1 else f"{FOREIGN}, every {drive.every}"


def _list_titles(found: Rows) -> list[str]:
    named = (_name(title, each) for rows in found.values() for row in rows for title, each in row.drives.items())
    return list(dict.fromkeys(named))


def _list_drives(row: StudyRow, title: str) -> list[AskedDrive]:
    return [each for name, each in row.drives.items() if _name(name, each) == title]


def _list_families(found: Rows, title: str) -> list[str]:
    kinds = list(dict.fromkeys(row.kind for rows in found.values() for row in rows if _list_drives(row, title)))
    return [*kinds, ALL] if len(kinds) > 1 else kinds


def _pick(rows: Sequence[StudyRow], title: str, family: str) -> list[list[AskedDrive]]:
    chosen = [_list_drives(row, title) for row in rows if family in (row.kind, ALL)]
    return [drives for drives in chosen if drives]


def _describe(found: Rows) -> Iterator[str]:
    """Who made the rows."""
    for method, rows in found.items():
        makers = dict.fromkeys((row.made_by.commit, row.made_by.dirty, row.made_by.source) for row in rows)
        for commit, dirty, source in makers:
            where = f"commit {commit[:10]}{' and changes to it' if dirty else ''}" if commit else "no checkout"
            yield f"{method}: {where}, source {source[:12]}"
    yield (
        "wrong: localized on the map and farther from the truth than max(10 m, 2 × spacing), 25 m at most;"
        " in 1000: of the frames localized on the map; off map: farther than 20 m from every reference"
    )
    yield "medians and shares are means over places; in 95 %: localized frames with the truth inside the stated ellipse"
