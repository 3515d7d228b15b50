"""Methods compared on several test sequences: one table, and one sentence per sequence."""

from collections.abc import Mapping, Sequence

from tmapr.evaluation.comparison import Row
from tmapr.reports.table import Cell, Column, Table

_METRES = 2
_GROUP = (
    Column("rmse", "RMSE m", _METRES),
    Column("rmse_spread", "±", _METRES),
    Column("seeds", "seeds", 0),
    Column("mean", "mean m", _METRES),
    Column("median", "median m", _METRES),
    Column("difference", "difference m", _METRES),
    Column("low", "from", _METRES),
    Column("high", "to", _METRES),
)
"""The columns of one test sequence, by the keys of `Row.as_dict`."""

Method = tuple[str, str]
"""Name and variant: together they are one method."""


def comparison_table(results: Mapping[str, Sequence[Row]]) -> Table:
    """One row per method; a group of columns per test sequence, named in the first of the group."""
    found = {name: {_method(row): row for row in rows} for name, rows in results.items()}
    methods = list(dict.fromkeys(method for rows in found.values() for method in rows))
    columns = [column for name in found for column in _titled(name)]
    table = [(*method, *(cell for rows in found.values() for cell in _cells(rows.get(method)))) for method in methods]
    notes = [*_explanations(results), *(note for method in methods for note in _budgets(method, found))]
    return Table((Column("method", "method"), Column("about", "variant"), *columns), tuple(table), tuple(notes))


def sentences(results: Mapping[str, Sequence[Row]]) -> list[str]:
    """For each test sequence, how ours stands beside the best of the others."""
    return [_sentence(name, rows) for name, rows in results.items()]


def _sentence(name: str, rows: Sequence[Row]) -> str:
    ours = _ours(rows)
    begin = f"{name}: {_called(_method(ours))} RMSE {_metres(ours.rmse.value)} m"
    others = [(row, row.difference) for row in rows if row.difference is not None]
    if not others:
        return f"{begin}; there is no other to compare with"
    best, difference = min(others, key=lambda pair: pair[0].rmse.value)
    interval = f"[{_metres(difference.interval.low)}, {_metres(difference.interval.high)}]"
    return (
        f"{begin}; best other: {_called(_method(best))} {_metres(best.rmse.value)} m;"
        f" difference {_metres(difference.value)} m {interval}: {difference.standing}"
    )


def _titled(name: str) -> list[Column]:
    first, *rest = (Column(f"{name} {column.key}", column.title, column.decimals) for column in _GROUP)
    return [Column(first.key, f"{name}: {first.title}", first.decimals), *rest]


def _cells(row: Row | None) -> list[Cell]:
    entries = row.as_dict() if row else {}
    return [entries.get(column.key) for column in _GROUP]


def _explanations(results: Mapping[str, Sequence[Row]]) -> list[str]:
    ours = ", ".join(dict.fromkeys(_called(_method(_ours(rows))) for rows in results.values()))
    return [
        "±: standard deviation over the training seeds",
        f"difference: RMSE of {ours} less that of the row, and its paired 95 % interval over resampled blocks of"
        f" frames (not over seeds); an interval below 0: {ours} is better",
    ]


def _budgets(method: Method, found: Mapping[str, Mapping[Method, Row]]) -> list[str]:
    """What a method was given to learn from: once, or for each sequence where that differs."""
    budgets = {name: rows[method].budget for name, rows in found.items() if method in rows and rows[method].budget}
    different = list(dict.fromkeys(budgets.values()))
    if len(different) == 1:
        return [f"{_called(method)}: {different[0]}"]
    return [f"{_called(method)} on {name}: {budget}" for name, budget in budgets.items()]


def _ours(rows: Sequence[Row]) -> Row:
    found = [row for row in rows if row.difference is None]
    if len(found) != 1:
        raise ValueError(f"one row must be ours, without a difference; got {len(found)} of {len(rows)}")
    return found[0]


def _method(row: Row) -> Method:
    return row.name, row.about


def _called(method: Method) -> str:
    name, about = method
    return f"{name} ({about})" if about else name


def _metres(value: float) -> str:
    return f"{value:.{_METRES}f}".replace("-", "\N{MINUS SIGN}")
