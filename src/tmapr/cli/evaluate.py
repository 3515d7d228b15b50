"""`tmapr evaluate`: errors.json and its tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tmapr.cli.options import Quiet, watching

if TYPE_CHECKING:
    from tmapr.reports.table import Table


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="the run folder")],
    align: Annotated[Literal["none", "planar"], typer.Option(help="fit trajectories to the truth first")] = "none",
    against: Annotated[
        Path | None, typer.Option(metavar="OTHER", help="a run on the same sequences: is this one better?")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Compare a run with the recorded truth: write errors.json and print its tables."""
    from tmapr.artifacts.run import RunFolder, load_json
    from tmapr.evaluation.alignment import fit_planar
    from tmapr.evaluation.assessment import assess
    from tmapr.evaluation.pairing import compare_runs

    pairings = compare_runs(RunFolder(run), RunFolder(against)) if against else []
    errors = assess(RunFolder(run), fit_planar if align == "planar" else None, watching("ranking", quiet))
    if quiet:
        return
    print_errors(errors)
    if against:
        from tmapr.reports.paired import paired

        _print(paired(pairings, {str(path): load_json(RunFolder(path).provenance) for path in (run, against)}))


def print_errors(errors: dict[str, Any]) -> None:
    """The figures of errors.json, with what a reader must know to trust them."""
    from tmapr.reports.summary import alignment, decisions, detoured, honesty, poses, rankings, tracks, warnings

    for table in (tracks, poses, decisions, rankings, honesty):
        _print(table(errors["test"]))
    typer.echo(f"labels {errors['labels']}; alignment {alignment(errors)}")
    for line in warnings(errors):
        typer.echo(line)
    for name, entry in errors["test"].items():
        typer.echo(f"{name}: {_listed(entry['reasons'])}; {_listed(entry['status'])}")
        if away := detoured(name, entry):
            typer.echo(away)
    typer.echo(f"settings {errors['settings_sha256'][:12]}")


def _print(shown: "Table") -> None:
    from rich import table
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.text import Text

    grid = table.Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in shown.columns:
        grid.add_column(column.title, overflow="fold", justify="left" if column.decimals is None else "right")
    for row in shown.cells:
        grid.add_row(*map(Text, row))  # a name in brackets is not markup
    Console().print(grid)
    for note in shown.notes:
        typer.echo(note)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
