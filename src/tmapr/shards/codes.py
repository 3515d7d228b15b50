"""Codes of all references, a bit a dimension: the first pass of a search in millions.

A bit says whether a number of a descriptor is above the map's mean. The number of bits in which two codes differ
follows the angle between the descriptors without what all of the map share. A million codes of 2000 bits are 256 MB and
are read in a few hundredths of a second; the exact cosines of the few thousand nearest decide.

They are made from the objects, once, on the machine that uses them, and may be thrown away: no part of the map.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int, UInt16, UInt64

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays
from tmapr.artifacts.layout import Array, check_arrays
from tmapr.exceptions import InputError
from tmapr.shards.kernels import add_halves, code_halves, count_differences
from tmapr.shards.loading import open_halves
from tmapr.shards.manifest import Manifest
from tmapr.types import Watch

KIND, VERSION = "codes", 1
_BITS = 64
_LAYOUT = {"mean": Array("f", "width", -1.01, 1.01), "codes": Array("u", "references words", anything=True)}
_MAKE_AGAIN = "remove it to make it again"


class Codes:
    """A row of bits for each reference, memory-mapped."""

    def __init__(self, mean: Float32[np.ndarray, " dim"], codes: UInt64[np.ndarray, "refs words"]) -> None:
        self._mean = mean
        self._codes = codes

    def nearest(self, descriptor: Float[np.ndarray, " dim"], count: int, cores: int) -> Int[np.ndarray, " rows"]:
        """The rows whose codes differ least from the descriptor's, in their own order."""
        differences = self._compare(descriptor, cores)
        counted = np.bincount(differences, minlength=1)
        # The largest difference that all of `count` rows keep; of those that have it exactly, the first ones go along.
        last = int(np.searchsorted(np.cumsum(counted), count))
        near = np.flatnonzero(differences <= last)
        if len(near) <= count:
            return near
        closer, tied = near[differences[near] < last], near[differences[near] == last]
        return np.sort(np.concatenate([closer, tied[: count - len(closer)]]))

    def _compare(self, descriptor: Float[np.ndarray, " dim"], cores: int) -> UInt16[np.ndarray, " refs"]:
        query = np.zeros((1, self._codes.shape[1]), np.uint64)
        code_halves(descriptor.astype(np.float16)[None].view(np.uint16), self._mean, query)
        differences = np.empty(len(self._codes), np.uint16)
        bounds = np.linspace(0, len(self._codes), cores + 1).astype(int).tolist()

        def count(begin: int, end: int) -> None:
            count_differences(self._codes, query[0], begin, end, differences)

        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(lambda part: count(*part), pairwise(bounds)))
        return differences


def open_codes(manifest: Manifest, folder: Path, watch: Watch = iter) -> Codes:
    """The codes of a pulled map; where they are not there yet they are made, which reads all of its descriptors."""
    path = folder / "codes" / f"{manifest.map}.npz"
    if not path.is_file():
        _make(manifest, folder, path, watch)
    header, arrays = load_arrays(path, KIND, VERSION, mapped=frozenset({"codes"}))
    words = -(-manifest.dimension // _BITS)
    sizes = {"references": manifest.references, "words": words, "width": manifest.dimension}
    check_arrays(str(path), arrays, _LAYOUT, _MAKE_AGAIN, **sizes)
    kinds = arrays["mean"].dtype.str, arrays["codes"].dtype.str
    if header.notes.get("map") != manifest.map or kinds != ("<f4", "<u8"):
        raise InputError(f"{path}: are no codes of this map; {_MAKE_AGAIN}")
    return Codes(arrays["mean"], arrays["codes"])


def _make(manifest: Manifest, folder: Path, path: Path, watch: Watch) -> None:
    """Two passes over the descriptors, a shard at a time: one for their mean, one for what is above it."""
    total = np.zeros(manifest.dimension)
    for shard in manifest.shards:
        add_halves(open_halves(folder, shard, manifest.dimension), total)
    mean = (total / manifest.references).astype(np.float32)
    codes = np.zeros((manifest.references, -(-manifest.dimension // _BITS)), np.uint64)
    begin = 0
    for number in watch(range(len(manifest.shards))):
        rows = open_halves(folder, manifest.shards[number], manifest.dimension)
        code_halves(rows, mean, codes[begin : begin + len(rows)])
        begin += len(rows)
    save_arrays(path, Header(KIND, VERSION, "", {"map": manifest.map}), {"mean": mean, "codes": codes})
