"""One shard of a map, whoever cuts it."""

import numpy as np

from tmapr.shards.manifest import Shard
from tmapr.shards.writing import ROWS, WEIGHTS, find_box, find_corners, pack_keypoints, write_shard
from tmapr.store.protocol import Store
from tmapr.system import Map


def cut_shard(environment: Map, store: Store, first: int, last: int) -> Shard:
    """Write the shard of the places from the first to the last."""
    contents, memory = environment.contents(), environment.memory
    begin, end = np.searchsorted(memory.places, [first, last + 1]).tolist()
    rows = {name: contents[f"memory.{name}"][begin:end] for name in ROWS}
    box = find_box(find_corners(contents)[first : last + 1], environment.places.cell)
    keypoints = pack_keypoints(memory.keypoints, range(begin, end))
    return write_shard(store, (first, last), rows, contents[WEIGHTS][:, first : last + 1], box, keypoints)
