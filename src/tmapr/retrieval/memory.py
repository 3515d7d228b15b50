"""M₀: descriptors, positions, headings and places of the reference traverses. It never changes after mapping.

References are sorted by place, so that a search in a few places reads a few contiguous slices instead of
gathering rows (18 × slower, measured). Descriptors are float32, as on disk, and may be memory-mapped: a
cosine of unit vectors is then good to 1e-7, far below what any gate resolves.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isnan, nan
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32, Int, Shaped

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.reference import Reference, measure_reference
from tmapr.retrieval.condition import Shared
from tmapr.retrieval.keypoints import ReferenceKeypoints
from tmapr.types import FARTHEST, LATEST, Candidate

MAPPED = frozenset({"memory.descriptors"})
"""Arrays of a map file worth leaving on disk."""

LAYOUT = {
    "descriptors": Array("f", "references width", -1.01, 1.01),
    "positions": Array("f", "references 2", -FARTHEST, FARTHEST),
    "places": Array("i", "references", 0),
    "frames": Array("i", "references", 0),
    "stamps": Array("i", "references", -LATEST, LATEST),
    "sequences": Array("U", "references"),
    "headings": Array("f", "references", -10, 10, unknown=True),
    "turn_gain": Array("f", "", -10, 10, unknown=True),
}
"""Of what `arrays` gives; rows are in the order of places."""


@runtime_checkable
class Multiply(Protocol):
    """The products of all descriptors with a view, made elsewhere."""

    def begin(self, view: Float32[np.ndarray, " dim"]) -> None:
        """With the view that is asked for next."""

    def __call__(self, view: Float32[np.ndarray, " dim"]) -> Float32[np.ndarray, " refs"]:
        """To be read only."""


@dataclass(frozen=True, slots=True)
class Memory:
    """M₀, a row for each reference, by `places`; `frames` and `sequences` say which frame of which traverse it was.

    `order` has the rows as they were driven, one traverse after the other: neighbours in it may be of two. A heading is
    NaN where nobody knows it. `reference` is what the traverses say of spacing and speed, `turn_gain` how many radians
    the camera turns while the picture moves by its width; NaN: nobody knows.
    """

    descriptors: Float32[np.ndarray, "refs dim"]
    positions: Float[np.ndarray, "refs 2"]
    places: Int[np.ndarray, " refs"]
    frames: Int[np.ndarray, " refs"]
    stamps: Int[np.ndarray, " refs"]
    sequences: Shaped[np.ndarray, " refs"]
    headings: Float[np.ndarray, " refs"]
    order: Int[np.ndarray, " refs"]
    offsets: Int[np.ndarray, " bounds"]
    probes: Int[np.ndarray, " probes"]
    probe_descriptors: Float32[np.ndarray, "probes dim"]
    reference: Reference
    turn_gain: float
    mean: Float[np.ndarray, " dim"]
    """Of all descriptors: what the map's views share."""
    sharing: Float[np.ndarray, " refs"]
    """The product of each descriptor with the mean."""
    keypoints: ReferenceKeypoints | None = None
    """By row; None where there are none, and matches cannot be verified. No part of what names a map."""
    multiply: Multiply | None = None
    """What multiplies a view with all descriptors, if not this processor."""

    def __len__(self) -> int:
        return len(self.positions)

    def rows_of(self, places: Iterable[int]) -> Int[np.ndarray, " rows"]:
        """The rows that belong to the given places; a place without references contributes none."""
        ranges = [np.arange(start, stop) for start, stop in self._slices(places)]
        return np.concatenate(ranges) if ranges else np.zeros(0, dtype=np.int64)

    def begin(self, descriptor: Float[np.ndarray, " dim"], shared: Shared | None = None) -> None:
        """Where comparing is done elsewhere, begin with what is compared next."""
        if self.multiply:
            self.multiply.begin((shared.remove(descriptor) if shared else descriptor).astype(np.float32))

    def similarities(
        self,
        descriptor: Float[np.ndarray, " dim"],
        places: Iterable[int] | None = None,
        shared: Shared | None = None,
    ) -> Float[np.ndarray, " rows"]:
        """Cosine of the descriptor with every reference, or with those of some places in the order of `rows_of`.

        With `shared`, of what either has of its own.
        """
        own = shared.remove(descriptor) if shared else descriptor
        query = own.astype(np.float32)
        if places is None:
            products = self.multiply(query) if self.multiply else self.descriptors @ query
            return self._relate(products.astype(float), self.sharing, own, shared)
        if self.multiply:
            rows = self.rows_of(places)
            return self._relate(self.multiply(query)[rows].astype(float), self.sharing[rows], own, shared)
        slices = list(self._slices(places))
        parts = [self.descriptors[start:stop] @ query for start, stop in slices]
        sharing = [self.sharing[start:stop] for start, stop in slices]
        if not parts:
            return np.zeros(0)
        return self._relate(np.concatenate(parts).astype(float), np.concatenate(sharing), own, shared)

    def background(
        self, descriptor: Float[np.ndarray, " dim"], shared: Shared | None = None
    ) -> Float[np.ndarray, " probes"]:
        """Cosine with a fixed, evenly spread sample of the traverses: what a wrong reference looks like."""
        own = shared.remove(descriptor) if shared else descriptor
        query = own.astype(np.float32)
        products = self.multiply(query)[self.probes] if self.multiply else self.probe_descriptors @ query
        return self._relate(products.astype(float), self.sharing[self.probes], own, shared)

    def _relate(
        self,
        products: Float[np.ndarray, " rows"],
        sharing: Float[np.ndarray, " rows"],
        own: Float[np.ndarray, " dim"],
        shared: Shared | None,
    ) -> Float[np.ndarray, " rows"]:
        """Cosines with references less their share of the mean, from products with them as they are: M₀ stays one."""
        if shared is None:
            return products
        weight = shared.weight
        lengths = np.sqrt(1.0 - 2.0 * weight * sharing + weight**2 * float(self.mean @ self.mean))
        related: Float[np.ndarray, " rows"] = (products - weight * float(own @ self.mean)) / lengths
        return related / float(np.linalg.norm(own))

    def measure_cosine(self, row: int, descriptor: Float[np.ndarray, " dim"]) -> float:
        """The plain cosine with one reference."""
        return float(self.descriptors[row] @ descriptor.astype(np.float32))

    def rank_by_cosine(self, descriptors: Float[np.ndarray, "n dim"], count: int) -> Int[np.ndarray, "n best"]:
        """The references with the highest plain cosines with each descriptor, best first; all where there are fewer."""
        cosines = (descriptors.astype(np.float32) @ self.descriptors.T).astype(float)
        count = min(count, len(self))
        best = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(cosines, best, axis=1), axis=1, kind="stable")
        return np.take_along_axis(best, order, axis=1)

    def drives(self) -> list[Int[np.ndarray, " rows"]]:
        """The rows of each traverse in the order they were driven."""
        return _split_drives(self.sequences, self.order)

    def find(self, frame: int, position: Float[np.ndarray, "2"]) -> int:
        """The row of a reference that is known by its frame and its place: two traverses share only the numbers."""
        rows = np.flatnonzero(self.frames == frame)
        return int(rows[np.hypot(*(self.positions[rows] - position).T).argmin()])

    def name_candidate(self, row: int, *, similarity: float, score: float, support: float, margin: float) -> Candidate:
        """A reference as a candidate, with what a frame made of it."""
        heading = float(self.headings[row])
        return Candidate(
            reference=int(self.frames[row]),
            position=self.positions[row],
            place=int(self.places[row]),
            similarity=similarity,
            score=score,
            support=support,
            margin=margin,
            sequence=str(self.sequences[row]),
            heading=None if isnan(heading) else heading,
        )

    def describe(self, row: int) -> str:
        """A reference in words."""
        return f"frame {self.frames[row]} of {self.sequences[row]}"

    @property
    def place_count(self) -> int:
        """How many places the traverses entered; later ones have no references."""
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
            "sequences": self.sequences,
            "headings": self.headings,
            "turn_gain": np.array(self.turn_gain),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, probes: int) -> "Memory":
        """The memory that `arrays` described; its rows are sorted by place already."""
        descriptors, positions, places = arrays["descriptors"], arrays["positions"], arrays["places"]
        bounds = np.searchsorted(places, np.arange(int(places.max(initial=-1)) + 2))
        # Evenly spread along the drive, not along the places, which were numbered in order of appearance.
        order = np.lexsort((arrays["frames"], arrays["sequences"]))
        chosen = order[np.linspace(0, len(places) - 1, min(probes, len(places))).astype(int)]
        memory = cls(
            descriptors,
            positions,
            places,
            arrays["frames"],
            arrays["stamps"],
            arrays["sequences"],
            arrays["headings"],
            order,
            bounds,
            chosen,
            np.array(descriptors[chosen]),
            measure_reference(_split_drives(arrays["sequences"], order), positions, arrays["stamps"]),
            float(arrays["turn_gain"]),
            mean := _average(descriptors),
            (descriptors @ mean.astype(np.float32)).astype(float),
        )
        fixed = (order, bounds, chosen, memory.probe_descriptors, memory.mean, memory.sharing)
        for array in (*memory.arrays().values(), *fixed):
            if array.flags.writeable:
                array.flags.writeable = False
        return memory


