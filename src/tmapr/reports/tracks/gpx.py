"""GPX 1.1: a drive as a track of the positions that the system stands for, a mapped traverse as a route.

A viewer draws every point as a place where somebody was. So a track has the frames whose status is `localized`, and a
new segment begins where there were others between; who wants to see those too takes GeoJSON.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape

import numpy as np
from jaxtyping import Float

from tmapr.exceptions import InputError
from tmapr.reports.tracks.track import DECIMALS, Track, is_meant, round_degrees

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1" creator="tmapr">\n'
)


def render_gpx(tracks: Sequence[Track]) -> Iterator[bytes]:
    """Routes, then tracks, as the schema orders them."""
    if not any(is_meant(track.statuses[row]) for track in tracks for row in track.drawn.tolist()):
        names = ", ".join(track.name for track in tracks)
        raise InputError(f"{names}: no frame is localized, a GPX track would be empty; .geojson has all frames")
    yield _HEAD.encode()
    for track in tracks:
        yield from (_write_drive(track) if track.is_drive else _write_route(track))
    yield b"</gpx>\n"


def _write_drive(track: Track) -> Iterator[bytes]:
    points, times = round_degrees(track.located), track.times
    yield f"<trk><name>{escape(track.name)}</name>\n".encode()
    for meant, rows in groupby(track.drawn.tolist(), lambda row: is_meant(track.statuses[row])):
        if not meant:
            continue
        yield b"<trkseg>\n"
        for row in rows:
            yield f"<trkpt {_write_point(points[row])}><time>{times[row]}</time></trkpt>\n".encode()
        yield b"</trkseg>\n"
    yield b"</trk>\n"


def _write_route(track: Track) -> Iterator[bytes]:
    points, times, frames = round_degrees(track.located), track.times, track.columns["frame"].values.tolist()
    yield f"<rte><name>{escape(track.name)}</name>\n".encode()
    for row in track.drawn.tolist():
        inside = f"<time>{times[row]}</time><name>{frames[row]}</name>"
        yield f"<rtept {_write_point(points[row])}>{inside}</rtept>\n".encode()
    yield b"</rte>\n"


def _write_point(point: Float[np.ndarray, "2"]) -> str:
    """In digits: not every reader knows exponents."""
    return f'lat="{point[1]:.{DECIMALS}f}" lon="{point[0]:.{DECIMALS}f}"'
