"""`tmapr view`: a finished run in the Rerun viewer; and `--view`, which other verbs share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import Quiet, make_teller, make_watch

if TYPE_CHECKING:
    from tmapr.live.viewer.ways import Way

_WHERE = "spawn (one here), serve or serve:PORT (for one elsewhere), or FILE.rrd"
View = Annotated[str | None, typer.Option("--view", metavar="WHERE", help=f"show it in the Rerun viewer: {_WHERE}")]


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a finished run folder")],
    where: Annotated[str, typer.Argument(metavar="spawn|serve|serve:PORT|FILE.rrd", help=_WHERE)] = "spawn",
    sequence: Annotated[
        str | None, typer.Option(metavar="NAME", help="which sequence it localized (default: the first test)")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Look at a run in the Rerun viewer: camera, match, map with track and belief, verdicts and curves over time."""
    from tmapr.artifacts.run import RunFolder
    from tmapr.running.finished import require_run

    require_run(RunFolder(run))
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
    from tmapr.reports.reported import find_name
    from tmapr.running.finished import FinishedRun

    finished, tell = FinishedRun.load(RunFolder(run)), make_teller(quiet)
    names = finished.experiment.data.scored
    shown = find_name(sequence, next(iter(finished.experiment.data.test), names[0]), names)
    others = [each for each in names if each != shown]
    if others and sequence is None:
        tell(f"shown is {shown}; `tmapr view {run} --sequence NAME` shows {', '.join(others)}")
    show_run(finished, shown, way, make_watch("drawing", quiet), tell)
    for line in finished.remarks:
        tell(line)
