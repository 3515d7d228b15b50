"""`tmapr weights`: what a checkpoint file is, and where the published ones are."""

from pathlib import Path
from typing import Annotated

import typer

from tmapr.cli.options import needs
from tmapr.cli.pull import pull

weights = typer.Typer(help="Checkpoint files: what one is, and where to get the published ones.", no_args_is_help=True)
weights.command()(pull)


@weights.command()
def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a checkpoint or an exported perceiver")],
) -> None:
    """Say what a file is and whether it can be used; nothing in it is executed."""
    if file.suffix == ".onnx":
        from tmapr.perception.onnx import load_onnx

        layout, card = "perceiver exported by tmapr", load_onnx(file, "cpu")[0]
    else:
        with needs("train"):
            from tmapr.perception.weights import read
        checkpoint = read(file)
        layout, card = str(checkpoint.layout), checkpoint.card
    typer.echo(f"{file}: {layout}")
    for line in card.described():
        typer.echo(f"  {line}")
