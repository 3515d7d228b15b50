"""`tmapr config`: every setting, its value, unit and meaning, as TOML."""

from pathlib import Path
from typing import Annotated

import typer

from tmapr.cli.options import Overrides, make_teller


def config(
    experiment: Annotated[Path | None, typer.Argument(metavar="[EXPERIMENT]", help="default: the defaults")] = None,
    overrides: Overrides = None,
) -> None:
    """Print every setting, its value, unit and meaning, as TOML."""
    from tmapr.config import dump_toml
    from tmapr.experiment import read_experiment

    typer.echo(dump_toml(read_experiment(experiment, overrides or [], make_teller(quiet=False))), nl=False)
