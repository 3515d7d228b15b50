"""`tmapr train`: the pose head, from the images of data.train."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from tmapr.cli.options import ExperimentFile, Overrides, Quiet, RunOption, located, needs, watching

if TYPE_CHECKING:
    from tmapr.artifacts.run import RunFolder
    from tmapr.training.checkpoints import Epoch, History
    from tmapr.training.course import Course


def train(
    experiment: ExperimentFile,
    model: Annotated[Literal["apr"], typer.Option(help="what to train: apr, the pose head")] = "apr",  # noqa: ARG001
    device: Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="where to encode and train")] = "auto",
    overrides: Overrides = None,
    run: RunOption = None,
    quiet: Quiet = False,
) -> None:
    """Train the pose head; if interrupted, the same command goes on from the last complete epoch."""
    settings, folder = located(experiment, overrides or [], run)
    with needs("train"):
        from tmapr.perception.network import chosen_device
        from tmapr.training.checkpoints import Checkpoints, finished
        from tmapr.training.course import plan, trainable
        from tmapr.training.fit import fit
        from tmapr.training.tokens import Tokenizer
    chosen, settings = chosen_device(device), trainable(settings)
    checkpoints = Checkpoints(settings, folder)
    done = checkpoints.history()
    if finished(done, settings.training):
        _tell(f"already trained: {_outcome(done, folder)}", quiet)
        return
    course = plan(settings, Tokenizer(settings, folder, chosen, watching("encoding", quiet)))
    _tell("\n".join([*course.remarks, _budget(course, len(done))]), quiet)
    with _bar(course, len(done), quiet) as bar:
        for epoch in fit(course, checkpoints, chosen, bar.stepped):
            bar.ended(epoch)
    _tell(_outcome(checkpoints.history(), folder) + _older(folder), quiet)


def _tell(text: str, quiet: bool) -> None:
    if not quiet:
        typer.echo(text)


def _budget(course: "Course", done: int) -> str:
    epochs = f"{course.settings.epochs} epochs" + (f", {done} of them done," if done else "")
    return (
        f"{len(course.train)} frames to train on, {len(course.validation)} to validate: {epochs} of {course.steps}"
        f" steps for a head of {course.weights} weights"
    )


def _outcome(history: "History", folder: "RunFolder") -> str:
    """The best epoch, how good it is and where it lies."""
    from tmapr.training.checkpoints import best

    chosen = best(history)
    return (
        f"best epoch {chosen.number} of {len(history)}: validation error {chosen.median:.2f} m in the median,"
        f" {chosen.mean:.2f} m in the mean; the head: {folder.trained_head}"
    )


def _older(folder: "RunFolder") -> str:
    """What may have been made before the head was there, and is refused with it."""
    older = [str(path) for path in (folder.map, folder.percepts("any").parent) if path.exists()]
    return f"; {' and '.join(older)} may be older: `tmapr map` and `run` say so, then remove them" if older else ""


class _Bar(NamedTuple):
    """What a training tells while it goes on."""

    stepped: Callable[[], None]
    ended: "Callable[[Epoch], None]"


@contextmanager
def _bar(course: "Course", done: int, quiet: bool) -> Iterator[_Bar]:
    """A progress bar on a terminal, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    epochs = course.settings.epochs
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("training", total=course.steps * epochs, completed=course.steps * done)

        def ended(epoch: "Epoch") -> None:
            told = f"epoch {epoch.number}/{epochs}, loss {epoch.loss:.4f}, validation {epoch.median:.2f} m"
            progress.update(task, description=told)

        yield _Bar(lambda: progress.advance(task), ended)
