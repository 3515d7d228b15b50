"""`tmapr map`: the reference traverses become M₀ and A₀."""

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
    make_watch,
    open_experiment,
)


def map_reference(
    experiment: ExperimentFile,
    device: Device = "auto",
    overrides: Overrides = None,
    run: RunOption = None,
    verify: Verify = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Map the reference traverses; their images are encoded first if their percepts are not there yet."""
    from tmapr.running.running import map_experiment

    settings, folder = open_experiment(experiment, overrides or [], run, quiet)
    environment = map_experiment(
        settings,
        folder,
        make_watch("mapping", quiet),
        make_encoding(settings, folder, device, quiet, choose_trust(verify, force)),
    )
    if not quiet:
        memory = environment.memory
        typer.echo(f"{folder.map}: {len(memory)} references in {memory.place_count} places")
