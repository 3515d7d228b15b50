"""M₀: the reference traverse's descriptors, positions and places. It never changes after mapping.

References are sorted by place, so that a search in a few places reads a few contiguous slices instead of
gathering rows (18 × slower, measured). Descriptors are float32, as on disk, and may be memory-mapped: a
cosine of unit vectors is then good to 1e-7, far below what any gate resolves.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int

from tmapr.artifacts.arrays import Arrays

MAPPED = frozenset({"memory.descriptors"})
"""Arrays of a map file worth leaving on disk."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Rows in the order of `places`; `frames` says which frame of the reference traverse each row was."""

    descriptors: Float32[np.ndarray, "refs dim"]
    positions: Float[np.ndarray, "refs 2"]
    places: Int[np.ndarray, " refs"]
    frames: Int[np.ndarray, " refs"]
    stamps: Int[np.ndarray, " refs"]
    offsets: Int[np.ndarray, " bounds"]
    probes: Int[np.ndarray, " probes"]
    probe_descriptors: Float32[np.ndarray, "probes dim"]

    def __len__(self) -> int:
        return len(self.positions)

    def rows_of(self, places: Iterable[int]) -> Int[np.ndarray, " rows"]:
        """The rows that belong to the given places; a place without references contributes none."""
        ranges = [np.arange(start, stop) for start, stop in self._slices(places)]
        return np.concatenate(ranges) if ranges else np.zeros(0, dtype=np.int64)

    def similarities(
        self, descriptor: Float[np.ndarray, " dim"], places: Iterable[int] | None = None
    ) -> Float[np.ndarray, " rows"]:
        """Cosine of the descriptor with every reference, or with those of some places in the order of `rows_of`."""
        query = descriptor.astype(np.float32)
        if places is None:
            return (self.descriptors @ query).astype(float)
        parts = [self.descriptors[start:stop] @ query for start, stop in self._slices(places)]
        return np.concatenate(parts).astype(float) if parts else np.zeros(0)

    def background(self, descriptor: Float[np.ndarray, " dim"]) -> Float[np.ndarray, " probes"]:
        """Cosine with a fixed, evenly spread sample of the traverse: what a wrong reference looks like."""
        return (self.probe_descriptors @ descriptor.astype(np.float32)).astype(float)

    @property
    def place_count(self) -> int:
        """How many places the traverse entered; later ones have no references."""
        return len(self.offsets) - 1

    def _slices(self, places: Iterable[int]) -> Iterator[tuple[int, int]]:
        for place in places:
            if place < self.place_count:
                yield int(self.offsets[place]), int(self.offsets[place + 1])

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs."""
        return {
            "descriptors": self.descriptors,
            "positions": self.positions,
            "places": self.places,
            "frames": self.frames,
            "stamps": self.stamps,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, probes: int) -> "Memory":
        """The memory that `arrays` described; its rows are sorted by place already."""
        descriptors, positions, places = arrays["descriptors"], arrays["positions"], arrays["places"]
        bounds = np.searchsorted(places, np.arange(int(places.max(initial=-1)) + 2))
        # Evenly spread along the drive, not along the places, which were numbered in order of appearance.
        chosen = np.argsort(arrays["frames"])[np.linspace(0, len(places) - 1, min(probes, len(places))).astype(int)]
        memory = cls(
            descriptors,
            positions,
            places,
            arrays["frames"],
            arrays["stamps"],
            bounds,
            chosen,
            np.array(descriptors[chosen]),
        )
        for array in (positions, places, memory.frames, memory.stamps, bounds, chosen, memory.probe_descriptors):
            array.flags.writeable = False
        if descriptors.flags.writeable:
            descriptors.flags.writeable = False
        return memory


def remember(
    descriptors: Float[np.ndarray, "refs dim"],
    positions: Float[np.ndarray, "refs 2"],
    places: Int[np.ndarray, " refs"],
    stamps: Int[np.ndarray, " refs"],
    *,
    frames: Int[np.ndarray, " refs"],
    probes: int,
) -> Memory:
    """Build M₀ from the frames of a traverse in the order they were driven."""
    order = np.argsort(places, kind="stable")
    arrays = {
        "descriptors": descriptors[order].astype(np.float32),
        "positions": positions[order].astype(float),
        "places": places[order].astype(np.int64),
        "frames": frames[order].astype(np.int64),
        "stamps": stamps[order].astype(np.int64),
    }
    return Memory.from_arrays(arrays, probes)
