"""GeoJSON (RFC 7946): a line for each track and a point for each frame, with all that is known of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from tmapr.reports.tracks.lines import bound, cut_line, round_degrees
from tmapr.reports.tracks.track import Track

_Member = str | int | float | None | Sequence["_Member"] | Mapping[str, "_Member"]


def render_geojson(tracks: Sequence[Track]) -> Iterator[bytes]:
    """One feature collection, a feature a line."""
    known = np.concatenate([round_degrees(track.located[np.isfinite(track.located).all(axis=1)]) for track in tracks])
    box = bound(known)
    corners = _encode([box.west, box.south, box.east, box.north])
    yield f'{{"type":"FeatureCollection","bbox":{corners},"features":['.encode()
    separator = "\n"
    for track in tracks:
        for feature in _list_features(track):
            yield f"{separator}{_encode(feature)}".encode()
            separator = ",\n"
    yield b"\n]}\n"


def _list_features(track: Track) -> Iterator[dict[str, _Member]]:
    parts: list[_Member] = [part.tolist() for part in cut_line(track.located[track.drawn])]
    if parts:
        several = len(parts) > 1
        shape: dict[str, _Member] = {
            "type": "MultiLineString" if several else "LineString",
            "coordinates": parts if several else parts[0],
        }
        yield _make_feature(shape, _describe(track))
    told, points = track.tell(), round_degrees(track.located).tolist()
    kind = "frame" if track.is_drive else "reference"
    for point, cells in zip(points, zip(*told.values(), strict=True), strict=True):
        # A point that is nowhere has no geometry, which the standard calls unlocated.
        place: dict[str, _Member] | None = None if np.isnan(point).any() else {"type": "Point", "coordinates": point}
        yield _make_feature(place, {"kind": kind} | dict(zip(told, cells, strict=True)))


def _describe(track: Track) -> dict[str, _Member]:
    kind = "drive" if track.is_drive else "traverse"
    first, last = track.times[0], track.times[-1]
    axes: dict[str, _Member] = asdict(track.frame)
    return {"kind": kind, "sequence": track.name, "frames": len(track.stamps), "from": first, "to": last, "axes": axes}


def _make_feature(geometry: Mapping[str, _Member] | None, properties: Mapping[str, _Member]) -> dict[str, _Member]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _encode(value: _Member) -> str:
    """In ASCII and on one line, with numbers alone that JSON knows."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
