"""What a run said of every frame: a table, `estimates/SEQ.csv`, and a trajectory, `estimates/SEQ.tum`.

The table has one row per frame, in the frames' order and with each frame's own stamp, also where it came too
late to move the estimate. The trajectory keeps the rows later than all before them: its readers require
increasing time. Numbers read back bit for bit; stamps never pass through a float. An empty cell is "none".
"""

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int64, Shaped

from tmapr.artifacts.atomic import replacing
from tmapr.exceptions import InputError
from tmapr.files import TABLE_BYTES, read_text
from tmapr.types import NANOSECONDS, Estimate, Reason, Recognition, Status

HEADER = (
    "stamp_ns,x,y,heading,vx,vy,cov_xx,cov_xy,cov_yy,status,apr_x,apr_y,apr_heading,reference,ref_x,ref_y,place,"
    "similarity,score,leverage,support,margin,reason,confidence,innovation,learned,nis,"
    "first_reference,first_x,first_y,first_similarity,first_score,constrained,reference_sequence,p_place,p_off_map,"
    "lon,lat"
)
_COLUMNS = HEADER.split(",")
_CANDIDATE = ("reference", "ref_x", "ref_y", "place", "similarity", "score", "support", "margin")
_FIRST = ("first_reference", "first_x", "first_y", "first_similarity", "first_score")
_SHARES = ("p_place", "p_off_map")
_DEGREES = ("lon", "lat")
_LARGEST = 1e15
"""No number of a table is larger, be it metres, square metres or m/s."""
_NO_INTEGER = int(np.iinfo(np.int64).min)
_QUOTE = '"'
_Parsed = TypeVar("_Parsed")
_Reader = Callable[[str], int | float]


@dataclass(frozen=True, slots=True)
class Column:
    """Values of which some are none; those hold NaN or the smallest int64, so that a careless use shows."""

    values: Shaped[np.ndarray, "n ..."]
    known: Bool[np.ndarray, " n"]


@dataclass(frozen=True, slots=True)
class EstimateTable:
    """A table read back, one row per frame; the columns of a candidate are all known or all none."""

    stamps: Int64[np.ndarray, " n"]
    positions: Float[np.ndarray, "n 2"]
    velocities: Float[np.ndarray, "n 2"]
    covariances: Float[np.ndarray, "n 2 2"]
    statuses: tuple[Status, ...]
    reasons: tuple[Reason, ...]
    learned: Bool[np.ndarray, " n"]
    headings: Column
    apr_positions: Column
    apr_headings: Column
    references: Column
    reference_positions: Column
    places: Column
    similarities: Column
    scores: Column
    leverages: Column
    supports: Column
    margins: Column
    confidences: Column
    innovations: Column
    nis: Column
    first: "FirstCandidates"
    constrained: Column
    """1 where places narrowed the search, 0 where they did not."""
    reference_sequences: Column
    """The traverse that each of `references` is a frame of."""
    p_place: Column
    """Probability that the camera is within the radius of the place on the map that the estimate names."""
    p_off_map: Column
    degrees: Column
    """Longitude and latitude of `positions`; none in a local frame."""


@dataclass(frozen=True, slots=True)
class FirstCandidates:
    """The references that ranked first, before anything was judged: what retrieval alone says."""

    references: Column
    positions: Column
    similarities: Column
    scores: Column


def save_estimates(path_csv: Path, path_tum: Path, estimates: Iterable[Estimate], learned: Iterable[bool]) -> None:
    """Write both files in one pass over the estimates; each replaces its predecessor whole or not at all."""
    latest: int | None = None
    with replacing(path_csv) as table, replacing(path_tum) as trajectory:
        table.write(f"{HEADER}\n".encode())
        for estimate, absorbed in zip(estimates, learned, strict=True):
            cells = map(_text, _COLUMNS, _values(estimate, absorbed))
            table.write(f"{','.join(cells)}\n".encode())
            if latest is None or estimate.percept.stamp > latest:
                x, y = estimate.position.tolist()
                trajectory.write(tum_line(estimate.percept.stamp, x, y, estimate.heading).encode())
                latest = estimate.percept.stamp


