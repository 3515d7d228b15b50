"""What networks are trained on, one array a frame: written in shards while frames arrive, read through memory maps.

So neither encoding nor training needs the memory of a whole data set: a ViT's tokens of 30 000 frames are 12 GB.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
from jaxtyping import Int, Shaped

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays

_KIND, _VERSION, _FRAMES = "shard", 1, "frames"
_SHARD = 256 << 20
"""Bytes of a shard; each keeps a file open while it is mapped, and a process may open about a thousand."""


class Store:
    """Equal arrays, one a row, that lie in several blocks: memory maps of shards, or arrays in memory."""

    def __init__(self, blocks: Sequence[Shaped[np.ndarray, "_ ..."]]) -> None:
        shapes = {(block.shape[1:], block.dtype) for block in blocks}
        if len(shapes) != 1:
            raise ValueError(f"a store holds rows of one kind, got {sorted(map(str, shapes))}")
        self._blocks = tuple(blocks)
        self._starts = np.array([0, *accumulate(len(block) for block in blocks)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def shape(self) -> tuple[int, ...]:
        """The axes of one row."""
        return self._blocks[0].shape[1:]

    def take(self, rows: Int[np.ndarray, " n"]) -> Shaped[np.ndarray, "n ..."]:
        """Some rows, in that order, copied together."""
        taken = np.empty((len(rows), *self.shape), self._blocks[0].dtype)
        blocks = np.searchsorted(self._starts, rows, side="right") - 1
        for place, (block, row) in enumerate(zip(blocks.tolist(), (rows - self._starts[blocks]).tolist(), strict=True)):
            taken[place] = self._blocks[block][row]
        return taken

    @classmethod
    def concatenate(cls, stores: Sequence["Store"]) -> "Store":
        """The rows of several, one store after another; nothing is copied."""
        return cls([block for store in stores for block in store._blocks])


def write_shards(
    folder: Path, batches: Iterable[Shaped[np.ndarray, "rows ..."]], origin: str, size: int = _SHARD
) -> int:
    """Write rows as they come, `size` bytes to a file; returns how many files. `origin` marks what made them."""
    count = 0
    for count, rows in enumerate(_gather(batches, size), start=1):
        save_arrays(_shard(folder, count - 1), Header(_KIND, _VERSION, origin, {}), {_FRAMES: rows})
    return count


def read_shards(folder: Path, count: int) -> Store:
    """So many shards as one store; the checksum of each is compared once, while it is opened."""
    mapped = frozenset({_FRAMES})
    return Store([load_arrays(_shard(folder, n), _KIND, _VERSION, mapped=mapped)[1][_FRAMES] for n in range(count)])


def _gather(batches: Iterable[np.ndarray], size: int) -> Iterator[np.ndarray]:
    waiting: list[np.ndarray] = []
    for batch in batches:
        waiting.append(batch)
        if sum(rows.nbytes for rows in waiting) >= size:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _shard(folder: Path, number: int) -> Path:
    return folder / f"{number:04d}.npz"
