"""`tmapr import`: any recording that can be read becomes a folder with `frames.csv`.

Other files may say when and where its images were taken, with a row for each image in their order. A file with more
rows than images belongs to a longer recording: row k, counted from 0, is of the image whose name ends in the number k.
Fixes that have stamps of their own are interpolated instead.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tmapr.cli.options import Quiet, make_teller, make_watch

if TYPE_CHECKING:
    from tmapr.data.sequence import Sequence
    from tmapr.data.trajectory import TextTable
    from tmapr.types import Frame

_MARK = ".importing"
"""In a folder while it is imported to."""

STAMPS = "CSV or text with each image's stamp: seconds, integer nanoseconds or ISO-8601"
GPS = "CSV with the columns lon,lat and perhaps stamp, or a JSON list of such pairs"


def import_recording(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="a folder of images, or another recording")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="the folder to write, new or empty")],
    stamps: Annotated[Path | None, typer.Option(metavar="FILE", help=STAMPS)] = None,
    gps: Annotated[Path | None, typer.Option(metavar="FILE", help=GPS)] = None,
    stride: Annotated[int, typer.Option(metavar="N", min=1, help="keep every Nth image")] = 1,
    quiet: Quiet = False,
) -> None:
    """Convert a recording to PNG files and frames.csv.

    With stamps and fixes in files of their own:

    tmapr import flight/thermal drive --stamps flight/timestamps.csv --gps flight/gps.json
    """
    from tmapr.data.folder import read_folder, write_folder
    from tmapr.data.opening import open_path
    from tmapr.data.summary import summarize

    sequence = open_path(source)
    if stamps is not None:
        sequence = _set_stamps(sequence, stamps)
    if gps is not None:
        sequence = _set_positions(sequence, gps)
    with _claim(out, make_teller(quiet)):
        write_folder(out, sequence[::stride], make_watch("importing", quiet))
    # What was written, not the source once more: a pass over a bag takes as long as the import.
    written = read_folder(out.resolve().parent, out.resolve().name)
    if not quiet:
        typer.echo(f"{out}: {summarize(written)}")


@contextmanager
def _claim(out: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Be the only import into a folder; what an interrupted one left there, as its mark says, is written anew."""
    from tmapr.artifacts.lock import writing

    left = (out / _MARK).exists()
    if not left and out.exists() and (not out.is_dir() or any(out.glob("[!.]*"))):
        yield  # in use: the writer refuses it, and no mark of ours is left there
        return
    with writing(out, "name another folder", _MARK):
        if left:
            _remove_images(out, tell)
        try:
            yield
        except KeyboardInterrupt as stop:
            stop.add_note(f"{out}: {len(_list_images(out))} images were written; the same command begins anew")
            raise
        (out / _MARK).unlink()


def _list_images(out: Path) -> list[Path]:
    return [path for path in out.glob("images/*.png") if path.stem.isdecimal()]


def _remove_images(out: Path, tell: Callable[[str], None]) -> None:
    images = _list_images(out)
    tell(f"{out}: an interrupted import left {len(images)} images; it begins anew")
    for path in (*out.glob("frames.csv"), *out.glob(".frames.csv.*.partial"), *images):
        path.unlink()
    with suppress(OSError):  # not there, or somebody put more into it, which the writer refuses
        (out / "images").rmdir()


def _set_stamps(sequence: "Sequence", file: Path) -> "Sequence":
    from tmapr.data.trajectory import read_stamps

    found = read_stamps(file)
    stamps = found[_match_rows(sequence, len(found), file)].tolist()

    def start() -> Iterator["Frame"]:
        return (replace(frame, stamp=stamp) for frame, stamp in zip(sequence, stamps, strict=True))

    return replace(sequence, start=start)


def _set_positions(sequence: "Sequence", file: Path) -> "Sequence":
    import numpy as np

    from tmapr.data.coordinates import from_degrees, tangent_plane
    from tmapr.data.poses import Poses
    from tmapr.exceptions import InputError

    table = _read_fixes(file)
    degrees, stamps = table.degrees(), table.stamps()
    known = ~np.isnan(degrees[:, 0])
    if not known.any():
        raise InputError(f"{file}: holds no fix")
    plane = tangent_plane(*degrees[known][0].tolist())
    fixes = from_degrees(degrees[:, 0], degrees[:, 1], plane)
    if stamps is None:
        positions = fixes[_match_rows(sequence, len(fixes), file)]
    else:
        taken = np.array([frame.stamp for frame in sequence])
        positions = Poses(stamps[known], fixes[known], np.full(known.sum(), np.nan)).at(taken).positions
    if np.isnan(positions).all():
        raise InputError(f"{file}: has no fix near the time of an image")

    def start() -> Iterator["Frame"]:
        for frame, position in zip(sequence, positions, strict=True):
            yield replace(frame, position=None if np.isnan(position[0]) else position)

    return replace(sequence, frame=plane, start=start)


def _match_rows(sequence: "Sequence", found: int, file: Path) -> list[int]:
    """Which row of a file is of which frame."""
    from tmapr.exceptions import InputError

    if found == len(sequence):
        return list(range(found))
    names = [frame.file.stem if frame.file else "" for frame in sequence]
    numbers = [int(digits[0]) if (digits := re.search("[0-9]{1,18}$", name)) else found for name in names]
    if outside := [name for name, number in zip(names, numbers, strict=True) if number >= found]:
        raise InputError(
            f"{file}: has {found} rows for {len(sequence)} images, and none for {outside[0]!r}; there must be a row for"
            " each image, or names that end in the number of their row, counted from 0"
        )
    return numbers


def _read_fixes(path: Path) -> "TextTable":
    """The columns lon and lat, and a stamp's if it has one, of a table or a JSON list."""
    from tmapr.data.trajectory import make_table, read_table, read_text
    from tmapr.exceptions import InputError

    if path.suffix.lower() != ".json":
        table = read_table(path, headless=("lon", "lat"))
    else:
        try:
            entries: Any = json.loads(read_text(path))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: is not JSON ({error})") from None
        rows = [(row, _split_fix(entry)) for row, entry in enumerate(entries if isinstance(entries, list) else [])]
        table = make_table(path, ("lon", "lat"), rows, unit="entry")
    if not table.lines or not {"lon", "lat"} <= set(table.columns):
        raise InputError(f"{path}: needed are the columns lon,lat with a fix in each row, or a JSON list of [lon, lat]")
    return table


def _split_fix(entry: Any) -> list[str]:
    """The cells of an entry [lon, lat, …] or {"lon": …, "lat": …}; null is no fix."""
    if entry is None:
        return ["", ""]
    if isinstance(entry, dict):
        entry = [entry[name] for name in ("lon", "lat") if name in entry]
    return ["" if value is None else str(value) for value in entry[:2]] if isinstance(entry, list) else []
