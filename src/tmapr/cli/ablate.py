"""`tmapr ablate`: the eight subsets of U, G and H, and the system with parts left out."""

import os
from typing import Annotated

import typer

from tmapr.cli.options import Device, ExperimentFile, Overrides, Quiet, RunOption, encoding, opened, telling


def ablate(
    experiment: ExperimentFile,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="runs side by side (default: one a core)")
    ] = None,
    device: Device = "auto",
    overrides: Overrides = None,
    run: RunOption = None,
    quiet: Quiet = False,
) -> None:
    """Run every row of the paper's ablations from the percept cache and write ablation.json.

    Interrupted, the same command goes on where it stopped. Each row is a run folder in ablate/.
    """
    from tmapr.artifacts.run import save_json
    from tmapr.evaluation.ablation import ablate as run_rows
    from tmapr.evaluation.ablation_rows import found

    settings, folder = opened(experiment, overrides or [], run)
    eyes = encoding(settings, folder, device, quiet)
    jobs = run_rows(settings, folder, eyes, workers or os.cpu_count() or 1, telling(quiet))
    save_json(folder.ablated, found(settings, folder, jobs))
    if not quiet:
        typer.echo(f"{folder.ablated}: now: tmapr report {folder.path} --table loops, or --table system")
