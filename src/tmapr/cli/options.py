"""Options that several verbs share."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from tmapr.artifacts.run import RunFolder
    from tmapr.artifacts.sources import Trust
    from tmapr.experiment import Experiment
    from tmapr.running.encoding import Encoding
    from tmapr.types import Watch

ExperimentFile = Annotated[Path, typer.Argument(metavar="EXPERIMENT", help="the experiment's TOML file")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="override a setting, e.g. places.cell=20")
]
RunOption = Annotated[Path | None, typer.Option("--run", metavar="DIR", help="run folder (default: runs/NAME)")]
Device = Annotated[str, typer.Option(metavar="NAME", help="where to encode: auto | cpu | cuda, which localizes too")]
Verify = Annotated[bool, typer.Option("--verify", help="compare the content of all images with what is kept of them")]
Force = Annotated[bool, typer.Option("--force", help="make anew what is kept of images, whether it changed or not")]
TableFormat = Literal["text", "markdown", "latex", "json"]
OpenPage = Annotated[bool, typer.Option("--open", help="open the page in a browser")]
Quiet = Annotated[bool, typer.Option("--quiet", help="print nothing but errors")]


def open_experiment(
    path: Path, overrides: list[str], run: Path | None, quiet: bool = False
) -> "tuple[Experiment, RunFolder]":
    """The experiment and its run folder, with the pose head that was trained there."""
    experiment, folder = locate_experiment(path, overrides, run, quiet)
    return experiment.with_head(folder), folder


def locate_experiment(
    path: Path, overrides: list[str], run: Path | None, quiet: bool = False
) -> "tuple[Experiment, RunFolder]":
    """The experiment and its run folder; an experiment file inside a run folder, or that folder, belongs to it."""
    from tmapr.artifacts.run import RunFolder
    from tmapr.experiment import read_experiment

    file = path / "experiment.toml" if (path / "map.npz").exists() else path
    experiment = read_experiment(file, overrides, make_teller(quiet))
    inside = file.name == "experiment.toml" and (file.parent / "map.npz").exists()
    return experiment, RunFolder(run or (file.parent if inside else Path("runs") / experiment.name))


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Around imports that an optional part of the package brings."""
    from tmapr.exceptions import InputError

    try:
        yield
    except ModuleNotFoundError as error:
        raise InputError(f"this needs {error.name}; run: pip install 'tmapr[{extra}]'") from None


def choose_trust(verify: bool, force: bool) -> "Trust":
    """What the two options say of caches."""
    return "nothing" if force else "content" if verify else "stamps"


def make_encoding(
    experiment: "Experiment", folder: "RunFolder", device: str, quiet: bool, trust: "Trust" = "stamps"
) -> "Encoding":
    """The percepts, encoded with a progress bar where they are missing or have changed, as a line says."""
    from tmapr.running.encoding import Encoding

    watch, tell = make_watch("encoding", quiet), make_teller(quiet)
    return Encoding(experiment, folder, device, watch, trust=trust, tell=tell)


def make_teller(quiet: bool) -> Callable[[str], None]:
    """Lines on what goes on, beside the output, so that that can be redirected."""

    def tell(line: str) -> None:
        if not quiet:
            typer.echo(line, err=True)

    return tell


def make_watch(label: str, quiet: bool) -> "Watch":
    """A progress bar on a terminal, nothing elsewhere."""

    def watch(rows: Sequence[int]) -> Iterable[int]:
        from rich.console import Console
        from rich.progress import track

        console = Console(stderr=True)
        disabled = quiet or not console.is_terminal
        timed = _time(label, rows)
        return track(timed, label, total=len(rows), console=console, transient=True, disable=disabled)

    return watch


def _time(label: str, rows: Sequence[int]) -> Iterator[int]:
    """The same rows; how many were taken, and how long that took, is told to the log."""
    began, taken = time.monotonic(), 0
    try:
        for row in rows:
            yield row
            taken += 1
    finally:
        told = logging.getLogger("tmapr")
        told.info("%s: %d of %d in %.1f s", label, taken, len(rows), time.monotonic() - began)


def open_page(path: Path) -> None:
    """Show a page in the user's browser; where there is none, say so."""
    import webbrowser

    try:
        opened = webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        opened = False
    if not opened:
        typer.echo(f"{path}: no browser could be opened here; open the file in one", err=True)
