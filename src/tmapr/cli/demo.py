"""`tmapr demo`: the main job on a rendered world, one command after the other as a user would type them."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tmapr.experiment import Experiment

_REFERENCE, _ADAPT, _VALIDATION, _TEST = "noon", "dusk", "overcast", "night"
_TRAVERSES = ",".join((_REFERENCE, _ADAPT, _VALIDATION, _TEST))
_ALIASING = 0.5
"""Half of the streets are copies of one of two."""


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="where to put data, run and report")] = Path("runs/demo"),
    quick: Annotated[bool, typer.Option("--quick", help="fewer frames and epochs: a trial, not a result")] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="which world")] = 1,
) -> None:
    """Render a city at noon, dusk, under cloud and at night; train, map, localize the night, evaluate, report.

    Interrupted, the same command goes on where it stopped.
    """
    from tmapr.artifacts.atomic import write_text
    from tmapr.cli.check import check
    from tmapr.cli.evaluate import evaluate
    from tmapr.cli.map import map_reference
    from tmapr.cli.report import report
    from tmapr.cli.run import run
    from tmapr.cli.simulate import simulate
    from tmapr.cli.train import train
    from tmapr.config import dump_toml

    data, file = out / "data", out / "demo.toml"
    frames = 200 if quick else 600
    options = {"layout": "folder", "seed": seed, "traverses": _TRAVERSES, "frames": frames, "aliasing": _ALIASING}
    _say("simulate", data, *(word for option, value in options.items() for word in (f"--{option}", value)))
    simulate(data, layout="folder", seed=seed, traverses=_TRAVERSES, frames=frames, aliasing=_ALIASING)
    write_text(file, dump_toml(experiment(data, epochs=10 if quick else 30)))
    _say("check", file)
    check(file)
    _say("train", file, "--run", out)
    train(file, device="cpu", run=out)
    _say("map", file, "--run", out)
    map_reference(file, run=out)
    _say("run", file, "--run", out)
    run(file, run=out)
    _say("evaluate", out)
    evaluate(out)
    _say("report", out)
    report([out])


def experiment(data: Path, epochs: int) -> "Experiment":
    """Noon is mapped, night localized; the pose head learns from noon and dusk, and its epoch is chosen under cloud."""
    from tmapr.experiment import Data, Experiment
    from tmapr.perception.recipes import Training

    return Experiment(
        name="demo",
        data=Data(
            root=str(data),
            train=(_REFERENCE, _ADAPT),
            validation=(_VALIDATION,),
            reference=_REFERENCE,
            adapt=(_ADAPT,),
            test=(_TEST,),
        ),
        training=Training(epochs=epochs, learning_rate=1e-3),
    )


def _say(*words: object) -> None:
    typer.secho(f"\n$ tmapr {shlex.join(map(str, words))}", bold=True)
