"""M₀ and W left on disk: only what a frame has to look at is read.

While a filter says where a robot may be, its reach names some places: their columns of W are scored and their rows are
compared, exactly, and no other page of the map is touched. Both cost what the reach holds, however large the map is.
Where nobody says anything, codes of all references name the few thousand that are compared exactly (codes.py).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int, UInt16

from tmapr.artifacts.arrays import put
from tmapr.artifacts.layout import check_arrays
from tmapr.config.tree import from_tree
from tmapr.places.classifier import FITTED
from tmapr.places.grid import LAYOUT as CELLS
from tmapr.places.projection import Projector
from tmapr.places.settings import Places
from tmapr.shards.codes import Codes, open_codes
from tmapr.shards.kernels import times_halves
from tmapr.shards.loading import find_blob, open_blob, open_columns, open_rows
from tmapr.shards.manifest import Manifest
from tmapr.shards.packing import open_packed
from tmapr.shards.writing import ROWS, find_corners
from tmapr.types import Watch

SHORTLIST = 4096
"""Rows that codes name: of a tenth of them, two in a hundred first candidates of a million were missing."""
_ROWS_OPEN, _COLUMNS_OPEN = 400, 200
"""Shards that stay open: a process may have 1024 files, and a lost robot asks all shards of a million references."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The references that look most like a descriptor, best first, with their plain cosines."""

    rows: Int[np.ndarray, " n"]
    similarities: Float[np.ndarray, " n"]
    places: Int[np.ndarray, " n"]
    positions: Float[np.ndarray, "n 2"]