def load_estimates(path: Path) -> EstimateTable:
    """Read a table; its columns may stand in any order and beside others."""
    sheet = _read(path)
    _refuse_covariances(path, sheet.numbers("cov_xx", "cov_xy", "cov_yy"))
    return EstimateTable(
        stamps=np.array(sheet.parse("stamp_ns", _integer), dtype=np.int64),
        positions=sheet.numbers("x", "y"),
        velocities=sheet.numbers("vx", "vy"),
        covariances=sheet.numbers("cov_xx", "cov_xy", "cov_xy", "cov_yy").reshape(-1, 2, 2),
        statuses=tuple(sheet.parse("status", Status)),
        reasons=tuple(sheet.parse("reason", Reason)),
        learned=np.array(sheet.parse("learned", ("0", "1").index), dtype=bool),
        headings=sheet.optional("heading"),
        apr_positions=sheet.optional_pair("apr_x", "apr_y"),
        apr_headings=sheet.optional("apr_heading"),
        references=sheet.optional("reference", _integer, _NO_INTEGER),
        reference_positions=sheet.optional_pair("ref_x", "ref_y"),
        places=sheet.optional("place", _integer, _NO_INTEGER),
        similarities=sheet.optional("similarity"),
        scores=sheet.optional("score"),
        leverages=sheet.optional("leverage"),
        supports=sheet.optional("support"),
        margins=sheet.optional("margin", lambda cell: math.inf if cell == "inf" else _number(cell)),
        confidences=sheet.optional("confidence"),
        innovations=sheet.optional("innovation"),
        nis=sheet.optional("nis"),
        first=FirstCandidates(
            references=sheet.optional("first_reference", _integer, _NO_INTEGER),
            positions=sheet.optional_pair("first_x", "first_y"),
            similarities=sheet.optional("first_similarity"),
            scores=sheet.optional("first_score"),
        ),
        constrained=sheet.optional("constrained", _integer, _NO_INTEGER),
        reference_sequences=sheet.optional_text("reference_sequence"),
        p_place=sheet.optional("p_place"),
        p_off_map=sheet.optional("p_off_map"),
        degrees=sheet.optional_pair(*_DEGREES),
    )


def _refuse_covariances(path: Path, covariances: Float[np.ndarray, "n 3"]) -> None:
    xx, xy, yy = covariances.T  # what is sharper than a nanometre would make errors over it infinite
    for row in np.flatnonzero((np.minimum(xx, yy) < 1e-18) | (xx * yy <= xy**2)).tolist():
        raise InputError(f"{path}: line {row + 2}: {covariances[row].tolist()} is no covariance; run `tmapr run` again")


def _values(estimate: Estimate, learned: bool) -> Iterator[int | float | str | None]:
    """The cells of a row in the order of the header."""
    percept, candidate, verdict = estimate.percept, estimate.candidate, estimate.verdict
    recognition = estimate.recognition or Recognition()
    first = recognition.first
    x, y, vx, vy = estimate.belief.mean.tolist()
    (xx, xy), (_, yy) = estimate.covariance.tolist()
    yield from (percept.stamp, x, y, estimate.heading, vx, vy, xx, xy, yy, estimate.status)
    yield from (None, None) if percept.position is None else percept.position.tolist()
    yield percept.heading
    if candidate is None:
        yield from (None, None, None, None, None, None, recognition.leverage, None, None)
    else:
        yield from (candidate.reference, *candidate.position.tolist(), candidate.place, candidate.similarity)
        yield from (candidate.score, recognition.leverage, candidate.support, candidate.margin)
    yield from (verdict.reason, verdict.confidence, verdict.innovation, int(learned), estimate.nis)
    if first is None:
        yield from (None, None, None, None, None)
    else:
        yield from (first.reference, *first.position.tolist(), first.similarity, first.score)
    yield int(recognition.constrained) if estimate.recognition else None
    yield candidate.sequence if candidate else None
    yield from (None, None) if estimate.route is None else (estimate.route.p_place, estimate.route.p_off_map)
    yield from estimate.lon_lat or (None, None)


