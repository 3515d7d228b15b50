"""`tmapr upkeep`: a new map from an old one, extended, joined with another or without a part, and how two differ."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import Device, OpenPage, Quiet, make_teller, make_watch, open_page
from tmapr.exceptions import InputError

if TYPE_CHECKING:
    from tmapr.system import Map

upkeep = typer.Typer(
    help="Keep a map up: extend it, join it with another one, drop a part of it. Each makes a new run folder.",
    no_args_is_help=True,
)
Run = Annotated[Path, typer.Argument(metavar="RUN", help="a run folder with a map; it stays as it is")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="the run folder to make")]


@upkeep.command()
def extend(
    run: Run,
    sequences: Annotated[list[str], typer.Argument(metavar="SEQUENCE…", help="of the run's data, or with percepts")],
    out: Out,
    device: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Map further traverses behind those that are mapped; their images are encoded first if need be."""
    from tmapr.upkeep.runs import extend_run

    watch, tell = make_watch("mapping", quiet), make_teller(quiet)
    _say(out, extend_run(run, sequences, out, tell, watch, device), quiet)


@upkeep.command()
def join(
    first: Annotated[Path, typer.Argument(metavar="A", help="a run folder, whose grid and settings are kept")],
    second: Annotated[Path, typer.Argument(metavar="B", help="another one, of the same coordinate frame")],
    out: Out,
    quiet: Quiet = False,
) -> None:
    """Make one map of two."""
    from tmapr.upkeep.runs import join_runs

    _say(out, join_runs(first, second, out, make_teller(quiet), make_watch("mapping", quiet)), quiet)


@upkeep.command()
def drop(
    run: Run,
    out: Out,
    box: Annotated[str | None, typer.Option(metavar="X,Y,X,Y", help="smallest and largest x, y, metres")] = None,
    polygon: Annotated[str | None, typer.Option(metavar="X,Y,X,Y,X,Y…", help="corners in their order, metres")] = None,
    traverse: Annotated[list[str] | None, typer.Option(metavar="NAME", help="only of this traverse")] = None,
    quiet: Quiet = False,
) -> None:
    """Map without a region, without a traverse, or without what of a traverse lies in a region."""
    from tmapr.upkeep.regions import read_box, read_polygon
    from tmapr.upkeep.runs import drop_region

    if (box is not None and polygon is not None) or not (box or polygon or traverse):
        raise InputError("say what has to go with --box or --polygon, with --traverse, or with one of each")
    corners = read_box(box) if box else read_polygon(polygon) if polygon else None
    tell, watch = make_teller(quiet), make_watch("mapping", quiet)
    _say(out, drop_region(run, out, corners, traverse or (), tell, watch), quiet)


@upkeep.command()
def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="a run folder with a map, or a map.npz")],
    second: Annotated[Path, typer.Argument(metavar="B", help="a later one, of the same coordinate frame")],
    page: Annotated[Path | None, typer.Option(metavar="FILE.html", help="write a page with a plan of both")] = None,
    places: Annotated[int, typer.Option(min=0, metavar="N", help="list so many places")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    opened: OpenPage = False,
    quiet: Quiet = False,
) -> None:
    """Compare two maps: references, traverses and places that are new or gone, and how far the weights are apart."""
    from tmapr.artifacts.atomic import write_text
    from tmapr.reports.atlas.differing import describe_difference, render_difference
    from tmapr.reports.atlas.source import read_map
    from tmapr.upkeep.difference import compare_maps

    if page is not None and page.is_dir():
        raise InputError(f"{page}: is a folder; name the file to write")
    ours, theirs = (read_map(path).environment for path in (first, second))
    found = compare_maps(ours, theirs, (str(first), str(second)), places)
    if page is not None:
        write_text(page, render_difference(found, ours, theirs))
        if opened:
            open_page(page)
    if as_json:
        typer.echo(found.told.as_json(indent=2))
        return
    if not quiet:
        for line in describe_difference(found.told):
            typer.echo(line)
        if page is not None:
            typer.echo(str(page))


def _say(out: Path, made: "Map", quiet: bool) -> None:
    if not quiet:
        memory = made.memory
        typer.echo(f"{out}: {len(memory)} references in {len(set(memory.places.tolist()))} places")
