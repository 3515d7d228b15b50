"""What every format writes: the frames of a drive that was localized, or the references of a mapped traverse."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Int64

from tmapr.artifacts.trajectory import Column, EstimateTable
from tmapr.clock import list_late
from tmapr.retrieval.memory import Memory
from tmapr.types import CHI2_95, CoordinateFrame, Status

MAPPED = "mapped"
"""What stands in place of a status in a traverse: its positions were measured."""
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""What XML cannot hold, a line of CSV should not, and UTF-8 does not know."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
DECIMALS = 9
"""Of degrees in texts: 0.1 mm."""

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Track:
    """Frames in the order of their file; `degrees` is None in a local frame, and NaN where a position is not on Earth.

    `columns` are what else is known of each frame, under the names that all formats use.
    """

    name: str
    frame: CoordinateFrame
    stamps: Int64[np.ndarray, " n"]
    positions: Float[np.ndarray, "n 2"]
    degrees: Float[np.ndarray, "n 2"] | None
    statuses: tuple[str, ...]
    columns: Mapping[str, Column]

    @property
    def is_drive(self) -> bool:
        """Whether it was localized; a traverse was mapped."""
        return "status" in self.columns

    @property
    def times(self) -> list[str]:
        """ISO-8601 in UTC, with all nanoseconds."""
        return [f"{time}Z" for time in np.datetime_as_string(self.stamps.view("datetime64[ns]"), unit="ns").tolist()]

    @property
    def located(self) -> Float[np.ndarray, "n 2"]:
        """Longitudes and latitudes; ValueError in a local frame, which exports refuse first."""
        if self.degrees is None:
            raise ValueError("a track in a local frame has no longitude and latitude")
        return self.degrees

    @property
    def in_time(self) -> Bool[np.ndarray, " n"]:
        """Which frames are later than all before them: a line through a late one would run back."""
        return ~list_late(self.stamps)

    @property
    def drawn(self) -> Int[np.ndarray, " some"]:
        """The rows that a line on a map goes through."""
        return np.flatnonzero(self.in_time & np.isfinite(self.located).all(axis=1))

    def tell(self) -> dict[str, list[Cell]]:
        """What is known of the frames, by name, without longitude and latitude; None where nothing is."""
        plain: dict[str, list[Cell]] = {
            "time": [*self.times],
            "stamp_ns": self.stamps.tolist(),
            "sequence": [self.name] * len(self.stamps),
            "x": self.positions[:, 0].tolist(),
            "y": self.positions[:, 1].tolist(),
        }
        return plain | {name: list_cells(column) for name, column in self.columns.items()}


def list_cells(column: Column) -> list[Cell]:
    """The values of a column, None where it has none."""
    return [
        value if known else None for value, known in zip(column.values.tolist(), column.known.tolist(), strict=True)
    ]


def track_drive(name: str, table: EstimateTable, frame: CoordinateFrame) -> Track:
    """What a run said of each frame of a sequence."""
    sizes, axes = np.linalg.eigh(table.covariances)
    lengths = np.sqrt(CHI2_95 * sizes)
    # An axis points both ways: of the two directions the one towards +x.
    towards = np.arctan2(axes[:, 1, 1], axes[:, 0, 1])
    direction = (towards + np.pi / 2) % np.pi - np.pi / 2
    statuses = tuple(status.value for status in table.statuses)
    columns = {
        "heading": table.headings,
        "status": _know(np.array(statuses)),
        "reason": _know(np.array([reason.value for reason in table.reasons])),
        "confidence": table.confidences,
        "semi_major": _know(lengths[:, 1]),
        "semi_minor": _know(lengths[:, 0]),
        "direction": _know(direction),
        "reference": table.references,
        "reference_sequence": _spell(table.reference_sequences),
        "p_place": table.p_place,
        "p_off_map": table.p_off_map,
    }
    degrees = frame.to_degrees(table.positions)
    return Track(spell_name(name), frame, table.stamps, table.positions, degrees, statuses, columns)


def track_references(memory: Memory, frame: CoordinateFrame) -> list[Track]:
    """The references of each traverse of a map, as they were driven."""
    tracks = []
    for rows in memory.drives():
        positions, headings = memory.positions[rows].astype(float), memory.headings[rows].astype(float)
        columns = {
            "heading": Column(headings, np.isfinite(headings)),
            "place": _know(memory.places[rows].astype(np.int64)),
            "frame": _know(memory.frames[rows].astype(np.int64)),
        }
        name, stamps = spell_name(str(memory.sequences[rows[0]])), memory.stamps[rows].astype(np.int64)
        statuses = (MAPPED,) * len(rows)
        tracks.append(Track(name, frame, stamps, positions, frame.to_degrees(positions), statuses, columns))
    return tracks


def round_degrees(degrees: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
    """As texts have them."""
    return np.round(degrees, DECIMALS) + 0.0  # no -0.0


def spell_name(name: str) -> str:
    """A name as every format can hold it: a folder, or somebody's map, may have any characters in it."""
    return _UNWRITABLE.sub(_REPLACEMENT, name)


def is_meant(status: str) -> bool:
    """Whether the system stands for a position of this status; elsewhere it says that it does not know."""
    return status in (Status.LOCALIZED, MAPPED)


def _know(values: np.ndarray) -> Column:
    return Column(values, np.ones(len(values), bool))


def _spell(column: Column) -> Column:
    return Column(np.array([spell_name(name) for name in column.values.tolist()]), column.known)