def _text(name: str, value: int | float | str | None) -> str:
    if isinstance(value, str):
        # Only the name of a sequence, which is that of a folder, can hold what ends a cell.
        return f'"{value.replace(_QUOTE, 2 * _QUOTE)}"' if set(value) & {",", _QUOTE} else str(value)
    if not isinstance(value, float):
        return "" if value is None else str(value)
    # A margin is infinite where there is no match elsewhere.
    if not math.isfinite(value) and not (name == "margin" and value == math.inf):
        raise ValueError(f"{name} must be finite, got {value}")
    return repr(float(value))


def tum_line(stamp: int, x: float, y: float, heading: float | None) -> str:
    """A pose in the plane; without a heading its orientation is the identity."""
    half = 0.0 if heading is None else heading / 2
    seconds, rest = divmod(abs(stamp), NANOSECONDS)
    sign = "-" if stamp < 0 else ""
    return f"{sign}{seconds}.{rest:09d} {x!r} {y!r} 0.0 0.0 0.0 {math.sin(half)!r} {math.cos(half)!r}\n"


def _number(cell: str) -> float:
    if not abs(float(cell)) <= _LARGEST:
        raise ValueError(cell)
    return float(cell)


def _integer(cell: str) -> int:
    if not _NO_INTEGER < int(cell) <= np.iinfo(np.int64).max:
        raise ValueError(cell)
    return int(cell)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The cells of a file, by column."""

    path: Path
    cells: Mapping[str, Sequence[str]]

    def parse(self, name: str, read: Callable[[str], _Parsed], none: _Parsed | None = None) -> list[_Parsed]:
        """The values of a column; without a stand-in for none, an empty cell is refused."""
        values = []
        for line, cell in enumerate(self.cells[name], start=2):
            try:
                values.append(none if none is not None and not cell else read(cell))
            except ValueError:
                raise InputError(f"{self.path}: line {line}: {name} cannot be {cell[:40]!r}") from None
        return values

    def numbers(self, *names: str) -> Float[np.ndarray, "n columns"]:
        return np.column_stack([self.parse(name, _number) for name in names])

    def optional(self, name: str, read: _Reader = _number, none: int | float = math.nan) -> Column:
        return Column(np.array(self.parse(name, read, none)), np.array(self.cells[name]) != "")

    def optional_text(self, name: str) -> Column:
        return Column(np.array(self.cells[name]), np.array(self.cells[name]) != "")

    def optional_pair(self, x: str, y: str) -> Column:
        first, second = self.optional(x), self.optional(y)
        return Column(np.column_stack([first.values, second.values]), first.known)


def _read(path: Path) -> _Sheet:
    try:
        lines = list(csv.reader(read_text(path, TABLE_BYTES).splitlines(), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as a table ({error})") from None
    if len(lines) < 2:
        raise InputError(f"{path}: holds no estimates; make it again with `tmapr run`")
    header, *rows = lines
    if missing := [name for name in _COLUMNS if name not in header]:
        raise InputError(f"{path}: has no column {', '.join(missing)}; is it a table of estimates?")
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InputError(f"{path}: line {line}: has {len(row)} fields, the header has {len(header)}")
    cells = dict(zip(header, zip(*rows, strict=True), strict=True))
    for group in (("apr_x", "apr_y"), _CANDIDATE, _FIRST, _SHARES, _DEGREES):
        for line, together in enumerate(zip(*(cells[name] for name in group), strict=True), start=2):
            if any(together) and not all(together):
                raise InputError(f"{path}: line {line}: only some of {', '.join(group)} are empty")
    return _Sheet(path, cells)
