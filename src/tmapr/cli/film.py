"""`tmapr film`: a run as a video or an animated picture."""

from contextlib import nullcontext
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.artifacts.names import file_name
from tmapr.cli.options import Quiet, make_watch
from tmapr.exceptions import InputError

if TYPE_CHECKING:
    from tmapr.reports.film.cut import Cut
    from tmapr.reports.reported import ReportedSequence

_NARROWEST, _WIDEST, _FASTEST = 320, 3840, 60.0
_OUT = "a .webm or .gif file (default: RUN/report/SEQUENCE.webm)"
_SPEED = "times faster than it was driven (default: a minute at most)"
_RATE = "frames a second of the film (default: every frame once, 25 at most)"


def film(  # noqa: PLR0913 - an argument for each option
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a finished run folder")],
    sequence: Annotated[
        str | None, typer.Option(metavar="NAME", help="which sequence it localized (default: the first test)")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help=_OUT)] = None,
    start: Annotated[float | None, typer.Option("--from", metavar="SECONDS", help="of the drive, to begin at")] = None,
    stop: Annotated[float | None, typer.Option("--to", metavar="SECONDS", help="of the drive, to end at")] = None,
    speed: Annotated[float | None, typer.Option(metavar="X", help=_SPEED)] = None,
    rate: Annotated[float | None, typer.Option(metavar="FPS", help=_RATE)] = None,
    width: Annotated[int, typer.Option(metavar="PIXELS", help="of the film; its height follows")] = 1280,
    quiet: Quiet = False,
) -> None:
    """Film a drive: what the camera saw, what it was matched with, and where the system believed to be."""
    from tmapr.artifacts.lock import writing
    from tmapr.artifacts.run import RunFolder
    from tmapr.reports.film.film import FORMATS, find_format, make_film
    from tmapr.reports.reported import ReportedRun
    from tmapr.running.finished import require_run

    asked = _Asked(start, stop, speed, rate)
    asked.refuse_absurd()
    if not _NARROWEST <= width <= _WIDEST:
        raise InputError(f"--width {width}: must be from {_NARROWEST} to {_WIDEST} pixels")
    if out is not None and out.is_dir():
        raise InputError(f"{out}: is a folder; name the file to write")
    form = FORMATS[".webm"] if out is None else find_format(out)
    require_run(RunFolder(run))
    # A film elsewhere leaves the run alone.
    with nullcontext() if out else writing(run, "name another file with --out"):
        loaded = ReportedRun.load(run)
        shown = loaded.find(sequence)
        for line in () if quiet else loaded.remarks:
            typer.echo(line, err=True)
        cut = asked.cut(shown, form.rate)
        path = out or RunFolder(run).page.with_name(f"{file_name(shown.name)}.webm")
        made = make_film(loaded, shown, cut, path, width, make_watch("filming", quiet))
    if not quiet:
        megabytes = path.stat().st_size / 1e6
        wide, tall = made.size
        typer.echo(f"{path}: {made.seconds:.1f} s, {made.frames} pictures of {wide}x{tall}, {megabytes:.1f} MB")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the options say of time."""

    start: float | None
    stop: float | None
    speed: float | None
    rate: float | None

    def refuse_absurd(self) -> None:
        """Numbers that no drive and no film can have."""
        for option, seconds in (("from", self.start), ("to", self.stop)):
            if seconds is not None and not 0 <= seconds < inf:
                raise InputError(f"--{option} {seconds:g}: must be seconds since the first frame, 0 or more")
        if self.start is not None and self.stop is not None and self.start > self.stop:
            raise InputError(f"--from {self.start:g}: is later than --to {self.stop:g}")
        if self.speed is not None and not 0.01 <= self.speed <= 1000:
            raise InputError(f"--speed {self.speed:g}: must be from 0.01 to 1000 times as fast as it was driven")
        if self.rate is not None and not 1 <= self.rate <= _FASTEST:
            raise InputError(f"--rate {self.rate:g}: must be from 1 to {_FASTEST:g} frames a second")

    def cut(self, sequence: "ReportedSequence", fastest: float) -> "Cut":
        """The same of a drive."""
        from tmapr.reports.film.cut import Cut

        given = {"start": self.start, "stop": self.stop, "speed": self.speed, "rate": self.rate}
        return Cut.of(sequence.seconds, fastest, **given)
