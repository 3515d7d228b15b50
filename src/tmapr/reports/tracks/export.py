"""A drive of a run, or the references of a map, as a file for other tools; the suffix says which kind."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tmapr.artifacts.atomic import replacing
from tmapr.artifacts.results import read_whole
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.reports.atlas.source import read_map
from tmapr.reports.tracks.geojson import render_geojson
from tmapr.reports.tracks.gpx import render_gpx
from tmapr.reports.tracks.tables import render_csv, render_parquet
from tmapr.reports.tracks.track import Track, track_drive, track_references
from tmapr.reports.tracks.tum import render_tum
from tmapr.running.finished import FinishedRun


@dataclass(frozen=True, slots=True)
class TrackFormat:
    """How tracks become the bytes of a file, and whether it needs longitude and latitude."""

    render: Callable[[Sequence[Track]], Iterator[bytes]]
    on_earth: bool = False


FORMATS: Mapping[str, TrackFormat] = {
    ".geojson": TrackFormat(render_geojson, on_earth=True),
    ".json": TrackFormat(render_geojson, on_earth=True),
    ".gpx": TrackFormat(render_gpx, on_earth=True),
    ".csv": TrackFormat(render_csv),
    ".parquet": TrackFormat(render_parquet),
    ".tum": TrackFormat(render_tum),
}
"""By the suffix of the file."""


def export_run(
    folder: RunFolder,
    out: Path,
    *,
    sequence: str | None = None,
    of_map: bool = False,
    tell: Callable[[str], object] = lambda _: None,
) -> Path:
    """Write the drive of a run, by default the first test, or with `of_map` the references of its map.

    Of a map `sequence` names one of its traverses, and the folder may be a map.npz. `tell` is given remarks, a line
    each.
    """
    form = FORMATS.get(out.suffix.lower())
    if form is None:
        raise InputError(f"{out}: must end in one of {', '.join(FORMATS)}")
    if out.is_dir():
        raise InputError(f"{out}: is a folder; name the file to write")
    _refuse_own_file(folder, out)
    tracks = _read_references(folder, sequence) if of_map else [_read_drive(folder, sequence, tell)]
    if form.on_earth:
        _refuse_nowhere(folder, out, tracks)
    chunks = form.render(tracks)
    with replacing(out) as stream:
        stream.writelines(chunks)
    return out


def _read_drive(folder: RunFolder, sequence: str | None, tell: Callable[[str], object]) -> Track:
    def read() -> Track:
        run = FinishedRun.load(folder)
        data = run.experiment.data
        wanted = next(iter((*data.test, *data.scored)), None) if sequence is None else sequence
        if wanted is None or wanted not in data.scored:
            named = ", ".join(data.scored) or "none"
            raise InputError(f"{wanted}: was not localized by this run; there are {named}")
        track = track_drive(wanted, run.sequence(wanted).table, run.environment.frame)
        for line in run.remarks:
            tell(line)
        return track

    return read_whole(folder, read)


def _read_references(folder: RunFolder, sequence: str | None) -> list[Track]:
    environment = read_map(folder.path).environment
    tracks = track_references(environment.memory, environment.frame)
    if sequence is None:
        return tracks
    found = [track for track in tracks if track.name == sequence]
    if not found:
        names = ", ".join(track.name for track in tracks)
        raise InputError(f"--sequence {sequence}: was not mapped; there are {names}")
    return found


def _refuse_nowhere(folder: RunFolder, out: Path, tracks: Sequence[Track]) -> None:
    suffixes = ", ".join(suffix for suffix, form in FORMATS.items() if not form.on_earth)
    if any(track.degrees is None for track in tracks):
        raise InputError(
            f"{out}: needs longitude and latitude, and the positions of {folder.path} are in a local frame;"
            f" map a recording with lon,lat or easting,northing,zone, or write one of {suffixes}"
        )
    if not any(np.isfinite(track.located).all(axis=1).any() for track in tracks):
        raise InputError(f"{out}: no position of {folder.path} is on Earth; write one of {suffixes}")


def _refuse_own_file(folder: RunFolder, out: Path) -> None:
    """A table or a document in place of one that the run itself keeps."""
    home = Path(os.path.realpath(folder.path))
    inside = Path(os.path.realpath(out)).is_relative_to(home) and out.suffix.lower() in (".csv", ".tum", ".json")
    if home.is_dir() and inside and not Path(os.path.realpath(out)).is_relative_to(home / "report"):
        raise InputError(f"{out}: is where the run keeps its own files; name one elsewhere, or in {folder.path}/report")
