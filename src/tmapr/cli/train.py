"""`tmapr train`: the pose head, or a network to compare it with, from the images of data.train."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from tmapr.cli.options import ExperimentFile, Overrides, Quiet, RunOption, located, needs, watching

if TYPE_CHECKING:
    from tmapr.artifacts.run import RunFolder
    from tmapr.experiment import Experiment
    from tmapr.training.checkpoints import Checkpoints, Epoch, History
    from tmapr.training.course import Course
    from tmapr.training.team import Team


Model = Literal["apr", "atloc", "robustloc", "thermalloc", "descriptor"]


def train(
    experiment: ExperimentFile,
    model: Annotated[
        Model,
        typer.Option(help="apr: the pose head; descriptor: its SALAD head; the others: baselines to compare with"),
    ] = "apr",
    device: Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="where to encode and train")] = "auto",
    overrides: Overrides = None,
    run: RunOption = None,
    quiet: Quiet = False,
) -> None:
    """Train a network on data.train; if interrupted, the same command goes on from the last complete epoch.

    On several GPUs, or as several processes: torchrun --nproc-per-node N -m tmapr train EXPERIMENT (which takes --run
    for an option of its own: name the run folder by the experiment's name).
    """
    settings, folder = located(experiment, overrides or [], run)
    with needs("train"):
        from tmapr.perception.network import chosen_device
        from tmapr.training.course import trainable
        from tmapr.training.descriptor import train_descriptor
        from tmapr.training.team import gathered
    if model == "descriptor":
        for news in train_descriptor(settings, folder, chosen_device(device), watching("encoding", quiet)):
            _tell(news.told, quiet)
        return
    settings = trainable(settings)
    with gathered(chosen_device(device)) as (team, chosen):
        _train(settings, folder, model, chosen, quiet or not team.leads, team)
    if team.size > 1:
        # Without Python's own farewell: now and then a thread of torch's wants the interpreter after it is gone, and
        # aborts a process that has done all its work.
        sys.stdout.flush()
        os._exit(0)


def _train(settings: "Experiment", folder: "RunFolder", model: str, device: str, quiet: bool, team: "Team") -> None:
    from tmapr.artifacts.atomic import write_text
    from tmapr.reports.curve import curve
    from tmapr.training.checkpoints import Checkpoints, finished
    from tmapr.training.course import Material, plan
    from tmapr.training.fit import fit

    checkpoints = Checkpoints(settings, folder, model)
    done = checkpoints.history()
    if finished(done, settings.training):
        _tell(f"already trained: {_outcome(done, checkpoints)}", quiet)
        return
    with team.leading():
        course = plan(settings, model, Material(settings, model, folder, device, watching("encoding", quiet)))
    _tell("\n".join([*course.remarks, _budget(course, len(done))]), quiet)
    with _bar(course, len(done), quiet) as bar:
        for epoch in fit(course, checkpoints, device, bar.stepped, team):
            bar.ended(epoch)
            if team.leads:
                write_text(checkpoints.folder / "curve.svg", curve(checkpoints.history(), f"{settings.name}: {model}"))
    if team.leads:  # to the others the last epoch may not be whole yet
        _tell(_outcome(checkpoints.history(), checkpoints) + _older(folder, model), quiet)


def _tell(text: str, quiet: bool) -> None:
    if not quiet:
        typer.echo(text)


def _budget(course: "Course", done: int) -> str:
    epochs = f"{course.settings.epochs} epochs" + (f", {done} of them done," if done else "")
    return (
        f"{len(course.train)} frames to train on, {len(course.validation)} to validate: {epochs} of {course.steps}"
        f" steps for {course.weights} weights ({course.subject.name} on {course.subject.described})"
    )


def _outcome(history: "History", checkpoints: "Checkpoints") -> str:
    """The best epoch, how good it is and where it lies."""
    from tmapr.training.checkpoints import best

    chosen = best(history)
    return (
        f"best epoch {chosen.number} of {len(history)}: validation error {chosen.median:.2f} m in the median,"
        f" {chosen.mean:.2f} m in the mean; it lies in {checkpoints.folder}/{chosen.number:06d}"
    )


def _older(folder: "RunFolder", model: str) -> str:
    """What may have been made before the head was there, and is refused with it."""
    if model != "apr":
        return ""
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
