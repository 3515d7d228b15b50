"""The tables of a study: what each method did by family, drive and rate, and paired differences between methods.

A difference is taken place by place; its 95 % interval is Student's over places.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from tmapr.artifacts.documents.decisions import AskedDrive, StudyRow
from tmapr.evaluation.bootstrap import mean_interval
from tmapr.reports.tables.table import Table, TableCell, TableColumn

Rows = Mapping[str, Sequence[StudyRow]]
"""Of each method."""
Figure = Callable[[AskedDrive], float | None]
Groups = dict[tuple[str, str], dict[str, list[AskedDrive]]]
"""By what was asked and family, of each place its drives: several where they are of other places."""
ALL, FOREIGN = "all", "foreign drives"


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


_COUNTED: Mapping[str, tuple[str, int, Callable[[Sequence[AskedDrive]], float | None]]] = {
    "frames": ("frames", 0, lambda drives: _frames(drives)),
    "wrong": ("wrong", 0, lambda drives: sum(each.wrong for each in drives)),
    "wrong_in_1000": ("in 1000", 1, lambda drives: _share(1000 * sum(each.wrong for each in drives), _frames(drives))),
    "wrong_on_map": ("of them on the map", 0, lambda drives: sum(each.wrong_on_map for each in drives)),
    "off": ("localized off the map", 3, lambda drives: _share_off(drives)),
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
    "wrong": ("wrong", 1, lambda each: float(each.wrong)),
    "off": ("localized off the map", 3, lambda each: _share_off([each])),
    **_AVERAGED,
}
_HEADS = (*(TableColumn(key, key) for key in ("asked", "family", "method")), TableColumn("places", "places", 0))


def _frames(drives: Sequence[AskedDrive]) -> int:
    return sum(each.frames for each in drives)


def _share_off(drives: Sequence[AskedDrive]) -> float | None:
    return _share(sum(each.off_localized for each in drives), sum(each.off_map for each in drives))


def tabulate_study(found: Rows) -> Table:
    """A line for each drive as it was asked, family and method, and for all families together."""
    told = {**_COUNTED, **_AVERAGED}
    columns = (TableColumn(key, title, decimals) for key, (title, decimals, _) in told.items())
    lines = [
        (*key, method, len(places), *_tell(list(places.values())))
        for method, rows in found.items()
        for key, places in group_drives(rows).items()
    ]
    return Table((*_HEADS, *columns), _sort(lines), tuple(_describe(found)))


def _tell(places: Sequence[Sequence[AskedDrive]]) -> Iterator[TableCell]:
    for _, _, count in _COUNTED.values():
        yield count([each for drives in places for each in drives])
    for _, _, figure in _AVERAGED.values():
        yield _mean(_mean(map(figure, drives)) for drives in places)


def compare_methods(found: Rows, against: str, other: Sequence[StudyRow]) -> Table:
    """Each method less another one, as a mean over the places that both have, and its interval."""
    columns, theirs = (TableColumn(key, title) for key, (title, _, _) in _COMPARED.items()), group_drives(other)
    lines = []
    for method, rows in found.items():
        for key, places in group_drives(rows).items() if method != against else ():
            pairs = [(drives, theirs[key][name]) for name, drives in places.items() if name in theirs.get(key, {})]
            differences = (_spell_difference(figure, pairs, decimals) for _, decimals, figure in _COMPARED.values())
            if pairs:
                lines.append((*key, method, len(pairs), *differences))
    note = f"each method less {against}, paired by place: mean [95 % interval]"
    return Table((*_HEADS, *columns), _sort(lines), (note,))


def group_drives(rows: Sequence[StudyRow]) -> Groups:
    """The drives of rows; those of other places are told together."""
    found: Groups = {}
    for row in rows:
        for title, each in row.drives.items():
            rate = f", every {each.every}" if each.every > 1 else ""
            for family in (row.kind, ALL):
                key = f"{FOREIGN}{rate}" if each.away else title, family
                found.setdefault(key, {}).setdefault(row.name, []).append(each)
    several = len({row.kind for row in rows}) > 1
    return {key: places for key, places in found.items() if several or key[1] != ALL}


def _sort(lines: Sequence[tuple[TableCell, ...]]) -> tuple[tuple[TableCell, ...], ...]:
    """By what was asked, then by family; all of them last."""
    asked, families = (list(dict.fromkeys(line[place] for line in lines)) for place in (0, 1))
    return tuple(sorted(lines, key=lambda line: (asked.index(line[0]), line[1] == ALL, families.index(line[1]))))


def _spell_difference(
    figure: Figure, pairs: Sequence[tuple[Sequence[AskedDrive], Sequence[AskedDrive]]], decimals: int
) -> str | None:
    means = [(_mean(map(figure, ours)), _mean(map(figure, theirs))) for ours, theirs in pairs]
    known = [ours - theirs for ours, theirs in means if ours is not None and theirs is not None]
    if len(known) < 2:
        return f"{known[0]:+.{decimals}f}" if known else None
    found = mean_interval(known)
    return f"{np.mean(known):+.{decimals}f} [{found.low:+.{decimals}f} {found.high:+.{decimals}f}]"


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _describe(found: Rows) -> Iterator[str]:
    """Who made the rows."""
    for method, rows in found.items():
        makers = dict.fromkeys((row.made_by.commit, row.made_by.dirty, row.made_by.source) for row in rows)
        for commit, dirty, source in makers:
            where = f"commit {commit[:10]}{' and changes to it' if dirty else ''}" if commit else "no checkout"
            yield f"{method}: {where}, source {source[:12]}"
    yield (
        "wrong: localized, on the map or off it, and farther from the truth than max(10 m, 2 × spacing), 25 m at most;"
        " off the map: farther than 20 m from every reference, streets that copy mapped ones apart"
    )
    yield "medians and shares are means over places; in 95 %: localized frames with the truth inside the stated ellipse"
