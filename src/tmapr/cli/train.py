"""`tmapr train`: the pose head, or a network to compare it with, from the images of data.train."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from tmapr.cli.options import (
    ExperimentFile,
    Force,
    Overrides,
    Quiet,
    RunOption,
    Verify,
    choose_trust,
    locate_experiment,
    make_watch,
    needs,
)

if TYPE_CHECKING:
    from tmapr.artifacts.run import RunFolder
    from tmapr.artifacts.sources import Trust
    from tmapr.experiment import Experiment
    from tmapr.training.checkpoints import Checkpoints, Epoch, Epochs
    from tmapr.training.distributed import Worker
    from tmapr.training.plan import TrainingPlan


ModelName = Literal["apr", "atloc", "robustloc", "thermalloc", "descriptor"]


def train(
    experiment: ExperimentFile,
    model: Annotated[
        ModelName,
        typer.Option(help="apr: the pose head; descriptor: its SALAD head; the others: baselines to compare with"),
    ] = "apr",
    device: Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="where to encode and train")] = "auto",
    overrides: Overrides = None,
    run: RunOption = None,
    verify: Verify = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Train a network on data.train; if interrupted, the same command goes on from the last complete epoch.

    On several GPUs, or as several processes: torchrun --nproc-per-node N -m tmapr train EXPERIMENT (which takes --run
    for an option of its own: name the run folder by the experiment's name).
    """
    from tmapr.artifacts.lock import writing

    settings, folder = locate_experiment(experiment, overrides or [], run, quiet)
    with needs("train"):
        from tmapr.perception.network import choose_device
        from tmapr.training.descriptor import train_descriptor
        from tmapr.training.distributed import join_workers
        from tmapr.training.plan import prepare_for_training
    if model == "descriptor":
        with writing(folder.path):
            for news in train_descriptor(settings, folder, choose_device(device), make_watch("encoding", quiet)):
                _tell(news.message, quiet)
        return
    settings = prepare_for_training(settings)
    with (
        join_workers(choose_device(device)) as (worker, chosen),
        writing(folder.path) if worker.leads else nullcontext(),
    ):
        # The others find what the first has made, and made it once.
        trust = choose_trust(verify, force) if worker.leads else "stamps"
        _train(settings, folder, model, chosen, quiet or not worker.leads, worker, trust)
    if worker.size > 1:
        # Without Python's own farewell: now and then a thread of torch's wants the interpreter after it is gone, and
        # aborts a process that has done all its work.
        sys.stdout.flush()
        os._exit(0)


def _train(
    settings: "Experiment",
    folder: "RunFolder",
    model: str,
    device: str,
    quiet: bool,
    worker: "Worker",
    trust: "Trust",
) -> None:
    from tmapr.artifacts.atomic import write_text
    from tmapr.reports.figures.learning_curve import draw_learning_curve
    from tmapr.training.checkpoints import Checkpoints, finished
    from tmapr.training.fit import fit
    from tmapr.training.plan import TrainingData, plan_training

    checkpoints = Checkpoints(settings, folder, model)
    done = checkpoints.history()
    if finished(done, settings.training):
        _tell(f"already trained: {_describe_best(done, checkpoints)}", quiet)
        return
    with worker.leading():
        data = TrainingData(settings, model, folder, device, make_watch("encoding", quiet), trust)
        plan = plan_training(settings, model, data)
    _tell("\n".join([*plan.remarks, _describe_budget(plan, len(done))]), quiet)
    with _noting_epochs(checkpoints, plan.settings.epochs), _show_progress(plan, len(done), quiet) as progress:
        for epoch in fit(plan, checkpoints, device, progress.step, worker):
            progress.end_epoch(epoch)
            if worker.leads:
                write_text(
                    checkpoints.folder / "curve.svg",
                    draw_learning_curve(checkpoints.history(), f"{settings.name}: {model}"),
                )
    if worker.leads:  # to the others the last epoch may not be whole yet
        _tell(_describe_best(checkpoints.history(), checkpoints) + _list_older(folder, model), quiet)


@contextmanager
def _noting_epochs(checkpoints: "Checkpoints", epochs: int) -> Iterator[None]:
    """Say of an interruption which epoch the next attempt will go on from."""
    try:
        yield
    except KeyboardInterrupt as stop:
        whole = len(checkpoints.history())
        kept = f"epoch {whole} of {epochs} is the last whole one" if whole else f"none of {epochs} epochs is whole yet"
        stop.add_note(f"{checkpoints.folder}: {kept}; the same command goes on")
        raise


def _tell(text: str, quiet: bool) -> None:
    if not quiet:
        typer.echo(text)


def _describe_budget(plan: "TrainingPlan", done: int) -> str:
    epochs = f"{plan.settings.epochs} epochs" + (f", {done} of them done," if done else "")
    return (
        f"{len(plan.train)} frames to train on, {len(plan.validation)} to validate: {epochs} of {plan.steps}"
        f" steps for {plan.weights} weights ({plan.model.name} on {plan.model.description})"
    )


def _describe_best(history: "Epochs", checkpoints: "Checkpoints") -> str:
    """The best epoch, how good it is and where it lies."""
    from tmapr.training.checkpoints import find_best

    best = find_best(history)
    return (
        f"best epoch {best.number} of {len(history)}: validation error {best.median:.2f} m in the median,"
        f" {best.mean:.2f} m in the mean; it lies in {checkpoints.folder}/{best.number:06d}"
    )


def _list_older(folder: "RunFolder", model: str) -> str:
    """What may have been made before the head was there, and is refused with it."""
    if model != "apr":
        return ""
    older = [str(path) for path in (folder.map, folder.percepts("any").parent) if path.exists()]
    return f"; {' and '.join(older)} may be older: `tmapr map` makes them again" if older else ""


class _Progress(NamedTuple):
    """What is called while a training goes on."""

    step: Callable[[], None]
    end_epoch: "Callable[[Epoch], None]"


@contextmanager
def _show_progress(plan: "TrainingPlan", done: int, quiet: bool) -> Iterator[_Progress]:
    """A progress bar on a terminal, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    epochs = plan.settings.epochs
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("training", total=plan.steps * epochs, completed=plan.steps * done)

        def end_epoch(epoch: "Epoch") -> None:
            told = f"epoch {epoch.number}/{epochs}, loss {epoch.loss:.4f}, validation {epoch.median:.2f} m"
            progress.update(task, description=told)

        yield _Progress(lambda: progress.advance(task), end_epoch)
