"""`tmapr evaluate`: errors.json and its table."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tmapr.cli.options import Quiet


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="the run folder")],
    align: Annotated[Literal["none", "planar"], typer.Option(help="fit trajectories to the truth first")] = "none",
    quiet: Quiet = False,
) -> None:
    """Compare a run with the recorded truth: write errors.json and print its table."""
    from tmapr.artifacts.run import RunFolder
    from tmapr.evaluation.alignment import fit_planar
    from tmapr.evaluation.assessment import assess

    errors = assess(RunFolder(run), fit_planar if align == "planar" else None)
    if not quiet:
        print_errors(errors)


def print_errors(errors: dict[str, Any]) -> None:
    """The figures of errors.json, with what a reader must know to trust them."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tmapr.reports.summary import alignment, loops, tracks, warnings

    console = Console()
    for shown in (tracks(errors["test"]), loops(errors["test"])):
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for title in shown.titles:
            table.add_column(title, overflow="fold")
        for row in shown.cells:
            table.add_row(*map(Text, row))  # a name in brackets is not markup
        console.print(table)
    typer.echo(f"labels {errors['labels']}; alignment {alignment(errors)}")
    for line in warnings(errors):
        typer.echo(line)
    for name, entry in errors["test"].items():
        typer.echo(f"{name}: {_listed(entry['reasons'])}; {_listed(entry['status'])}")
    typer.echo(f"settings {errors['settings_sha256'][:12]}")


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
