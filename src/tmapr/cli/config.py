"""`tmapr config`: every setting, its value, unit and meaning, as TOML."""

from pathlib import Path
from typing import Annotated

import typer

from tmapr.cli.options import Overrides


def config(
    experiment: Annotated[Path | None, typer.Argument(metavar="[EXPERIMENT]", help="default: the defaults")] = None,
    overrides: Overrides = None,
) -> None:
    """Print every setting, its value, unit and meaning, as TOML."""
    from tmapr.config import dump_toml, load_settings
    from tmapr.experiment import Experiment

    typer.echo(dump_toml(load_settings(Experiment, experiment, overrides or [])), nl=False)
