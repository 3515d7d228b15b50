"""KML 2.2: a line for each stretch of one status, in its colour, and a placemark for each frame; nothing is linked."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from jaxtyping import Float

from tmapr.reports.tracks.lines import cut_line, round_degrees, write_point
from tmapr.reports.tracks.track import MAPPED, Cell, Track
from tmapr.types import Status

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2">\n<Document>\n'
# The page's colours, as KML orders them: opacity, blue, green, red.
_COLOURS: Mapping[str, str] = {
    Status.LOCALIZED: "ffb27200",
    Status.APR_ONLY: "ff8a55b0",
    Status.PREDICTING: "ff008fd9",
    Status.LOST: "ff0b41c8",
    MAPPED: "ffc6bcb4",
}
_WIDTHS: Mapping[str, int] = {Status.LOCALIZED: 4}


def render_kml(tracks: Sequence[Track]) -> Iterator[bytes]:
    """One document with a folder for each track."""
    yield _HEAD.encode()
    used = {status for track in tracks for status in track.statuses}
    yield "".join(_write_style(status) for status in _COLOURS if status in used).encode()
    for track in tracks:
        yield f"<Folder><name>{escape(track.name)}</name>\n".encode()
        yield from _write_stretches(track)
        yield from _write_frames(track)
        yield b"</Folder>\n"
    yield b"</Document>\n</kml>\n"


def _write_style(status: str) -> str:
    colour, width = f"<color>{_COLOURS[status]}</color>", _WIDTHS.get(status, 2)
    # Names are for the list of places: hundreds of them would hide the map.
    icon, label = f"<IconStyle>{colour}<scale>0.3</scale></IconStyle>", "<LabelStyle><scale>0</scale></LabelStyle>"
    line = f"<LineStyle>{colour}<width>{width}</width></LineStyle>"
    return f'<Style id="{_name_style(status)}">{icon}{label}{line}</Style>\n'


def _name_style(status: str) -> str:
    return status.replace(" ", "-")


def _write_stretches(track: Track) -> Iterator[bytes]:
    rows = track.drawn.tolist()
    for status, group in groupby(range(len(rows)), lambda place: track.statuses[rows[place]]):
        places = list(group)
        # Up to where the next stretch begins, so that the line has no gaps.
        stretch = rows[places[0] : places[-1] + 2]
        parts = cut_line(track.located[stretch])
        if parts:
            geometry = "".join(_write_line(part) for part in parts)
            geometry = geometry if len(parts) == 1 else f"<MultiGeometry>{geometry}</MultiGeometry>"
            style = f"<styleUrl>#{_name_style(status)}</styleUrl>"
            yield f"<Placemark><name>{status}</name>{style}{geometry}</Placemark>\n".encode()


def _write_line(points: Float[np.ndarray, "n 2"]) -> str:
    places = " ".join(",".join(write_point(point)) for point in points)
    return f"<LineString><tessellate>1</tessellate><coordinates>{places}</coordinates></LineString>"


def _write_frames(track: Track) -> Iterator[bytes]:
    told, points = track.tell(), round_degrees(track.located)
    for row, cells in enumerate(zip(*told.values(), strict=True)):
        if np.isnan(points[row]).any():
            continue
        moment = f"<TimeStamp><when>{told['time'][row]}</when></TimeStamp>" if track.is_drive else ""
        style = f"<styleUrl>#{_name_style(track.statuses[row])}</styleUrl>"
        data = "".join(_write_datum(name, cell) for name, cell in zip(told, cells, strict=True))
        point = f"<Point><coordinates>{','.join(write_point(points[row]))}</coordinates></Point>"
        inside = f"<name>{row}</name>{moment}{style}<ExtendedData>{data}</ExtendedData>{point}"
        yield f"<Placemark>{inside}</Placemark>\n".encode()


def _write_datum(name: str, cell: Cell) -> str:
    return "" if cell is None else f"<Data name={quoteattr(name)}><value>{escape(str(cell))}</value></Data>"
