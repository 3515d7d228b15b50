"""`tmapr weights`: what a checkpoint file is, where the published ones are, and how the shipped head was made."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tmapr.cli.options import Quiet, needs, watching
from tmapr.cli.pull import pull

if TYPE_CHECKING:
    from tmapr.training.shipped import Look

weights = typer.Typer(
    help="Checkpoint files: what one is, where to get the published ones, how to make the shipped head.",
    no_args_is_help=True,
)
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


@weights.command()
def train(
    head: Annotated[
        Path, typer.Argument(metavar="HEAD.safetensors", help="the head to write; its card goes beside it")
    ],
    metu: Annotated[Path | None, typer.Option(metavar="FOLDER", help="METU-VisTIR: watch real images too")] = None,
    encoder: Annotated[str, typer.Option(metavar="FILE", help="another EfficientNet-Lite0 checkpoint")] = "default",
    device: Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="where to render and train")] = "auto",
    quiet: Quiet = False,
) -> None:
    """Make a descriptor head as the shipped one was made: on rendered worlds, watched on others and on real images."""
    from tmapr.exceptions import InputError

    if head.suffix != ".safetensors":
        raise InputError(f"{head}: the name of a head ends in .safetensors")
    with needs("train"):
        from tmapr.training.shipped import make_head
    for look in make_head(head, metu, encoder, device, watching("rendering", quiet)):
        if not quiet:
            typer.echo(_told(look))
    if not quiet:
        typer.echo(f'{head}: use it with: perception.head = "{head}"')


def _told(look: "Look") -> str:
    loss = "plain pooling" if look.loss is None else f"loss {look.loss:.3f}"
    found = ", ".join(f"{family} {share:.3f}" for family, share in look.tuning_recall.items())
    real = "" if look.metu_right is None else f"; METU {look.metu_right} right"
    return f"step {look.step}: {loss}; R@1 {found}{real}"
