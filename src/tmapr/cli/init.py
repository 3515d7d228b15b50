"""`tmapr init`: an experiment file from recordings, with what was found in them and what one would change next."""

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from tmapr.cli.options import Quiet, make_teller, make_watch

_OTHER_FILE = "name another file with --out"


def init(
    reference: Annotated[
        Path, typer.Argument(metavar="REFERENCE", help="the recording to map: a folder of images, a bag or a video")
    ],
    tests: Annotated[list[Path] | None, typer.Argument(metavar="[TEST]...", help="recordings to localize")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="the file to write (default: NAME.toml)")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="of the experiment (default: REFERENCE's)")] = None,
    image: Annotated[str | None, typer.Option(metavar="TOPIC", help="of the images, where a bag has several")] = None,
    position: Annotated[str | None, typer.Option(metavar="TOPIC", help="of the positions; '' reads none")] = None,
    quiet: Quiet = False,
) -> None:
    """Write an experiment file for recordings of one route: the first is mapped, the others are localized.

    tmapr init data/noon data/night
    """
    from tmapr.artifacts.atomic import write_new_text
    from tmapr.exceptions import InputError
    from tmapr.running.drafting import choose_topics, describe_experiment, look_at, refuse_collection, write_stub
    from tmapr.running.planning import make_name, plan_experiment

    paths = [reference, *(tests or [])]
    for path in paths:
        refuse_collection(path)
    experiment = plan_experiment(paths[:1], paths[1:], name or (make_name(out.stem) if out else None))
    file = out or Path(f"{experiment.name}.toml")
    if os.path.lexists(file):
        raise InputError(f"{file}: exists already and is not written over; {_OTHER_FILE}")
    found = look_at(paths, image, position, make_watch("looking", quiet))
    text = describe_experiment(choose_topics(experiment, found), found, file)
    missing = write_stub(found[0])
    write_new_text(file, text, _OTHER_FILE)
    tell = make_teller(quiet)
    for line in (line for each in found for line in each.lines):
        tell(line)
    if missing:
        tell(missing)
    if not quiet:
        for each in found:
            typer.echo(f"{each.path}: {each.summary}")
        typer.echo(f"{file}: written; {'then' if missing else 'now'}: tmapr check {shlex.quote(str(file))}")
