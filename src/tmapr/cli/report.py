"""`tmapr report`: one page of HTML, the table that compares runs, or one of the paper's tables."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tmapr.cli.options import OpenPage, open_page
from tmapr.reports.tables.paper import TableName, append_paper_rows

if TYPE_CHECKING:
    from tmapr.reports.reported import ReportedRun
    from tmapr.reports.tables.table import Table

Format = Literal["html", "text", "markdown", "latex", "json"]


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="finished run folders")],
    table: Annotated[
        TableName | None, typer.Option(help="the paper's Table II, III, IV or V; the last two need `tmapr ablate`")
    ] = None,
    paper: Annotated[bool, typer.Option("--paper", help="add the paper's own numbers to that table")] = False,
    form: Annotated[Format | None, typer.Option("--format", help="default: html, the page; with --table text")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="default: RUN/report/index.html, or print it")
    ] = None,
    opened: OpenPage = False,
) -> None:
    """Show runs on one page, or compare them in a table; nothing else is written."""
    from contextlib import nullcontext

    from tmapr.artifacts.lock import writing
    from tmapr.artifacts.run import RunFolder
    from tmapr.exceptions import InputError
    from tmapr.reports.page.page import render_page
    from tmapr.running.finished import require_run

    form = form or ("text" if table else "html")
    _refuse_contradictions(table, paper, form, out)
    if form != "html":
        if opened:
            raise InputError(f"--open: opens the page, and --format {form} makes none")
        _deliver(_format_table(_make_table(runs, table, paper), form), out)
        return
    if out is None:
        require_run(RunFolder(runs[0]))
    with writing(runs[0], "name another file with --out") if out is None else nullcontext():
        # A comparison never replaces the page of the run that happens to be named first.
        page = RunFolder(runs[0]).page
        out = out or (page if len(runs) == 1 else page.with_name("comparison.html"))
        _deliver(render_page(_load_runs(runs)), out)
    if opened:
        open_page(out)


def _load_runs(runs: Sequence[Path]) -> "list[ReportedRun]":
    """The runs; what there is to know of their recordings is told beside the output."""
    from tmapr.reports.reported import ReportedRun

    loaded = [ReportedRun.load(path) for path in runs]
    _tell(line for run in loaded for line in run.remarks)
    return loaded


def _tell(remarks: Iterable[str]) -> None:
    for line in dict.fromkeys(remarks):
        typer.echo(line, err=True)


def _deliver(text: str, out: Path | None) -> None:
    from tmapr.artifacts.atomic import write_text

    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(out, text)
    typer.echo(str(out))


def _refuse_contradictions(table: TableName | None, paper: bool, form: Format, out: Path | None) -> None:
    from tmapr.exceptions import InputError

    if out is not None and out.is_dir():
        raise InputError(f"{out}: is a folder; name the file to write")
    if paper and table is None:
        raise InputError("--paper: adds to one of the paper's tables; name it with --table")
    if table and form == "html":
        raise InputError(
            f"--format html: is the page, without --table {table}; allowed are text, markdown, latex, json"
        )


def _make_table(runs: Sequence[Path], name: TableName | None, paper: bool) -> "Table":
    from tmapr.reports.tables.errors import tabulate_runs

    if name is None:
        return tabulate_runs(_load_runs(runs))
    table = _ablation(runs, name) if name in ("loops", "system") else _errors(runs, name)
    return append_paper_rows(table, name) if paper else table


def _errors(runs: Sequence[Path], name: TableName) -> "Table":
    from tmapr.exceptions import InputError
    from tmapr.reports.tables.localization import gather_runs, tabulate_fusion, tabulate_localization

    loaded = _load_runs(runs)
    for run in loaded:
        if not run.errors.test:
            raise InputError(
                f"{run.folder.path}: no frame has a true position, which --table {name} needs;"
                f" `tmapr report {run.folder.path}` shows the run without"
            )
        unknown = (sequence.name for sequence in run.sequences if sequence.figures is None)
        _tell(f"{run.folder.path}: {sequence}: no frame has a true position; not in this table" for sequence in unknown)
    found = gather_runs(loaded)
    return tabulate_localization(found) if name == "localization" else tabulate_fusion(found)


def _ablation(runs: Sequence[Path], name: TableName) -> "Table":
    from tmapr.reports.tables.ablation import tabulate_loops, tabulate_system
    from tmapr.reports.tables.ablation_runs import load_ablations

    found = load_ablations(runs)
    _tell(line for one in found for line in one.remarks)
    return tabulate_loops(found) if name == "loops" else tabulate_system(found)


def _format_table(table: "Table", form: Format) -> str:
    if form == "latex":
        return table.latex()
    if form == "text":
        return table.text()
    return table.json() if form == "json" else table.markdown()
