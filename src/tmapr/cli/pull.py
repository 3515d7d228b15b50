"""`tmapr weights pull`: download published checkpoints, or say how to carry them here by hand."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tmapr.exceptions import InputError

if TYPE_CHECKING:
    from tmapr.artifacts.download import Watch
    from tmapr.perception.sources import Source


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
    from tmapr.perception.sources import obtain, published, recorded

    source = published(name, variant)
    size = f", {source.megabytes} MB" if source.megabytes else ""
    typer.echo(f"{source.name}: {source.file}{size}\nfrom {origin or source.url}\nlicence: {source.licence}")
    _require_consent(yes)
    try:
        with _progress(source.file) as watch:
            checkpoints = obtain(source, out, url=origin, sha256=sha256, watch=watch)
    except UnreachableError:
        typer.echo(_by_hand(source, out))
        raise
    if remove_zip and source.members:
        (out / source.file).unlink()
    for checkpoint in checkpoints:
        typer.echo(f"{checkpoint}\nsha256 {recorded(checkpoint)}; now: tmapr weights inspect {checkpoint}")


def _require_consent(yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("nothing was downloaded: read the licence and pass --yes to accept it")
    if not typer.confirm("Do you accept the licence?"):
        raise InputError("nothing was downloaded: the licence was not accepted")


def _by_hand(source: "Source", out: Path) -> str:
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
def _progress(label: str) -> "Iterator[Watch]":
    """A bar on a terminal, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)
