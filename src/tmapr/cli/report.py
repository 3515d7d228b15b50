"""`tmapr report`: one page of HTML, or the table that compares runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from tmapr.reports.table import Table

Format = Literal["html", "markdown", "latex", "json"]


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="finished run folders")],
    form: Annotated[Format, typer.Option("--format", help="a page, or the comparison as a table")] = "html",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="default: RUN/report/index.html, or print it")
    ] = None,
) -> None:
    """Show runs on one page, or compare them in a table; they are evaluated first."""
    from tmapr.artifacts.atomic import write_text
    from tmapr.exceptions import InputError
    from tmapr.reports.evidence import RunEvidence
    from tmapr.reports.page import page
    from tmapr.reports.summary import comparison

    if out is not None and out.is_dir():
        raise InputError(f"{out}: is a folder; name the file to write")
    evidence = [RunEvidence.load(path) for path in runs]
    text = page(evidence) if form == "html" else _written(comparison(evidence), form)
    if form == "html" and out is None:
        # A comparison never replaces the page of the run that happens to be named first.
        out = runs[0] / "report" / ("index.html" if len(runs) == 1 else "comparison.html")
    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(out, text)
    typer.echo(str(out))


def _written(table: "Table", form: Format) -> str:
    if form == "latex":
        return table.latex()
    return table.json() if form == "json" else table.markdown()
