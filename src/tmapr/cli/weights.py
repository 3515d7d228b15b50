"""`tmapr weights`: what a checkpoint file is, where the published ones are, and how the shipped head was made."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tmapr.cli.options import Quiet, make_watch, needs
from tmapr.exceptions import InputError

if TYPE_CHECKING:
    from tmapr.artifacts.download import ByteWatch
    from tmapr.perception.sources import Source
    from tmapr.training.shipped import TuningStep

weights = typer.Typer(
    help="Checkpoint files: what one is, where to get the published ones, how to make the shipped head.",
    no_args_is_help=True,
)


@weights.command()
def pull(
    name: Annotated[Literal["anythermal", "dinov2", "salad"], typer.Argument(help="which weights")],
    variant: Annotated[
        Literal["vits14", "vitb14", "vits14_reg", "vitb14_reg"] | None,
        typer.Option(help="DINOv2's size, with or without registers (default: vitb14)"),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="where to put them")] = Path("weights"),
    yes: Annotated[bool, typer.Option("--yes", help="accept the licence without being asked")] = False,
    origin: Annotated[str | None, typer.Option("--from", metavar="URL", help="a mirror of the published file")] = None,
    sha256: Annotated[str | None, typer.Option(metavar="HEX", help="accept this content and no other")] = None,
    remove_zip: Annotated[bool, typer.Option("--remove-zip", help="remove the archive once it is unpacked")] = False,
) -> None:
    """Download published weights: the licence first, a broken download continued, the content checked."""
    from tmapr.artifacts.download import UnreachableError
    from tmapr.perception.sources import find_source, obtain, read_digest

    source = find_source(name, variant)
    size = f", {source.megabytes} MB" if source.megabytes else ""
    typer.echo(f"{source.name}: {source.file}{size}\nfrom {origin or source.url}\nlicence: {source.licence}")
    _require_consent(yes)
    try:
        with _show_progress(source.file) as watch:
            checkpoints = obtain(source, out, url=origin, sha256=sha256, watch=watch)
    except UnreachableError:
        typer.echo(_explain_by_hand(source, out))
        raise
    if remove_zip and source.members:
        (out / source.file).unlink()
    for checkpoint in checkpoints:
        typer.echo(f"{checkpoint}\nsha256 {read_digest(checkpoint)}; now: tmapr weights inspect {checkpoint}")


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
            from tmapr.perception.weights import read_checkpoint
        checkpoint = read_checkpoint(file)
        layout, card = str(checkpoint.layout), checkpoint.card
    typer.echo(f"{file}: {layout}")
    for line in card.describe():
        typer.echo(f"  {line}")


@weights.command()
def train(
    head: Annotated[
        Path, typer.Argument(metavar="HEAD.safetensors", help="the head to write; its card goes beside it")
    ],
    real: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="with metu_vistir/, gardens/ and kaist/: watch real sets, too"),
    ] = None,
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
    for look in make_head(head, real, encoder, device, make_watch("rendering", quiet)):
        if not quiet:
            typer.echo(_describe_step(look))
    if not quiet:
        typer.echo(f'{head}: use it with: perception.head = "{head}"')


def _describe_step(look: "TuningStep") -> str:
    loss = "plain pooling" if look.loss is None else f"loss {look.loss:.3f}"
    found = ", ".join(f"{family} {share:.3f}" for family, share in look.tuning_recall.items())
    told = [f"{name.replace('_', ' ')} {each.plain:.3f}/{each.centred:.3f}" for name, each in look.real_recall.items()]
    real = f"; real, plain/centred: {', '.join(told)}" if told else ""
    return f"step {look.step}: {loss}; R@1 {found}{real}"


def _require_consent(yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("nothing was downloaded: read the licence and pass --yes to accept it")
    if not typer.confirm("Do you accept the licence?"):
        raise InputError("nothing was downloaded: the licence was not accepted")


def _explain_by_hand(source: "Source", out: Path) -> str:
    path = out / source.file
    last = f"tmapr weights pull {source.name} --out {out}" if source.members else f"tmapr weights inspect {path}"
    purpose = "  (unpacks it, nothing is downloaded)" if source.members else ""
    return (
        "By hand:\n"
        f"  1. on a machine with a network, download {source.url}\n"
        f"  2. copy it to {path}\n"
        f"  3. {last}{purpose}"
    )


@contextmanager
def _show_progress(label: str) -> "Iterator[ByteWatch]":
    """A bar on a terminal, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)
