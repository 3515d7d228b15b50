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

    style: dict[str, Any] = {"box": SIMPLE_HEAD, "padding": (0, 1, 0, 0)}
    table = Table("sequence", "frames", "track", "RMSE m", "mean m", "median m", "jumps", **style)
    for name, entry in errors["test"].items():
        for track in ("apr", "retrieval", "fused"):
            figures = entry[track]
            cells = [f"{figures[key]:.2f}" for key in ("rmse", "mean", "median")] if figures else ["–"] * 3
            table.add_row(name, str(entry["frames"]), track, *cells, _cell(entry["jumps"].get(track)))
    loops = Table("sequence", "prec.", "recall", "F1", "d-recall", "accepted", "NEES", "in95%", "p95 ms", **style)
    for name, entry in errors["test"].items():
        scores = [_cell(entry["loops"][key]) for key in ("precision", "recall", "f1", "decision_recall", "accepted")]
        honesty = [f"{entry['nees']['mean']:.2f}", f"{entry['nees']['coverage95']:.3f}"]
        loops.add_row(name, *scores, *honesty, f"{entry['step_ms']['p95']:.2f}")
    console = Console()
    console.print(table, loops)
    oracle = "  ORACLE: the pose head was fitted to the test truth" if errors["alignment"] == "apr-oracle" else ""
    console.print(f"labels {errors['labels']}; alignment {errors['alignment']}{oracle}", highlight=False)
    for name, entry in errors["test"].items():
        console.print(f"{name}: {_listed(entry['reasons'])}; {_listed(entry['status'])}", highlight=False)
    console.print(f"settings {errors['settings_sha256'][:12]}", highlight=False)


def _cell(value: float | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
