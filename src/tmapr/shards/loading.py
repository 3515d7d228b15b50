"""A pulled map as a `Map`: what `Map.load` gives of map.npz, but for the rounding of its descriptors.

The search in M₀ multiplies float32, so descriptors are widened once, when the map is opened, into a file without a name
beside the objects: they stay file-backed, and the system may drop their pages. Keypoints are read from their shards
when they are asked for.
"""

import tempfile
from bisect import bisect_right
from dataclasses import replace
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import IO

import numpy as np
from jaxtyping import Float, Float32

from tmapr.artifacts.arrays import put
from tmapr.artifacts.atomic import naming
from tmapr.artifacts.documents.notes import MapNotes
from tmapr.artifacts.layout import Array, check_arrays
from tmapr.exceptions import InputError
from tmapr.keypoints import MOST, WIDTH, Keypoints
from tmapr.retrieval.keypoints import ReferenceKeypoints
from tmapr.retrieval.memory import LAYOUT as MEMORY
from tmapr.shards.manifest import Blob, Manifest, Shard
from tmapr.shards.packing import open_packed
from tmapr.shards.writing import ROWS, WEIGHTS
from tmapr.store.folder import FolderStore
from tmapr.store.names import name_manifest, name_object
from tmapr.system import Map, System

# Shapes alone: what lies in place was checked against its hash. Ranges are looked at where all of a map is loaded.
_ROWS = {name: replace(MEMORY[name], anything=True) for name in ROWS}
_KEYPOINTS = {
    "offsets": Array("i", "bounds", 0),
    "points": Array("u", "points 2", anything=True),
    "descriptors": Array("i", f"points {WIDTH}", anything=True),
}
_PULL_AGAIN = "remove it and pull the map again"
_OPEN = 64
"""Shards of keypoints that stay open: each takes one of the files that a process may have."""


def load_shards(manifest: Manifest, folder: Path, system: System, references: tuple[str, ...] = ()) -> Map:
    """The map of a manifest whose objects are in a folder; refused as `Map.load` refuses, by the same checks."""
    arrays = {name: array for part in manifest.parts for name, array in _open_blob(folder, part).items()}
    arrays |= put("memory.", _join_rows(manifest, folder))
    arrays[WEIGHTS] = _join_columns(manifest, folder)
    notes = MapNotes(
        digest=manifest.map,
        places=manifest.places,
        frame=manifest.frame,
        perception=manifest.perception,
        made_from=manifest.made_from,
    )
    where = folder / name_manifest(manifest.name)
    loaded = Map.from_contents(where, notes, arrays, system, references)
    return replace(loaded, memory=replace(loaded.memory, keypoints=_find_keypoints(manifest, folder)))


def _open_blob(folder: Path, blob: Blob) -> dict[str, np.ndarray]:
    """The arrays of an object that is in a folder."""
    return open_packed(_find_blob(folder, blob), blob.bytes)


def _find_blob(folder: Path, blob: Blob) -> Path:
    """Where an object lies."""
    return FolderStore(folder).path(name_object(blob.sha256))


def _open_rows(folder: Path, shard: Shard, dimension: int) -> dict[str, np.ndarray]:
    """The references of a shard, in the order of its places."""
    rows, where = _open_blob(folder, shard), str(_find_blob(folder, shard))
    check_arrays(where, rows, _ROWS, _PULL_AGAIN, references=shard.references, width=dimension)
    places = rows["places"]
    if shard.references and not shard.first_place <= places[0] <= places[-1] <= shard.last_place:
        raise InputError(f"{where}: has references of other places than its manifest says; {_PULL_AGAIN}")
    if (np.diff(places) < 0).any() or rows["descriptors"].dtype != np.float16:
        raise InputError(f"{where}: its descriptors are not float16 in the order of places; {_PULL_AGAIN}")
    return rows


