"""`tmapr map`: the reference traverse becomes M₀ and A₀."""

import typer

from tmapr.cli.options import ExperimentFile, Overrides, Quiet, RunOption, opened, watching


def map_reference(
    experiment: ExperimentFile, overrides: Overrides = None, run: RunOption = None, quiet: Quiet = False
) -> None:
    """Map the reference traverse from its percepts."""
    from tmapr.evaluation.running import map_experiment

    settings, folder = opened(experiment, overrides or [], run)
    environment = map_experiment(settings, folder, watching("mapping", quiet))
    if not quiet:
        memory = environment.memory
        typer.echo(f"{folder.map}: {len(memory)} references in {memory.place_count} places")
