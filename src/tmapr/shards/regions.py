"""A region of a map in shards, as a `Map` of its own: what is around a position, and nothing else is read.

Its references, places and columns of W are the map's, its K is the map's: places are scored as the whole map scores
them. Only what a frame is compared with is less. It is for localizing: a lesson would change columns of W that are not
here. Keypoints stay where they are.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import put
from tmapr.artifacts.documents.notes import MapNotes
from tmapr.exceptions import InputError
from tmapr.shards.searching import ShardedMemory
from tmapr.shards.writing import WEIGHTS
from tmapr.store.names import digest_of, name_manifest
from tmapr.system import Map, System

_BY_PLACE = ("initial.grid.cells", "initial.variation.means", "initial.variation.counts")
_BY_PLACE_OF_G = ("initial.mixtures.counts", "initial.mixtures.means", "initial.mixtures.variances")


@dataclass(frozen=True, slots=True)
class Region:
    """A map of the places within a radius, and which places of the whole map they are."""

    map: Map
    centre: Float[np.ndarray, "2"]
    radius: float
    places: Int[np.ndarray, " places"]


def open_region(memory: ShardedMemory, system: System, centre: Float[np.ndarray, "2"], radius: float) -> Region:
    """What is within a radius of a position; refused where no reference is."""
    places = memory.find_reach(centre, radius)
    places = places[memory.count_each(places) > 0]
    if not len(places):
        raise InputError(f"no reference is within {radius:g} m of {np.asarray(centre).tolist()}; the map ends before")
    small = dict(memory.small)
    for name in (*_BY_PLACE, *(each for each in _BY_PLACE_OF_G if each in small)):
        small[name] = np.array(small[name][places])
    small |= put("memory.", memory.gather_rows(places))
    small[WEIGHTS] = memory.gather_columns(places)
    manifest = memory.manifest
    notes = MapNotes(
        digest=digest_of(manifest.map.encode() + places.tobytes()),
        places=manifest.places,
        frame=manifest.frame,
        perception=manifest.perception,
    )
    where = Path(name_manifest(manifest.name))
    return Region(Map.from_contents(where, notes, small, system), np.array(centre, float), radius, places)