def _open_columns(folder: Path, shard: Shard) -> Float[np.ndarray, "places features"]:
    """The columns of W that belong to a shard's places, a row for each."""
    weights, path = _open_blob(folder, shard.weights).get("weights"), _find_blob(folder, shard.weights)
    places = shard.last_place - shard.first_place + 1
    if weights is None or weights.ndim != 2 or len(weights) != places or weights.dtype != np.float64:
        raise InputError(f"{path}: has no columns of W of {places} places; {_PULL_AGAIN}")
    return weights


def _join_rows(manifest: Manifest, folder: Path) -> dict[str, np.ndarray]:
    """One shard after the other: a process may not have as many files open as a map has shards."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ROWS[1:]}
    with naming(folder), tempfile.TemporaryFile(dir=folder, prefix=".widened") as stream:
        for shard in manifest.shards:
            rows = _open_rows(folder, shard, manifest.dimension)
            stream.write(rows["descriptors"].astype(np.float32).tobytes())
            for name, part in parts.items():
                part.append(np.array(rows[name]))
        stream.flush()
        descriptors = _map(stream, (manifest.references, manifest.dimension))
    return {"descriptors": descriptors} | {name: np.concatenate(part) for name, part in parts.items()}


def _map(stream: IO[bytes], shape: tuple[int, int]) -> Float32[np.ndarray, "refs dim"]:
    return np.memmap(stream, np.float32, mode="r", shape=shape)


def _join_columns(manifest: Manifest, folder: Path) -> Float[np.ndarray, "features places"]:
    columns = [np.array(_open_columns(folder, shard)) for shard in manifest.shards]
    widths = {part.shape[1] for part in columns}
    if len(widths) > 1:
        raise InputError(f"{folder}: the columns of W in its shards have {sorted(widths)} numbers; {_PULL_AGAIN}")
    return np.ascontiguousarray(np.concatenate(columns).T)


class _KeypointShelf:
    """Keypoints of references, shard by shard."""

    def __init__(self, manifest: Manifest, folder: Path) -> None:
        self._folder = folder
        self._shards = manifest.shards
        self._begins = [0, *accumulate(shard.references for shard in manifest.shards)]
        self._open = lru_cache(_OPEN)(self._open_shard)

    def find(self, row: int) -> Keypoints:
        """Those of a reference."""
        number = bisect_right(self._begins, row) - 1
        arrays = self._open(number)
        begin, end = arrays["offsets"][row - self._begins[number] :][:2].tolist()
        return Keypoints(np.array(arrays["points"][begin:end]), np.array(arrays["descriptors"][begin:end]))

    def _open_shard(self, number: int) -> dict[str, np.ndarray]:
        shard = self._shards[number]
        if shard.keypoints is None:
            raise ValueError(f"the shard {number} has no keypoints")
        arrays, where = _open_blob(self._folder, shard.keypoints), _find_blob(self._folder, shard.keypoints)
        check_arrays(str(where), arrays, _KEYPOINTS, _PULL_AGAIN, bounds=shard.references + 1)
        counts = np.diff(arrays["offsets"])
        shared_out = (int(arrays["offsets"][0]), int(arrays["offsets"][-1])) == (0, len(arrays["points"]))
        kinds = arrays["points"].dtype.str, arrays["descriptors"].dtype.str
        if not shared_out or (counts < 0).any() or (counts > MOST).any() or kinds != ("<u2", "|i1"):
            raise InputError(f"{where}: its rows do not share out its points, {MOST} at most each; {_PULL_AGAIN}")
        return arrays


def _find_keypoints(manifest: Manifest, folder: Path) -> ReferenceKeypoints | None:
    kept = [shard.keypoints is not None for shard in manifest.shards for _ in range(shard.references)]
    if not any(kept):
        return None
    shelf = _KeypointShelf(manifest, folder)
    return ReferenceKeypoints([partial(shelf.find, row) if has else None for row, has in enumerate(kept)])
