"""The frames of tracks as a table with the same columns in CSV and Parquet; numbers read back bit for bit."""

import csv
import io
from collections.abc import Iterator, Sequence

import numpy as np

from tmapr.artifacts.trajectory import Column
from tmapr.exceptions import InputError
from tmapr.reports.tracks.track import Cell, Track, list_cells

_FIRST = ("time", "stamp_ns", "sequence", "lon", "lat")


def render_csv(tracks: Sequence[Track]) -> Iterator[bytes]:
    """A header and a row a frame; an empty cell is none."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    for number, track in enumerate(tracks):
        cells = _list_columns(track)
        if number == 0:
            writer.writerow(cells)
        for row in zip(*cells.values(), strict=True):
            writer.writerow(row)
            yield lines.getvalue().encode()
            lines.seek(0)
            lines.truncate()


def render_parquet(tracks: Sequence[Track]) -> Iterator[bytes]:
    """Typed: times in nanoseconds of UTC, texts as dictionaries; none is null."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise InputError(f"Parquet needs {error.name}; run: pip install 'tmapr[tables]', or write .csv") from None

    kinds = {"time": pa.timestamp("ns", "UTC"), "sequence": pa.dictionary(pa.int32(), pa.string())}
    kinds |= {"stamp_ns": pa.int64()} | dict.fromkeys(("lon", "lat", "x", "y"), pa.float64())
    letters = {"f": pa.float64(), "i": pa.int64(), "U": kinds["sequence"]}
    kinds |= {name: letters[column.values.dtype.kind] for name, column in tracks[0].columns.items()}
    schema = pa.schema([(name, kinds[name]) for name in _list_columns(tracks[0])])
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, schema) as writer:
        for track in tracks:
            cells = _list_columns(track) | {"time": track.stamps.tolist()}
            arrays = [pa.array(cells[name], kinds[name]) for name in schema.names]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    yield stream.getvalue()


def _list_columns(track: Track) -> dict[str, list[Cell]]:
    """In their order, with longitude and latitude, which are none in a local frame."""
    degrees = np.full(track.positions.shape, np.nan) if track.degrees is None else track.degrees
    told, known = track.tell(), np.isfinite(degrees).all(axis=1)
    told["lon"], told["lat"] = (list_cells(Column(degrees[:, axis], known)) for axis in (0, 1))
    return {name: told[name] for name in (*_FIRST, *(name for name in told if name not in _FIRST))}
