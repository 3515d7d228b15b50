"""`tmapr config`: every setting, its value, unit and meaning, as TOML."""

import re
from pathlib import Path
from typing import Annotated

import typer

from tmapr.cli.options import Overrides, make_teller


def config(
    experiment: Annotated[Path | None, typer.Argument(metavar="[EXPERIMENT]", help="default: the defaults")] = None,
    overrides: Overrides = None,
    everything: Annotated[bool, typer.Option("--all", help="the numbers of the method too")] = False,
) -> None:
    """Print every setting, its value, unit and meaning, as TOML; with --all the numbers of the method too."""
    from tmapr.config import dump_toml
    from tmapr.experiment import read_experiment
    from tmapr.tracking import RouteModel

    read = read_experiment(experiment, overrides or [], make_teller(quiet=False))
    text = dump_toml(read)
    if not everything and read.system.tracking.model == RouteModel():
        text = re.sub(r"\[tracking\.model\]\n(?:[^\[].*\n|\n)*", "", text)
    typer.echo(text, nl=False)
