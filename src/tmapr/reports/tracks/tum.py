"""TUM, for evo and its like: `seconds x y z qx qy qz qw`, one trajectory in the map's metres, in rising time."""

from collections.abc import Iterator, Sequence

from tmapr.artifacts.trajectory import tum_line
from tmapr.exceptions import InputError
from tmapr.reports.tracks.track import Track, list_cells


def render_tum(tracks: Sequence[Track]) -> Iterator[bytes]:
    """The frames that are later than all before them; what has no heading has the identity for an orientation."""
    if len(tracks) > 1:
        names = ", ".join(track.name for track in tracks)
        raise InputError(
            f"a TUM file holds one trajectory, this map has {len(tracks)}; choose by --sequence from {names}"
        )
    (track,) = tracks
    headings = list_cells(track.columns["heading"])
    for row in track.in_time.nonzero()[0].tolist():
        x, y = track.positions[row].tolist()
        heading = headings[row]
        yield tum_line(int(track.stamps[row]), x, y, None if heading is None else float(heading)).encode()
