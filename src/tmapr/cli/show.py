"""`tmapr show`: the page of a map, before or after any run."""

from pathlib import Path
from typing import Annotated

import typer

from tmapr.cli.options import OpenPage, Quiet, make_watch, open_page


def show(
    source: Annotated[Path, typer.Argument(metavar="MAP", help="a run folder with a map, or a map.npz")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="default: RUN/report/map.html")] = None,
    opened: OpenPage = False,
    quiet: Quiet = False,
) -> None:
    """Show a map on one page: references, places, gaps, and which places look alike."""
    from contextlib import nullcontext

    from tmapr.artifacts.atomic import write_text
    from tmapr.artifacts.lock import writing
    from tmapr.exceptions import InputError
    from tmapr.reports.atlas.atlas import Atlas
    from tmapr.reports.atlas.page import render_atlas
    from tmapr.reports.atlas.source import read_map

    if out is not None and out.is_dir():
        raise InputError(f"{out}: is a folder; name the file to write")
    found = read_map(source)
    page = out or found.page
    locked = found.folder is not None and out is None
    with writing(found.folder.path, "name another file with --out") if found.folder and locked else nullcontext():
        write_text(page, render_atlas(Atlas.of(found, make_watch("comparing", quiet))))
    if not quiet:
        typer.echo(str(page))
    if opened:
        open_page(page)
