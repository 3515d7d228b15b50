"""Shards of a map, each written by whoever gets its order: the manifest is that of one writer, byte for byte."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from tmapr.artifacts.documents.notes import MapNotes
from tmapr.cluster.orders import ShardOrder, is_done
from tmapr.cluster.workers import Workers
from tmapr.cluster.workshop import Workshop, name_key
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.files import DOCUMENT_BYTES, read_bytes
from tmapr.shards.manifest import Manifest, Shard
from tmapr.shards.writing import ROWS, TARGET, WEIGHTS, plan_shards, write_manifest, write_parts
from tmapr.store.opening import open_store
from tmapr.system import Map
from tmapr.types import Watch

_CUT = frozenset({WEIGHTS, *(f"memory.{name}" for name in ROWS)})
"""Arrays that are cut by place."""


@dataclass(frozen=True, slots=True)
class ShardWriter:
    """Has the shards of a run folder's map written by workers."""

    experiment: Experiment
    shop: Workshop
    workers: Workers
    watch: Watch = iter
    target: int = TARGET

    def write(self, environment: Map, store: str) -> Manifest:
        """Write all shards to a store and, when they are there, the manifest."""
        opened, orders = open_store(store), self._plan(environment, store)
        self.workers.carry_out([order for order in orders if not is_done(order)], self.watch)
        written = tuple(self._read(order) for order in orders)
        small = {name: array for name, array in environment.contents().items() if name not in _CUT}
        notes = MapNotes.from_notes(self.shop.run.map, environment.notes())
        width = environment.memory.descriptors.shape[1]
        return write_manifest(notes, width, write_parts(small, opened), written, opened)

    def _plan(self, environment: Map, store: str) -> Sequence[ShardOrder]:
        memory, settings = environment.memory, self.shop.keep_settings(self.experiment)
        bounds = np.searchsorted(memory.places, np.arange(environment.initial["ridge.weights"].shape[1] + 1))
        made_from = {
            "kind": "shard",
            "version": 1,
            "tmapr": version("tmapr"),
            "map": environment.digest,
            "keypoints": memory.keypoints is not None,
            "store": store,
        }
        return [
            ShardOrder(
                tmapr=version("tmapr"),
                workshop=str(self.shop.path),
                key=name_key(made_from | {"first": first, "last": last}),
                experiment=settings,
                map=environment.digest,
                store=store,
                first=first,
                last=last,
            )
            for first, last in plan_shards(bounds, 2 * memory.descriptors.shape[1], self.target)
        ]

    def _read(self, order: ShardOrder) -> Shard:
        return Shard.model_validate_json(read_bytes(self.shop.shard(order.key), DOCUMENT_BYTES))


def fix_address(store: str) -> str:
    """The address by which others find a store; one in this process's memory is nobody else's."""
    if store.startswith("memory:"):
        raise InputError(f"--shards {store}: other processes do not see it; name a folder or an object store")
    return store if re.match(r"\w[\w+.-]*://", store) else os.path.abspath(store)
