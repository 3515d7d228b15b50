"""`tmapr run`: adapt with labels, then localize the test sequences."""

from typing import Annotated, Literal

import typer

from tmapr.cli.options import ExperimentFile, Overrides, Quiet, RunOption, opened, watching


def run(
    experiment: ExperimentFile,
    learn: Annotated[Literal["off", "fused", "truth"] | None, typer.Option(help="learn on the test sequences")] = None,
    label_delay: Annotated[int | None, typer.Option(help="frames by which true labels are late")] = None,
    align_apr: Annotated[
        Literal["none", "adapt", "oracle"] | None, typer.Option(help="fit the pose head first")
    ] = None,
    overrides: Overrides = None,
    run: RunOption = None,
    quiet: Quiet = False,
) -> None:
    """Localize the test sequences from their percepts, after adapting to the labelled ones."""
    from tmapr.evaluation.running import run_experiment

    chosen = {"labels.mode": learn, "labels.delay": label_delay, "align_apr": align_apr}
    options = [f"{key}={value}" for key, value in chosen.items() if value is not None]
    settings, folder = opened(experiment, [*(overrides or []), *options], run)
    run_experiment(settings, folder, watching("localizing", quiet))
    if not quiet:
        for name in settings.data.test:
            typer.echo(f"{folder.estimates(name)}")
        typer.echo(f"labels {settings.labels.described}; now: tmapr evaluate {folder.path}")
