"""Methods compared on several test sequences, and two runs on the same frames: is the first one better?"""

from collections.abc import Mapping, Sequence

from tmapr.artifacts.documents.runs import Provenance
from tmapr.artifacts.documents.studies import ComparedMethod
from tmapr.reports.tables.errors import list_cells, list_warnings, name_alignment
from tmapr.reports.tables.stream import PROTOCOL, describe_labels, warn_of_streams
from tmapr.reports.tables.table import Table, TableColumn, head_group
from tmapr.studies.pairing import Pairing

_METRES = 2
_GROUP = (
    TableColumn("rmse", "RMSE m", _METRES),
    TableColumn("rmse_spread", "±", _METRES),
    TableColumn("seeds", "seeds", 0),
    TableColumn("mean", "mean m", _METRES),
    TableColumn("median", "median m", _METRES),
    TableColumn("difference", "difference m", _METRES),
    TableColumn("low", "from", _METRES),
    TableColumn("high", "to", _METRES),
    PROTOCOL,
)
"""The columns of one test sequence, by the fields of `ComparedMethod`."""

_KEYS = [column.key for column in _GROUP]

MethodName = tuple[str, str]
"""Name and variant: together they are one method."""


def tabulate_methods(results: Mapping[str, Sequence[ComparedMethod]]) -> Table:
    """One row per method; a group of columns per test sequence, named in the first of the group."""
    found = {name: {_identify(row): row for row in rows} for name, rows in results.items()}
    methods = list(dict.fromkeys(method for rows in found.values() for method in rows))
    columns = [column for name in found for column in head_group(name, _GROUP)]
    table = [
        (*method, *(cell for rows in found.values() for cell in list_cells(rows.get(method), _KEYS)))
        for method in methods
    ]
    protocols = [row.protocol or "test" for rows in results.values() for row in rows]
    notes = [
        *_explain(results),
        *warn_of_streams(protocols),
        *(note for method in methods for note in _describe_budgets(method, found)),
    ]
    return Table(
        (TableColumn("method", "method"), TableColumn("about", "variant"), *columns), tuple(table), tuple(notes)
    )


def describe_methods(results: Mapping[str, Sequence[ComparedMethod]]) -> list[str]:
    """For each test sequence, how ours stands beside the best of the others."""
    return [_describe_sequence(name, rows) for name, rows in results.items()]


def _describe_sequence(name: str, rows: Sequence[ComparedMethod]) -> str:
    ours = _find_ours(rows)
    begin = f"{name}: {ours.title} RMSE {_format_metres(ours.rmse)} m"
    others = [row for row in rows if row.difference is not None]
    if not others:
        return f"{begin}; there is no other to compare with"
    best = min(others, key=lambda row: row.rmse)
    difference, low, high = map(_format_metres, (best.difference, best.low, best.high))
    return (
        f"{begin}; best other: {best.title} {_format_metres(best.rmse)} m;"
        f" difference {difference} m [{low}, {high}]: {best.verdict}"
    )


def _explain(results: Mapping[str, Sequence[ComparedMethod]]) -> list[str]:
    ours = ", ".join(dict.fromkeys(_find_ours(rows).title for rows in results.values()))
    return [
        "±: standard deviation over the training seeds",
        f"difference: RMSE of {ours} less that of the row, and its paired 95 % interval over resampled blocks of"
        f" frames (not over seeds); an interval below 0: {ours} is better",
    ]


def _describe_budgets(method: MethodName, found: Mapping[str, Mapping[MethodName, ComparedMethod]]) -> list[str]:
    """What a method was given to learn from: once, or for each sequence where that differs."""
    trained = {name: rows[method] for name, rows in found.items() if method in rows and rows[method].budget}
    different = {row.budget: row.title for row in trained.values()}
    if len(different) == 1:
        return [f"{title}: {budget}" for budget, title in different.items()]
    return [f"{row.title} on {name}: {row.budget}" for name, row in trained.items()]


def _find_ours(rows: Sequence[ComparedMethod]) -> ComparedMethod:
    found = [row for row in rows if row.difference is None]
    if len(found) != 1:
        raise ValueError(f"one row must be ours, without a difference; got {len(found)} of {len(rows)}")
    return found[0]


def _identify(row: ComparedMethod) -> MethodName:
    return row.name, row.about


def _format_metres(value: float | None) -> str:
    return f"{value:.{_METRES}f}".replace("-", "\N{MINUS SIGN}")


_DECIMALS = 3


def tabulate_pairings(pairings: Sequence[Pairing], runs: Sequence[tuple[str, Provenance]]) -> Table:
    """A row per sequence and measure; `runs` are the first one and the other: name and provenance."""
    numbers = {"a": "A", "b": "B", "difference": "A − B", "low": "from", "high": "to"}
    columns = (
        TableColumn("sequence", "sequence"),
        PROTOCOL,
        TableColumn("measure", "measure"),
        TableColumn("frames", "frames", 0),
        *(TableColumn(key, title, _DECIMALS) for key, title in numbers.items()),
        TableColumn("verdict", "A is"),
    )
    rows = [
        (
            pairing.sequence,
            _name_protocols(pairing.sequence, [made for _, made in runs]),
            measure.name,
            measure.frames,
            measure.a,
            measure.b,
            measure.difference.value,
            measure.difference.interval.low,
            measure.difference.interval.high,
            measure.standing.value,
        )
        for pairing in pairings
        for measure in pairing.measures
    ]
    refusals = [pairing.refusal for pairing in pairings if pairing.refusal]
    return Table(columns, tuple(rows), (*_describe_circumstances(runs), *refusals))


def _name_protocols(sequence: str, runs: Sequence[Provenance]) -> str:
    """That of both runs, or first that of A, then that of B."""
    entries = [made.sequences.get(sequence) for made in runs]
    return " | ".join(dict.fromkeys(entry.protocol_name if entry else "test" for entry in entries))


def _describe_circumstances(runs: Sequence[tuple[str, Provenance]]) -> list[str]:
    """Which run is which, and what each was allowed."""
    lines = [
        "; ".join(
            [
                f"{letter}: {name}",
                f"labels {describe_labels(made.labels, made.sequences.values())}",
                f"alignment {name_alignment(made.alignment)}",
                *list_warnings(made.alignment, made.labels, made.protocols or ("test",)),
            ]
        )
        for letter, (name, made) in zip("AB", runs, strict=True)
    ]
    return [
        *lines,
        "unaligned, on the frames that both localize or on all; A − B with its 95 % interval from resampled blocks",
    ]
