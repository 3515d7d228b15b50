"""A map becomes shards: descriptors are rounded once to float16, all else keeps its bits.

Rounding moves a cosine of unit vectors of 2000 numbers by about 1e-5. They are not made unit vectors again: that would
round twice, and their lengths differ from 1 by less than 1e-3. W stays float64: a robot that learns goes on from what
the map learned, exactly, and a column of it is small beside the descriptors of its place.

A shard is some whole consecutive places. They were numbered along the drive, so a shard is a stretch of road. Shards
are filled from the first place on, so that a map which only grew has the old ones, but for the last.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.documents.notes import MapNotes
from tmapr.retrieval.keypoints import ReferenceKeypoints
from tmapr.shards.manifest import Blob, Manifest, Part, Shard, name_map
from tmapr.shards.packing import pack
from tmapr.store.names import digest_of, name_object
from tmapr.store.protocol import Store
from tmapr.system import Map

TARGET = 8 << 20
"""Bytes of descriptors in a shard."""
ROWS = ("descriptors", "positions", "places", "frames", "stamps", "headings", "sequences")
"""Arrays of M₀ with a row for each reference."""
WEIGHTS = "initial.ridge.weights"
PARTS = ("fitted", "grid", "mixtures", "memory", "ridge", "variation")
"""How the small arrays are shared out."""


def write_shards(
    environment: Map, store: Store, tell: Callable[[str], None] = lambda _: None, *, target: int = TARGET
) -> Manifest:
    """Write a map's objects and, last, its manifest; what is there already is not written again."""
    contents = environment.contents()
    rows = {name: contents.pop(f"memory.{name}") for name in ROWS}
    weights = contents.pop(WEIGHTS)
    parts = write_parts(contents, store)
    bounds = np.searchsorted(rows["places"], np.arange(weights.shape[1] + 1))
    corners = find_corners(contents)
    shards = []
    for first, last in plan_shards(bounds, 2 * rows["descriptors"].shape[1], target):
        some = slice(int(bounds[first]), int(bounds[last + 1]))
        shards.append(
            write_shard(
                store,
                (first, last),
                {name: array[some] for name, array in rows.items()},
                weights[:, first : last + 1],
                find_box(corners[first : last + 1], environment.places.cell),
                pack_keypoints(environment.memory.keypoints, range(some.start, some.stop)),
            )
        )
        tell(f"shard {len(shards)}: places {first} to {last}, {some.stop - some.start} references")
    notes = MapNotes.from_notes(Path("map.npz"), environment.notes())
    return write_manifest(notes, rows["descriptors"].shape[1], parts, tuple(shards), store)


def write_manifest(
    notes: MapNotes, dimension: int, parts: tuple[Part, ...], shards: tuple[Shard, ...], store: Store
) -> Manifest:
    """The last step: from here on the map exists, under a digest of its own."""
    manifest = Manifest(
        map=name_map(parts, shards),
        frame=notes.frame,
        places=notes.places,
        perception=notes.perception,
        made_from=notes.made_from,
        dimension=dimension,
        references=sum(shard.references for shard in shards),
        place_count=shards[-1].last_place + 1,
        parts=parts,
        shards=shards,
    )
    manifest.save(store)
    return manifest


def plan_shards(bounds: Int[np.ndarray, " bounds"], row: int, target: int) -> Iterator[tuple[int, int]]:
    """First and last place of each shard: a new one begins where the next place would go beyond the target."""
    first = 0
    for place in range(1, len(bounds) - 1):
        if (bounds[place + 1] - bounds[first]) * row > target:
            yield first, place - 1
            first = place
    yield first, len(bounds) - 2


def find_corners(small: Arrays) -> Float[np.ndarray, "places 2"]:
    """The south-west corner of every place."""
    corners: Float[np.ndarray, "places 2"] = (
        small["initial.grid.origin"] + small["initial.grid.cells"] * small["initial.grid.cell"]
    )
    return corners


def find_box(corners: Float[np.ndarray, "places 2"], cell: float) -> tuple[float, float, float, float]:
    """West, south, east and north of some places."""
    (west, south), (east, north) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return west, south, east + cell, north + cell


def write_parts(small: Arrays, store: Store) -> tuple[Part, ...]:
    """Objects of the arrays that are not cut by place."""
    groups: dict[str, dict[str, np.ndarray]] = {}
    for name in sorted(small):
        group = name.removeprefix("initial.").split(".")[0]
        if group not in PARTS:
            raise ValueError(f"{name} belongs to no part of a map")
        groups.setdefault(group, {})[name] = small[name]
    return tuple(Part(name=name, **_write(store, pack(groups[name])).model_dump()) for name in sorted(groups))


def write_shard(
    store: Store,
    places: tuple[int, int],
    rows: Mapping[str, np.ndarray],
    weights: Float[np.ndarray, "features places"],
    box: tuple[float, float, float, float],
    keypoints: bytes | None = None,
) -> Shard:
    """One shard: rows of M₀ in the order of places, their places' columns of W, the keypoints of these rows."""
    kept = {name: rows[name] for name in ROWS}
    kept["descriptors"] = rows["descriptors"].astype(np.float16)
    # As wide as its own names: a longer one elsewhere is not to change this object.
    kept["sequences"] = np.array(rows["sequences"].tolist(), dtype=np.str_)
    return Shard(
        **_write(store, pack(kept)).model_dump(),
        first_place=places[0],
        last_place=places[1],
        references=len(rows["places"]),
        box=box,
        weights=_write(store, pack({"weights": np.ascontiguousarray(weights.T)})),
        keypoints=_write(store, keypoints) if keypoints else None,
    )


def pack_keypoints(keypoints: ReferenceKeypoints | None, rows: range) -> bytes | None:
    """The object of the keypoints of some rows; None where a map has none."""
    if keypoints is None or not rows:
        return None
    found = [keypoints[row] for row in rows]
    return pack(
        {
            "offsets": np.cumsum([0, *(len(each) for each in found)]).astype(np.int64),
            "points": np.concatenate([each.points for each in found]),
            "descriptors": np.concatenate([each.descriptors for each in found]),
        }
    )


def _write(store: Store, content: bytes) -> Blob:
    sha256 = digest_of(content)
    store.write(name_object(sha256), content)
    return Blob(sha256=sha256, bytes=len(content))
