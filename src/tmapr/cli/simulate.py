"""`tmapr simulate`: traverses of a rendered world in a public layout, and the experiment that runs on them."""

import json
import os
import shlex
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import Quiet, make_watch

if TYPE_CHECKING:
    from tmapr.simulation.record import Plan
    from tmapr.simulation.traverse import Course, Traverse

TRAVERSES = "weathers, or NAME:WEATHER; the first is mapped, the last localized"
STYLE = "how the world looks and is driven and filmed; 0: plainly"


def simulate(  # noqa: PLR0913 - an argument for each option
    out: Annotated[Path, typer.Argument(metavar="OUT", help="the folder to write, or to go on with")],
    layout: Annotated[str, typer.Option(metavar="NAME", help="ms2 | sthereo | folder")],
    family: Annotated[str, typer.Option(metavar="NAME", help="campus | city | valley")] = "city",
    seed: Annotated[int, typer.Option(metavar="N", help="of the world and all that happens in it")] = 1,
    traverses: Annotated[str, typer.Option(metavar="NAME,…", help=TRAVERSES)] = "noon,dusk,overcast,night",
    frames: Annotated[int, typer.Option(metavar="N", help="of each traverse")] = 600,
    aliasing: Annotated[float, typer.Option(metavar="A", help="share of the world that is copies, 0 to 1")] = 0.3,
    length: Annotated[float | None, typer.Option(metavar="M", help="of the route in metres, about")] = None,
    style: Annotated[int, typer.Option(metavar="N", help=STYLE)] = 0,
    detour: Annotated[str | None, typer.Option(metavar="NAME", help="the traverse that leaves the route")] = None,
    u_turn: Annotated[
        str | None, typer.Option(metavar="NAME", help="the one that turns back half way, and again")
    ] = None,
    back: Annotated[str | None, typer.Option(metavar="NAME", help="the one in the other direction")] = None,
    quiet: Quiet = False,
) -> None:
    """Render thermal traverses of a made-up world; one that was interrupted goes on.

    A night with a detour off the map:

    tmapr simulate data/town --layout ms2 --traverses noon,dusk,night --detour night
    """
    from pydantic import ValidationError

    from tmapr.exceptions import InputError
    from tmapr.simulation.record import Plan, write_dataset

    asked = {"layout": layout, "family": family, "seed": seed, "aliasing": aliasing, "length": length, "style": style}
    try:
        plan = Plan.model_validate(asked).fit_style(frames)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise InputError(f"--{wrong['loc'][0]} {wrong['input']}: {wrong['msg'].lower()}") from None
    chosen = parse_traverses(traverses, seed, frames, {"detour": detour, "u-turn": u_turn, "back": back})
    write_dataset(out, plan, chosen, make_watch("simulating", quiet))
    experiment = out / "experiment.toml"
    write_experiment(experiment, out, plan, [traverse.name for traverse in chosen])
    if not quiet:
        typer.echo(f"{out}: {len(chosen)} traverses of {frames} frames; what can be done with them:")
        verbs = ("check", "map", "run") if len(chosen) > 1 else ("check", "map")
        typer.echo("\n".join(f"  tmapr {verb} {shlex.quote(str(experiment))}" for verb in verbs))


def parse_traverses(
    text: str, seed: int, frames: int, courses: "Mapping[Course, str | None]" = MappingProxyType({})
) -> "list[Traverse]":
    """The traverses that a list of names and weathers stands for; each has a seed of its own by its name.

    `courses` names those that are no plain lap.
    """
    from tmapr.exceptions import InputError
    from tmapr.simulation.traverse import Traverse
    from tmapr.simulation.weather import find_weather

    traverses = []
    for part in text.split(","):
        name, separator, weather = (piece.strip() for piece in part.partition(":"))
        if not name or (separator and not weather):
            raise InputError(
                f"--traverses {text}: {part!r} names no traverse; write NAME or NAME:WEATHER between commas"
            )
        own = zlib.crc32(f"{seed}/{name}".encode())
        course: Course = next((course for course, driven in courses.items() if driven == name), "lap")
        traverses.append(Traverse(name, find_weather(weather or name), own, course, frames))
    names = [traverse.name for traverse in traverses]
    for option, driven in courses.items():
        if driven is not None and driven not in names:
            raise InputError(f"--{option} {driven}: is no traverse; there are {', '.join(names)}")
    return traverses


def write_experiment(path: Path, root: Path, plan: "Plan", names: list[str]) -> None:
    """The first traverse is mapped, the last localized, those between are learned from; a file that is there stays."""
    from tmapr.artifacts.atomic import write_text
    from tmapr.config.paths import to_folder

    if path.exists():
        return
    sides = [""] if plan.layout == "folder" else ["/left", "/right"]
    first, *others = [f"{name}{sides[0]}" for name in names]
    before = names[:1] + names[1:-1]
    roles = {
        "train": [f"{name}{side}" for name in before for side in sides],
        "reference": first,
        "adapt": others[:-1],
        "test": others[-1:],
    }
    entries = {"layout": plan.layout, "root": to_folder(os.path.relpath(root), path.parent)} | roles
    # JSON's strings and lists are TOML's too.
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in entries.items())
    style = f"style {plan.style}" if plan.style else ""
    title = "-".join(filter(None, (plan.family, str(plan.seed), plan.layout, style.replace(" ", "-"))))
    told = ", ".join(filter(None, (f"A simulated {plan.family}", f"seed {plan.seed}", style)))
    write_text(path, f"# {told}.\nname = {json.dumps(title)}\n\n[data]\n{''.join(lines)}")
