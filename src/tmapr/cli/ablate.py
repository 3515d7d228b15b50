"""`tmapr ablate`: the eight subsets of U, G and H, and the system with parts left out."""

import os
from typing import Annotated

import typer

from tmapr.cli.options import (
    Device,
    ExperimentFile,
    Force,
    Overrides,
    Quiet,
    RunOption,
    Verify,
    choose_trust,
    make_encoding,
    make_teller,
    open_experiment,
)


def ablate(
    experiment: ExperimentFile,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="runs side by side (default: one a core)")
    ] = None,
    device: Device = "auto",
    overrides: Overrides = None,
    run: RunOption = None,
    verify: Verify = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Run every row of the paper's ablations from the percept cache and write ablation.json.

    Interrupted, the same command goes on where it stopped. Each row is a run folder in ablate/.
    """
    from tmapr.artifacts.lock import writing
    from tmapr.studies.ablation import run_rows
    from tmapr.studies.ablation_summary import summarize_ablation

    settings, folder = open_experiment(experiment, overrides or [], run, quiet)
    encoding = make_encoding(settings, folder, device, quiet, choose_trust(verify, force))
    with writing(folder.path):
        jobs = run_rows(settings, folder, encoding, workers or os.cpu_count() or 1, make_teller(quiet))
        summarize_ablation(settings, folder, jobs).save(folder.ablation_json)
    if not quiet:
        typer.echo(f"{folder.ablation_json}: now: tmapr report {folder.path} --table loops, or --table system")