def _average(descriptors: Float32[np.ndarray, "refs dim"]) -> Float[np.ndarray, " dim"]:
    """In float64; of no reference, nothing."""
    return descriptors.mean(axis=0, dtype=float) if len(descriptors) else np.zeros(descriptors.shape[1])


def _split_drives(
    sequences: Shaped[np.ndarray, " refs"], order: Int[np.ndarray, " refs"]
) -> list[Int[np.ndarray, " rows"]]:
    names = sequences[order]
    return np.split(order, np.flatnonzero(names[1:] != names[:-1]) + 1)


def remember(  # noqa: PLR0913 (each an array of the map)
    descriptors: Float[np.ndarray, "refs dim"],
    positions: Float[np.ndarray, "refs 2"],
    places: Int[np.ndarray, " refs"],
    stamps: Int[np.ndarray, " refs"],
    *,
    frames: Int[np.ndarray, " refs"],
    sequences: Shaped[np.ndarray, " refs"] | None = None,
    headings: Float[np.ndarray, " refs"] | None = None,
    turn_gain: float = nan,
    probes: int,
) -> Memory:
    """Build M₀ from the frames of traverses in the order they were driven; without `sequences`, of an unnamed one."""
    names = np.full(len(frames), "") if sequences is None else sequences
    directions = np.full(len(frames), np.nan) if headings is None else headings
    order = np.argsort(places, kind="stable")
    arrays = {
        "descriptors": descriptors[order].astype(np.float32),
        "positions": positions[order].astype(float),
        "places": places[order].astype(np.int64),
        "frames": frames[order].astype(np.int64),
        "stamps": stamps[order].astype(np.int64),
        "sequences": names[order],
        "headings": directions[order].astype(float),
        "turn_gain": np.array(turn_gain),
    }
    return Memory.from_arrays(arrays, probes)
