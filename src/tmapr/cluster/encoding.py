"""The percepts of traverses, encoded in parts: the files that come of it are those of one process, byte for byte.

An image is compared with the one before it, so whoever encodes a part is shown that first; and a network is given
batches of a fixed size, of which a part has a whole number, so that each image goes through with the same neighbours.
"""

import hashlib
from collections.abc import Sequence as SequenceOf
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np

from tmapr.artifacts.arrays import load_arrays, save_arrays
from tmapr.artifacts.keypoints import KeypointTable, save_keypoints
from tmapr.artifacts.percepts import KIND, VERSION
from tmapr.cluster.orders import EncodeOrder
from tmapr.cluster.workshop import Workshop, name_key
from tmapr.data.sequence import Sequence
from tmapr.experiment import Experiment
from tmapr.running.encoding import Encoding
from tmapr.running.faults import refuse_unusable
from tmapr.running.keypoints import name_maker, wants_keypoints
from tmapr.types import Fault, Frame

FRAMES = 512
"""Of a part: some twenty seconds of a core, which is what a lost worker costs; and a multiple of every batch."""


def plan_encoding(
    experiment: Experiment, shop: Workshop, encoding: Encoding, device: str, frames: int = FRAMES
) -> dict[str, list[EncodeOrder]]:
    """The orders for each traverse that has to be encoded as a whole; of others little or nothing is left to do."""
    lacking = [name for name in experiment.data.references if encoding.lacks(name)]
    if not lacking:
        return {}
    settings = shop.keep_settings(experiment)
    return {name: _plan_traverse(experiment, shop, encoding, device, settings, name, frames) for name in lacking}


def _plan_traverse(
    experiment: Experiment, shop: Workshop, encoding: Encoding, device: str, settings: str, name: str, frames: int
) -> list[EncodeOrder]:
    sequence = encoding.open(name)
    made_from = {
        "kind": "part",
        "version": VERSION,
        "tmapr": version("tmapr"),
        "sequence": name,
        "perception": asdict(experiment.perception.origin),
        "precision": encoding.precision,
        "keypoints": name_maker(experiment.perception.image) if wants_keypoints(experiment) else "",
        "recording": _digest_recording(sequence),
    }
    bounds = [(begin, min(begin + frames, len(sequence))) for begin in range(0, len(sequence), frames)]
    return [
        EncodeOrder(
            tmapr=version("tmapr"),
            workshop=str(shop.path),
            key=name_key(made_from | {"begin": begin, "end": end}),
            experiment=settings,
            device=device,
            sequence=name,
            begin=begin,
            end=end,
        )
        for begin, end in bounds
    ]


def _digest_recording(sequence: Sequence) -> str:
    """All that is known of a recording without a look at its images: whatever changes, its parts are others."""
    total = hashlib.sha256(f"{sequence.frame} {sequence.whole} {len(sequence)}".encode())
    for frame in sequence:
        position = None if frame.position is None else frame.position.tolist()
        told = frame.stamp, position, frame.heading, frame.motion and frame.motion.numbers, *_tell_file(frame)
        total.update(repr(told).encode(errors="surrogateescape"))
    return total.hexdigest()


def _tell_file(frame: Frame) -> tuple[str, int, int]:
    if frame.file is None:
        return "", 0, 0
    try:
        found = frame.file.stat()
    except OSError:
        return str(frame.file), 0, 0
    return str(frame.file), found.st_size, found.st_mtime_ns


def join_parts(shop: Workshop, encoding: Encoding, name: str, orders: SequenceOf[EncodeOrder]) -> None:
    """Make the percepts of a traverse from its parts, and let the encoding have them."""
    joined = shop.joined(name)
    faults = _join_percepts([shop.part(order.key) for order in orders], joined)
    if all(faults):
        refuse_unusable(encoding.open(name), map(Fault, faults))
    tables = [shop.part_keypoints(order.key) for order in orders]
    keypoints = _join_keypoints(tables, shop.joined_keypoints(name)) if tables[0].exists() else None
    encoding.adopt(name, joined, keypoints)


def _join_percepts(parts: SequenceOf[Path], target: Path) -> list[str]:
    loaded = [load_arrays(part, KIND, VERSION) for part in parts]
    (header, first), *_ = loaded
    arrays = {name: np.concatenate([each[name] for _, each in loaded]) for name in first}
    save_arrays(target, header, arrays)
    return list(arrays["faults"].tolist())


def _join_keypoints(parts: SequenceOf[Path], target: Path) -> Path:
    tables = [KeypointTable.load(part) for part in parts]
    rows = [table[row] for table in tables for row in range(len(table))]
    save_keypoints(target, rows, [each for table in tables for each in table.contents], tables[0].maker, "")
    return target
