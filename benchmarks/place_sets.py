"""What `real_places` asks: real traverses with invented positions, descriptor streams, and rendered worlds.

A trial is what is mapped, what is adapted to if anything, what is asked, and what counts as right of a first candidate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from proving import Ground, make_ready
from real_images import Shots, perceive, shots
from real_sets import open_images, open_stream
from streams import streams
from thinning import thin
from tmapr.artifacts.percepts import Recording
from tmapr.perception.settings import Perception
from tmapr.types import NANOSECONDS, Candidate

RENDERED, SPARSE = 10.0, 5.0
_SECONDS, _METRES, _APART = 1.0, 2.0, 1000.0
"""Of invented positions: between two frames, and between two scenes."""

Right = Callable[[Candidate, int], bool]


@dataclass(frozen=True)
class Trial:
    """`right` says whether a candidate is right for a row of what is asked."""

    reference: Recording
    asked: Recording
    right: Right
    adapted: Recording | None = None


@dataclass(frozen=True, slots=True)
class PlaceSet:
    """One line of the table; `joined` where the descriptor is the shipped one, `driven` where positions mean much."""

    name: str
    kind: str
    joined: bool
    driven: bool
    ground: Ground | None = None
    spacing: float | None = None
    """Metres to which the map is thinned."""


def list_sets(grounds: Sequence[Ground]) -> list[PlaceSet]:
    """The real ones, and a world each; cities once more with a thinned map."""
    real = [PlaceSet(name, "real", True, driven=name != "metu") for name in _REAL]
    told = [PlaceSet(name, "stream", False, driven=True) for name in _STREAMS]
    worlds = [PlaceSet(each.name, each.kind, True, True, each) for each in grounds]
    thinned = [
        PlaceSet(f"{each.name}-{SPARSE:g}m", f"{each.kind}, {SPARSE:g} m", True, True, each, SPARSE)
        for each in grounds
        if each.family == "city"
    ]
    return real + told + worlds + thinned


def load_trial(chosen: PlaceSet, data: Path, home: Path) -> Trial:
    """Open one; what is missing of a world is rendered, encoded and mapped under `home`."""
    if chosen.ground is None:
        return (_REAL | _STREAMS)[chosen.name](data)
    ready = make_ready(chosen.ground, home)
    day, other, night = (ready.recording(name) for name in ("day", "other", "night"))
    reference = day if chosen.spacing is None else thin(day, chosen.spacing)
    return Trial(reference, night, _within(night, RENDERED), other)


def _within(asked: Recording, metres: float) -> Right:
    return lambda found, row: bool(np.hypot(*(found.position - asked.truth[row])) <= metres)


def _two_frames(found: Candidate, row: int) -> bool:
    return abs(found.reference - row) <= 2


def _open_gardens(reference: str, asked: str) -> Callable[[Path], Trial]:
    def load(data: Path) -> Trial:
        mapped, query = open_images("gardens", reference, asked)(data)
        return Trial(mapped, query, _two_frames)

    return load


def _open_kaist(data: Path) -> Trial:
    mapped, query = open_images("kaist", "visible", "lwir")(data)
    return Trial(mapped, query, _within(query, 3.0))


def _open_metu(data: Path) -> Trial:
    """Scenes far apart, their frames beside one another: right is the same scene."""
    folder, settings = data / "metu_vistir", Perception()
    references, queries = shots(folder, "cloudy", "indoor"), shots(folder, "sunny")
    scenes = list(dict.fromkeys([*references.places, *queries.places]))

    def record(name: str, given: Shots) -> Recording:
        seen = perceive(given, settings)
        truth = np.array([[_APART * scenes.index(place), _METRES * row] for row, place in enumerate(given.places)])
        made = _record(name, np.array([percept.descriptor for percept in seen]), truth)
        pairs = zip(made.percepts, seen, strict=True)
        percepts = tuple(replace(percept, keypoints=each.keypoints) for percept, each in pairs)
        return replace(made, origin=settings.origin, percepts=percepts)

    asked, mapped = record("sunny", queries), record("cloudy", references)
    return Trial(mapped, asked, lambda found, row: abs(found.position[0] - asked.truth[row, 0]) < _APART / 2)


def _open_gardens_stream(data: Path) -> Trial:
    stream = next(each for each in streams(data / "descriptors", "rp768") if each.name.startswith("Gardens"))
    along = _METRES * stream.reference_positions
    return Trial(_record("day", stream.reference, along), _record("night", stream.test, along), _two_frames)


def _open_st_lucia(data: Path) -> Trial:
    mapped, query = open_stream("St Lucia")(data)
    return Trial(mapped, query, _within(query, 2 * _METRES))


def _record(name: str, descriptors: np.ndarray, truth: np.ndarray) -> Recording:
    stamps = np.rint(np.arange(len(descriptors)) * _SECONDS * NANOSECONDS).astype(np.int64)
    return Recording.from_arrays(name, stamps, descriptors, truth=truth)


def drop_keypoints(recording: Recording) -> Recording:
    """As if nobody could look for local features."""
    return replace(recording, percepts=tuple(replace(each, keypoints=None) for each in recording.percepts))


def weigh_head(recording: Recording, width: int, factor: float) -> Recording:
    """The joined descriptor with another weight of what follows the pooling's part, at unit length."""
    scale = np.ones(recording.percepts[0].descriptor.size)
    scale[width:] = factor
    weighed = (scale * percept.descriptor for percept in recording.percepts)
    unit = [each / np.linalg.norm(each) if each.any() else each for each in weighed]
    pairs = zip(recording.percepts, unit, strict=True)
    return replace(recording, percepts=tuple(replace(percept, descriptor=each) for percept, each in pairs))


def cut_pooling(recording: Recording, width: int) -> Recording:
    """The first part of the joined descriptor alone, at unit length: what the encoder gives with pooling alone."""
    kept = (percept.descriptor[:width] for percept in recording.percepts)
    pooled = [part if not part.any() else part / np.linalg.norm(part) for part in kept]
    pairs = zip(recording.percepts, pooled, strict=True)
    return replace(recording, percepts=tuple(replace(percept, descriptor=part) for percept, part in pairs))


_REAL: dict[str, Callable[[Path], Trial]] = {
    "gardens-night": _open_gardens("day_right", "night_right"),
    "gardens-left-night": _open_gardens("day_left", "night_right"),
    "gardens-right-left": _open_gardens("day_right", "day_left"),
    "kaist": _open_kaist,
    "metu": _open_metu,
}
_STREAMS: dict[str, Callable[[Path], Trial]] = {
    "stream-gardens": _open_gardens_stream,
    "stream-st-lucia": _open_st_lucia,
}
