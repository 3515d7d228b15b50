"""GeoJSON (RFC 7946): a line for each track and a point for each frame, with all that is known of it.

A line is written as it was driven, also across the antimeridian, where the standard would have it cut in two.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import numpy as np
from jaxtyping import Float

from tmapr.reports.tracks.track import Track, round_degrees

_Member = str | int | float | None | Sequence["_Member"] | Mapping[str, "_Member"]


def render_geojson(tracks: Sequence[Track]) -> Iterator[bytes]:
    """One feature collection, a feature a line."""
    known = np.concatenate([round_degrees(track.located[np.isfinite(track.located).all(axis=1)]) for track in tracks])
    corners = _encode([*known.min(axis=0).tolist(), *known.max(axis=0).tolist()])
    yield f'{{"type":"FeatureCollection","bbox":{corners},"features":['.encode()
    separator = "\n"
    for track in tracks:
        for feature in _list_features(track):
            yield f"{separator}{_encode(feature)}".encode()
            separator = ",\n"
    yield b"\n]}\n"


def _list_features(track: Track) -> Iterator[dict[str, _Member]]:
    line = _drop_repeated(round_degrees(track.located[track.drawn]))
    if len(line) > 1:  # a camera that stands draws none
        yield _make_feature({"type": "LineString", "coordinates": line.tolist()}, _describe(track))
    told, points = track.tell(), round_degrees(track.located).tolist()
    kind = "frame" if track.is_drive else "reference"
    for point, cells in zip(points, zip(*told.values(), strict=True), strict=True):
        # A point that is nowhere has no geometry, which the standard calls unlocated.
        place: dict[str, _Member] | None = None if np.isnan(point).any() else {"type": "Point", "coordinates": point}
        yield _make_feature(place, {"kind": kind} | dict(zip(told, cells, strict=True)))


def _drop_repeated(points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "m 2"]:
    return points[np.r_[True, (np.diff(points, axis=0) != 0).any(axis=1)][: len(points)]]


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
