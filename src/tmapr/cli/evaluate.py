"""`tmapr evaluate`: errors.json and its tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tmapr.cli.options import Quiet

if TYPE_CHECKING:
    from tmapr.artifacts.documents.runs import Errors
    from tmapr.artifacts.run import RunFolder
    from tmapr.reports.tables.table import Table
    from tmapr.running.finished import FinishedRun


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="the run folder")],
    align: Annotated[Literal["none", "planar"], typer.Option(help="fit trajectories to the truth first")] = "none",
    against: Annotated[
        Path | None, typer.Option(metavar="OTHER", help="a run on the same sequences: is this one better?")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Compare a run with the recorded truth: write errors.json and print its tables."""
    from tmapr.artifacts.lock import writing
    from tmapr.artifacts.run import RunFolder
    from tmapr.reports.page.page import is_shown
    from tmapr.running.evaluating import evaluate_run, save_errors
    from tmapr.running.finished import FinishedRun, require_run

    folder = RunFolder(run)
    require_run(folder)
    with writing(folder.path):
        finished = FinishedRun.load(folder)
        unknown = _refuse_untold(finished)
        pairs = _compare(finished, RunFolder(against)) if against else None
        errors = evaluate_run(finished, align)
        save_errors(errors, folder)
    if quiet:
        return
    for line in dict.fromkeys(finished.remarks + unknown):
        typer.echo(line, err=True)
    print_errors(errors)
    if pairs:
        _print(pairs)
    if folder.page.exists() and not is_shown(folder.page, errors):
        typer.echo(f"{folder.page}: shows other results than these; `tmapr report {run}` makes it anew")


def _refuse_untold(run: "FinishedRun") -> list[str]:
    """Refuse a run that nothing is known of to compare with; a line for each sequence that this holds for."""
    from tmapr.exceptions import InputError

    compared = run.compared
    unknown = [name for name in run.experiment.data.scored if name not in compared]
    lines = [f"{name}: no frame has a true position; nothing to compare with" for name in unknown]
    if lines and not compared:
        raise InputError(f"{lines[0]}: `tmapr report {run.folder.path}` shows the run without")
    return lines


def _compare(run: "FinishedRun", other: "RunFolder") -> "Table":
    from tmapr.artifacts.results import read_whole
    from tmapr.reports.tables.comparison import tabulate_pairings
    from tmapr.running.finished import FinishedRun
    from tmapr.studies.pairing import compare_runs

    def compare() -> "Table":
        both = run, FinishedRun.load(other)
        pairings = compare_runs(*both)
        run.remarks.extend(both[1].remarks)
        return tabulate_pairings(pairings, [(str(each.folder.path), each.provenance) for each in both])

    return read_whole(other, compare)


def print_errors(errors: "Errors") -> None:
    """The figures of errors.json, with what a reader must know to trust them."""
    from tmapr.reports.tables.errors import (
        describe_decisions,
        describe_detour,
        name_alignment,
        tabulate_decisions,
        tabulate_honesty,
        tabulate_poses,
        tabulate_rankings,
        tabulate_tracks,
        warn_of,
    )
    from tmapr.reports.tables.stream import describe_labels, tabulate_forgetting, tabulate_stream

    for table in (tabulate_tracks, tabulate_poses, tabulate_decisions, tabulate_rankings, tabulate_honesty):
        _print(table(errors.test))
    for streamed in filter(None, (tabulate_stream(errors), tabulate_forgetting(errors.stream))):
        _print(streamed)
    labels = describe_labels(errors.labels, errors.test.values())
    typer.echo(f"protocol {'; '.join(errors.protocols)}; labels {labels}; alignment {name_alignment(errors.alignment)}")
    for line in warn_of(errors):
        typer.echo(line)
    for name, entry in errors.test.items():
        typer.echo(f"{name}: {_list_counts(entry.reasons)}; {_list_counts(entry.status)}")
        told = (describe_decisions(name, entry.decisions), describe_detour(name, entry.off_map))
        for described in filter(None, told):
            typer.echo(described)
    typer.echo(f"settings {errors.settings_sha256[:12]}")


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


def _list_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
