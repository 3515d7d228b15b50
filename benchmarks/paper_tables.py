"""The paper's Tables II to V beneath ours, its latency, and every number that it prints beside ours."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tmapr.artifacts.documents.latency import Latency
from tmapr.reports.reported import ReportedRun
from tmapr.reports.tables.ablation import tabulate_loops, tabulate_system
from tmapr.reports.tables.ablation_runs import load_ablations
from tmapr.reports.tables.latency import tabulate_latency
from tmapr.reports.tables.localization import gather_runs, list_origins, tabulate_fusion, tabulate_localization
from tmapr.reports.tables.paper import PublishedRow, TableName, append_paper_rows, list_paper_rows
from tmapr.reports.tables.table import Table, TableCell, TableColumn

TITLES: Mapping[TableName, str] = {
    "localization": "Table II: localization",
    "fusion": "Table III: what fusion adds",
    "loops": "Table IV: loops by subset of U, G and H",
    "system": "Table V: the system's parts",
}
SAME = {"TM-APR": "fused", "Global AnyThermal-VPR": "global top-1"}
"""Methods that the paper calls otherwise."""

CELLS = (
    TableColumn("table", "table"),
    TableColumn("sequence", "recordings"),
    TableColumn("method", "method"),
    TableColumn("figure", "figure"),
    TableColumn("paper", "paper", 0),
    TableColumn("ours", "ours", 0),
    TableColumn("difference", "ours less paper", 0),
    TableColumn("percent", "in %", 0),
)
NOTES = (
    "F1 of ours is here made from precision and d-recall, as the paper's is: Table IV has the one from recall",
    "–: the recordings are not published (Real-UGV-Campus) or not in DATA, or nobody has run the method on them:"
    " `tmapr compare` trains AtLoc, RobustLoc and ThermalLoc, and its results are found in the run folder",
)


def describe_tables(
    runs: Sequence[Path], latencies: Sequence[Path], asked: Mapping[str, str], left_out: Sequence[str]
) -> str:
    """All of them as Markdown; `asked` has our sequence for each of the paper's recordings."""
    evaluated, ablated = gather_runs([ReportedRun.load(path) for path in runs]), load_ablations(runs)
    tables: dict[TableName, Table] = {
        "localization": tabulate_localization(evaluated),
        "fusion": tabulate_fusion(evaluated),
        "loops": tabulate_loops(ablated),
        "system": tabulate_system(ablated),
    }
    compared = compare_cells(tables, asked)
    compared = replace(compared, notes=(*compared.notes, *list_origins(evaluated)))
    timed = tabulate_latency([Latency.load(path, f"tmapr bench {path.parent} --out {path}") for path in latencies])
    parts = {TITLES[name]: append_paper_rows(table, name) for name, table in tables.items()}
    parts |= {"Latency": timed, "Every printed number, and ours": compared}
    told = "".join(f"{line}\n\n" for line in left_out)
    return f"# The paper's tables\n\n{told}" + "\n".join(
        f"## {title}\n\n{each.markdown()}" for title, each in parts.items()
    )


def compare_cells(tables: Mapping[TableName, Table], asked: Mapping[str, str]) -> Table:
    """A row for every number that the paper prints."""
    rows = [
        (TITLES[name].partition(":")[0], *row)
        for name, table in tables.items()
        for published in list_paper_rows(name)
        for row in compare_row(published, table, asked)
    ]
    return Table(CELLS, tuple(rows), NOTES)


def compare_row(published: PublishedRow, table: Table, asked: Mapping[str, str]) -> Iterator[tuple[TableCell, ...]]:
    """The numbers of a printed row beside those of ours on the same recordings with the same method."""
    recordings, method = str(published["sequence"]), published.get("method")
    ours = find_row(table, asked.get(recordings), method)
    if "decision_recall" in published and ours:
        ours = ours | {"f1": join_scores(ours["precision"], ours["decision_recall"])}
    for column in table.columns:
        printed, found = published.get(column.key), ours.get(column.key)
        if not isinstance(printed, float):
            continue
        cells: tuple[TableCell, ...] = (None, None, None)
        if isinstance(found, int | float):
            less = found - printed
            cells = (column.format(float(found)), f"{less:+.{column.decimals}f}", f"{100 * less / printed:+.1f}")
        yield (recordings, method, column.title, column.format(printed), *cells)


def find_row(table: Table, sequence: str | None, method: TableCell) -> dict[str, TableCell]:
    """Our row by the keys of its columns; empty where there is none. A baseline's title goes on with its trunk."""
    wanted = name_method(str(SAME.get(str(method), method)))
    for row in table.rows:
        found = dict(zip((column.key for column in table.columns), row, strict=True))
        named = name_method(str(found.get("method")).partition(" (")[0])
        if found["sequence"] == sequence and (method is None or named == wanted):
            return found
    return {}


def name_method(title: str) -> str:
    return title.replace(" ", "")


def join_scores(precision: TableCell, recall: TableCell) -> float | None:
    """F1."""
    if not isinstance(precision, int | float) or not isinstance(recall, int | float) or not precision + recall:
        return None
    return 2 * precision * recall / (precision + recall)
