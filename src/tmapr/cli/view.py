"""`tmapr view`: a finished run in the Rerun viewer; and `--view`, which other verbs share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import Quiet, make_teller, make_watch

if TYPE_CHECKING:
    from tmapr.live.viewer.ways import Way

_WAYS = "spawn|serve|serve:PORT|FILE.rrd"
View = Annotated[
    str | None, typer.Option("--view", metavar=_WAYS, help="show it in the Rerun viewer: here, served, or as a file")
]


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a finished run folder")],
    where: Annotated[
        str, typer.Argument(metavar=f"[{_WAYS}]", help="a viewer here, a server for one elsewhere, or a file")
    ] = "spawn",
    sequence: Annotated[
        str | None, typer.Option(metavar="NAME", help="which sequence it localized (default: the first test)")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Look at a run in the Rerun viewer: camera, match, map with track and belief, verdicts and curves over time."""
    show_in_viewer(run, choose_way(where), sequence, quiet=quiet)


def choose_way(where: str) -> "Way":
    """Where the recording of a finished run goes; what cannot work is refused before anything else is done."""
    from tmapr.live.viewer.finished import BUFFER
    from tmapr.live.viewer.ways import find_way

    return find_way(where, BUFFER)


def show_in_viewer(run: Path, way: "Way", sequence: str | None = None, *, quiet: bool = False) -> None:
    """Show one of the sequences that a run localized."""
    from tmapr.artifacts.run import RunFolder
    from tmapr.live.viewer.finished import show_run
    from tmapr.reports.reported import ReportedRun
    from tmapr.running.finished import require_run

    require_run(RunFolder(run))
    loaded, tell = ReportedRun.load(run), make_teller(quiet)
    shown = loaded.find(sequence)
    for line in loaded.remarks:
        tell(line)
    others = [each.name for each in loaded.sequences if each.name != shown.name]
    if others and sequence is None:
        tell(f"shown is {shown.name}; `tmapr view {run} --sequence NAME` shows {', '.join(others)}")
    show_run(loaded, shown, way, make_watch("drawing", quiet), tell)
