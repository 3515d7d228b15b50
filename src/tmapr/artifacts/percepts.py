"""Percept caches: one sequence's percepts and, beside them, the positions that were recorded as truth.

`percepts/SEQ.npz` is what perception writes and what mapping, running and evaluation read, so that everything
after the descriptor runs anywhere. Anybody can write one from arrays with `Recording.from_arrays` and `save`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from tmapr.artifacts.arrays import Header, digest, load_arrays, save_arrays
from tmapr.artifacts.documents.notes import RecordingNotes
from tmapr.artifacts.layout import Array, check_arrays
from tmapr.artifacts.sources import Sources
from tmapr.exceptions import InputError
from tmapr.types import FARTHEST, LATEST, CoordinateFrame, Fault, Odometry, Percept

KIND, VERSION = "percepts", 1
_SHORTEST = 1e-6
_LOCAL = CoordinateFrame()


@dataclass(frozen=True, slots=True)
class Origin:
    """Which perception made percepts: its settings and its files' digests. Empty: a program of somebody's own."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Names the settings, whatever order they came in."""
        text = json.dumps(dict(self.settings), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


OWN = Origin()


@dataclass(frozen=True, slots=True)
class Marks:
    """Digests that name a recording: what is said of its images, and the truth beside them."""

    percepts: str
    truth: str


@dataclass(frozen=True, slots=True)
class Recording:
    """A sequence of percepts; `known` says where a true position was recorded.

    `headings` are those recorded beside the positions, NaN where there is none; None where there is none at all.
    `sources` are what its images were made from; None of a program's own. `precision` is that of the network that made
    all of the percepts.
    """

    sequence: str
    percepts: tuple[Percept, ...]
    truth: Float[np.ndarray, "frames 2"]
    known: Bool[np.ndarray, " frames"]
    frame: CoordinateFrame = _LOCAL
    origin: Origin = OWN
    headings: Float[np.ndarray, " frames"] | None = None
    sources: Sources | None = None
    precision: str = "float32"

    def __len__(self) -> int:
        return len(self.percepts)

    @property
    def stamps(self) -> Int[np.ndarray, " frames"]:
        """Nanoseconds since the epoch."""
        return np.array([percept.stamp for percept in self.percepts], dtype=np.int64)

    @classmethod
    def from_arrays(  # noqa: PLR0913 (each an array of the file)
        cls,
        sequence: str,
        stamps: Int[np.ndarray, " frames"],
        descriptors: Float[np.ndarray, "frames dim"],
        *,
        truth: Float[np.ndarray, "frames 2"] | None = None,
        positions: Float[np.ndarray, "frames 2"] | None = None,
        headings: Float[np.ndarray, " frames"] | None = None,
        faults: list[str] | None = None,
        shifts: Float[np.ndarray, " frames"] | None = None,
        frame: CoordinateFrame = _LOCAL,
    ) -> "Recording":
        """A recording from plain arrays; NaN in `truth`, `positions`, `headings` or `shifts` means: there is none."""
        count = len(stamps)
        given = {
            "stamps": np.asarray(stamps),
            "descriptors": np.asarray(descriptors),
            "truth": _fill_absent(truth, (count, 2)),
            "positions": _fill_absent(positions, (count, 2)),
            "headings": _fill_absent(headings, (count,)),
            "faults": np.asarray(faults or [""] * count),
            "motion": _fill_absent(None, (count, 2)),
            "truth_headings": _fill_absent(None, (count,)),
            "shifts": _fill_absent(shifts, (count,)),
        }
        _check(sequence, given)
        return _assemble(sequence, given, frame)

    def with_motion(self, motion: Float[np.ndarray, "frames 2"]) -> "Recording":
        """The recording with forward speeds in m/s and yaw rates in rad/s beside its frames; NaN: there is none."""
        told = [Odometry.from_numbers(*row) for row in motion.tolist()]
        pairs = zip(self.percepts, told, strict=True)
        return replace(self, percepts=tuple(replace(percept, motion=moved) for percept, moved in pairs))

    @property
    def marks(self) -> Marks:
        """Names what is said of the images, and what is known beside them."""
        arrays = self._arrays(None)
        known = {"truth", "truth_headings"}
        seen = digest({name: array for name, array in arrays.items() if name not in known})
        frame = {"frame": np.array(json.dumps(asdict(self.frame)))}
        return Marks(percepts=seen, truth=digest({name: arrays[name] for name in known} | frame))

    def save(self, path: Path, descriptors: Float32[np.ndarray, "frames dim"] | None = None) -> None:
        """Write the cache; descriptors become float32, unless they are known as another file has them, bit for bit."""
        notes: dict[str, Any] = {"sequence": self.sequence, "frame": asdict(self.frame)}
        notes |= {"perception": asdict(self.origin), "precision": self.precision}
        arrays = self._arrays(descriptors)
        if self.sources is not None:
            arrays |= self.sources.arrays()
            notes["whole"] = self.sources.whole
        save_arrays(path, Header(KIND, VERSION, self.origin.digest, notes), arrays)

    def _arrays(self, descriptors: Float32[np.ndarray, "frames dim"] | None) -> dict[str, np.ndarray]:
        nothing = np.full(2, np.nan)
        if descriptors is None:
            descriptors = np.array([percept.descriptor for percept in self.percepts], dtype=np.float32)
        return {
            "stamps": self.stamps,
            "descriptors": descriptors,
            "positions": np.array([nothing if p.position is None else p.position for p in self.percepts]),
            "headings": np.array([np.nan if p.heading is None else p.heading for p in self.percepts]),
            "faults": np.array([p.fault.value if p.fault else "" for p in self.percepts]),
            "truth": np.where(self.known[:, None], self.truth, np.nan),
            "motion": np.array([nothing if p.motion is None else p.motion.numbers for p in self.percepts]),
            "truth_headings": _fill_absent(self.headings, (len(self),)),
            "shifts": np.array([np.nan if p.shift is None else p.shift for p in self.percepts]),
        }

    @classmethod
    def load(cls, path: str | Path) -> "Recording":
        """Read a cache; one whose arrays do not fit together is refused."""
        path = Path(path)
        header, arrays = load_arrays(path, KIND, VERSION)
        _check(str(path), arrays)
        notes = RecordingNotes.from_notes(path, header.notes)
        recording = _assemble(notes.sequence or path.stem, arrays, notes.frame.frame)
        origin = Origin(notes.perception.settings, notes.perception.files)
        sources = Sources.from_arrays(arrays, notes.whole)
        if sources is not None and len(sources) != len(recording):
            raise InputError(f"{path}: has {len(sources)} sources for {len(recording)} frames; make it again")
        return replace(recording, origin=origin, sources=sources, precision=notes.precision)


_LAYOUT = {
    "stamps": Array("iu", "rows", -LATEST, LATEST),
    "descriptors": Array("f", "rows numbers", anything=True),
    "truth": Array("f", "rows 2", -FARTHEST, FARTHEST, unknown=True),
    "positions": Array("f", "rows 2", unknown=True),
    "headings": Array("f", "rows", unknown=True),
    "faults": Array("U", "rows"),
    "motion": Array("f", "rows 2", unknown=True),
    "truth_headings": Array("f", "rows", unknown=True),
    "shifts": Array("f", "rows", -1, 1, unknown=True),
}


def _check(where: str, arrays: dict[str, np.ndarray]) -> None:
    if "stamps" in arrays and not arrays["stamps"].size:  # of nothing, other arrays may have lost their axes
        raise InputError(f"{where}: holds no frame")
    check_arrays(where, arrays, _LAYOUT, "make it again")
    unknown = sorted(set(arrays["faults"].tolist()) - {"", *Fault})
    if unknown:
        raise InputError(f"{where}: {unknown[0]!r} is no fault; known are {', '.join(Fault)}")


def _assemble(sequence: str, arrays: dict[str, np.ndarray], frame: CoordinateFrame) -> Recording:
    """A recording from arrays that were checked."""
    faults = [Fault(name) if name else None for name in arrays["faults"].tolist()]
    names = ("descriptors", "positions", "headings", "truth", "motion", "shifts")
    with np.errstate(invalid="ignore"):  # of some kinds of NaN
        looks, poses, angles, truth, moved, shifts = (arrays[name].astype(float) for name in names)
    descriptors = _normalise_rows(sequence, looks, faults)
    percepts = tuple(
        Percept(
            stamp,
            descriptors[row],
            None if np.isnan(poses[row]).any() else poses[row],
            None if np.isnan(angles[row]) else float(angles[row]),
            faults[row],
            Odometry.from_numbers(*moved[row].tolist()),
            None if np.isnan(shifts[row]) else float(shifts[row]),
        )
        for row, stamp in enumerate(arrays["stamps"].tolist())
    )
    recorded = arrays["truth_headings"].astype(float)
    headings = None if np.isnan(recorded).all() else recorded
    return Recording(sequence, percepts, truth, ~np.isnan(truth).any(axis=1), frame, headings=headings)


def _normalise_rows(
    sequence: str, descriptors: Float[np.ndarray, "frames dim"], faults: list[Fault | None]
) -> Float[np.ndarray, "frames dim"]:
    """The rows scaled to length 1, since files keep fewer digits; a row without a direction must be a fault."""
    lengths = np.linalg.norm(descriptors, axis=1)
    for row in np.flatnonzero(~np.isfinite(lengths) | (lengths < _SHORTEST)):
        if faults[row] is None:
            raise InputError(f"{sequence}: descriptor of frame {row} has length {lengths[row]:g}; mark it as a fault")
    usable = np.isfinite(lengths) & (lengths >= _SHORTEST)
    return np.where(usable[:, None], descriptors / np.where(usable, lengths, 1.0)[:, None], 0.0)


def _fill_absent(values: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    return np.full(shape, np.nan) if values is None else np.asarray(values, dtype=float)