class ShardedMemory:
    """A pulled map that is searched where it lies. It never changes, and several threads may ask it."""

    def __init__(self, manifest: Manifest, folder: Path) -> None:
        self._manifest, self._folder = manifest, folder
        self._small = {name: array for part in manifest.parts for name, array in open_blob(folder, part).items()}
        where = f"{folder}: the map {manifest.map[:12]}…"
        layout = put("initial.grid.", CELLS) | put("fitted.", FITTED)
        check_arrays(where, self._small, layout, "pull it again", places=manifest.place_count, width=manifest.dimension)
        self._cell = float(self._small["initial.grid.cell"])
        self._centres = find_corners(self._small) + self._cell / 2
        self._boxes = np.array([shard.box for shard in manifest.shards])
        self._first_places = np.array([shard.first_place for shard in manifest.shards])
        self._first_rows = np.cumsum([0, *(shard.references for shard in manifest.shards)])
        self._bounds = self._find_bounds()
        self._blobs = [[find_blob(folder, blob) for blob in (shard, shard.weights)] for shard in manifest.shards]
        self._rows = lru_cache(_ROWS_OPEN)(self._open_again)
        self._columns = lru_cache(_COLUMNS_OPEN)(self._open_columns)

    def __len__(self) -> int:
        return self._manifest.references

    def open_codes(self, watch: Watch = iter) -> Codes:
        """What `relocalize` needs; made when they are first asked for."""
        return open_codes(self._manifest, self._folder, watch)

    def make_projector(self) -> Projector:
        """From descriptors to the rows that `score` takes."""
        settings = from_tree(Places, self._manifest.places, f"{self._folder}: places")
        fitted = {name.removeprefix("fitted."): array for name, array in self._small.items()}
        return settings.projection.load(fitted)

    def find_reach(self, centre: Float[np.ndarray, "2"], radius: float) -> Int[np.ndarray, " places"]:
        """The places of which any point is within the radius, in ascending order."""
        outside = np.maximum(self._boxes[:, :2] - centre, centre - self._boxes[:, 2:]).clip(0.0)
        near = np.flatnonzero(np.hypot(*outside.T) <= radius)
        shards = self._manifest.shards
        ranges = [np.arange(shards[number].first_place, shards[number].last_place + 1) for number in near.tolist()]
        places = np.concatenate([np.zeros(0, np.int64), *ranges])
        apart = (np.abs(self._centres[places] - centre) - self._cell / 2).clip(0.0)
        return places[np.hypot(*apart.T) <= radius]

    @property
    def manifest(self) -> Manifest:
        """What it was opened by."""
        return self._manifest

    @property
    def small(self) -> Mapping[str, np.ndarray]:
        """All that is no row of M₀ and no column of W, left on disk."""
        return self._small

    def count_each(self, places: Int[np.ndarray, " places"]) -> Int[np.ndarray, " places"]:
        """How many references each of some places has."""
        return self._bounds[places + 1] - self._bounds[places]

    def count_references(self, places: Int[np.ndarray, " places"]) -> int:
        """How many references some places have."""
        return int(self.count_each(places).sum())

    def gather_rows(self, places: Int[np.ndarray, " places"]) -> dict[str, np.ndarray]:
        """The references of some ascending places, of which the first is place 0 now, and so on; in float32."""
        parts: dict[str, list[np.ndarray]] = {name: [] for name in ROWS}
        numbers = np.repeat(np.arange(len(places)), self.count_each(places))
        wanted = [np.arange(self._bounds[place], self._bounds[place + 1]) for place in places.tolist()]
        rows = np.concatenate([np.zeros(0, np.int64), *wanted])
        for shard, some in _share_out(rows, self._first_rows[:-1]):
            arrays = self._rows(shard)
            for name, part in parts.items():
                part.append(arrays[name][rows[some] - self._first_rows[shard]])
        gathered = {name: np.concatenate(part) for name, part in parts.items()}
        return gathered | {"descriptors": gathered["descriptors"].astype(np.float32), "places": numbers}

    def gather_columns(self, places: Int[np.ndarray, " places"]) -> Float[np.ndarray, "features places"]:
        """The columns of W of some ascending places."""
        parts = [
            self._columns(shard)[places[some] - self._first_places[shard]]
            for shard, some in _share_out(places, self._first_places)
        ]
        return np.ascontiguousarray(np.concatenate(parts).T)

    def score(
        self, features: Float[np.ndarray, " features"], places: Int[np.ndarray, " places"]
    ) -> Float[np.ndarray, " places"]:
        """Z W for these places alone, which are in ascending order; with U, z is the mean of its sigma points' rows."""
        scores = np.empty(len(places))
        for shard, some in _share_out(places, self._first_places):
            scores[some] = self._columns(shard)[places[some] - self._first_places[shard]] @ features
        return scores

    def search(
        self, descriptor: Float[np.ndarray, " dim"], places: Int[np.ndarray, " places"], count: int = 1
    ) -> Matches:
        """The best references of these places, by the exact cosine of what was stored."""
        ranges = [np.arange(self._bounds[place], self._bounds[place + 1]) for place in places.tolist()]
        return self._compare(descriptor, np.concatenate([np.zeros(0, np.int64), *ranges]), count)

    def relocalize(
        self, descriptor: Float[np.ndarray, " dim"], codes: Codes, count: int = 1, *, cores: int = 2
    ) -> Matches:
        """The best references of the whole map: exact cosines of those whose codes are nearest."""
        return self._compare(descriptor, codes.nearest(descriptor, max(SHORTLIST, count), cores), count)

    def _compare(self, descriptor: Float[np.ndarray, " dim"], rows: Int[np.ndarray, " rows"], count: int) -> Matches:
        query, cosines = descriptor.astype(np.float32), np.empty(len(rows), np.float32)
        for shard, some in _share_out(rows, self._first_rows[:-1]):
            halves: UInt16[np.ndarray, "refs dim"] = self._rows(shard)["descriptors"].view(np.uint16)
            times_halves(halves, rows[some] - self._first_rows[shard], query, cosines[some])
        best = np.argsort(-cosines, kind="stable")[:count]
        return self._name(rows[best], cosines[best])

    def _name(self, rows: Int[np.ndarray, " n"], cosines: Float32[np.ndarray, " n"]) -> Matches:
        shards = np.searchsorted(self._first_rows, rows, side="right") - 1
        local = rows - self._first_rows[shards]
        positions = [self._rows(s)["positions"][row] for s, row in zip(shards.tolist(), local.tolist(), strict=True)]
        places = np.searchsorted(self._bounds, rows, side="right") - 1
        return Matches(rows, cosines.astype(float), places, np.array(positions).reshape(-1, 2))

    def _find_bounds(self) -> Int[np.ndarray, " bounds"]:
        """The row at which each place begins."""
        counts = np.zeros(self._manifest.place_count + 1, np.int64)
        for shard in self._manifest.shards:
            places = open_rows(self._folder, shard, self._manifest.dimension)["places"] - shard.first_place
            counted = np.bincount(places, minlength=shard.last_place - shard.first_place + 1)
            counts[shard.first_place + 1 : shard.last_place + 2] = counted
        return np.cumsum(counts)

    def _open_again(self, shard: int) -> dict[str, np.ndarray]:
        """Without a second look at what `_find_bounds` has looked at."""
        return open_packed(self._blobs[shard][0], self._manifest.shards[shard].bytes)

    def _open_columns(self, shard: int) -> Float[np.ndarray, "places features"]:
        return open_columns(self._blobs[shard][1], self._manifest.shards[shard])


def _share_out(numbers: Int[np.ndarray, " n"], firsts: Int[np.ndarray, " shards"]) -> Iterator[tuple[int, slice]]:
    """Which shard each of some ascending numbers belongs to, by the first number of each shard."""
    owners = np.searchsorted(firsts, numbers, side="right") - 1
    cuts = np.flatnonzero(np.diff(owners)) + 1
    begins = np.concatenate([[0], cuts]).astype(int)
    ends = np.concatenate([cuts, [len(numbers)]]).astype(int)
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        if end > begin:
            yield int(owners[begin]), slice(begin, end)
