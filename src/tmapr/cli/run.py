"""`tmapr run`: adapt with labels, then localize the test sequences."""

from typing import Annotated, Literal

import typer

from tmapr.cli.options import Device, ExperimentFile, Overrides, Quiet, RunOption, encoding, opened, watching


def run(
    experiment: ExperimentFile,
    learn: Annotated[Literal["off", "fused", "truth"] | None, typer.Option(help="learn on the test sequences")] = None,
    label_delay: Annotated[int | None, typer.Option(help="frames by which true labels are late")] = None,
    align_apr: Annotated[
        Literal["none", "adapt", "oracle"] | None, typer.Option(help="fit the pose head first")
    ] = None,
    device: Device = "auto",
    overrides: Overrides = None,
    run: RunOption = None,
    quiet: Quiet = False,
) -> None:
    """Localize the test sequences, after adapting to the labelled ones; percepts that are missing are encoded first."""
    from tmapr.evaluation.running import run_experiment

    chosen = {"labels.mode": learn, "labels.delay": label_delay, "align_apr": align_apr}
    options = [f"{key}={value}" for key, value in chosen.items() if value is not None]
    settings, folder = opened(experiment, [*(overrides or []), *options], run)
    run_experiment(settings, folder, watching("localizing", quiet), encoding(settings, folder, device, quiet))
    if not quiet:
        for name in settings.data.test:
            typer.echo(f"{folder.estimates(name)}")
        typer.echo(f"labels {settings.labels.described}; now: tmapr evaluate {folder.path}")
