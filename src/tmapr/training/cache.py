"""What is kept of every training image in the run folder: its picture as prepared, or the tokens of it.

`cache/KIND/SEQ/` says which perception and which augmentation made it. Where that was another one, it is made again.
"""

from collections.abc import Iterator
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from zlib import crc32

import numpy as np
import torch
from jaxtyping import Shaped

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays
from tmapr.artifacts.percepts import Origin
from tmapr.artifacts.run import RunFolder
from tmapr.config import differences
from tmapr.data.health import Detector
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, open_data
from tmapr.perception.perceiver import Outputs, Perceiver
from tmapr.recipes import Augmentation
from tmapr.system import Watch
from tmapr.training.augmentation import augmented
from tmapr.training.examples import Examples
from tmapr.training.eyes import Eyes
from tmapr.training.store import read_shards, write_shards
from tmapr.types import CoordinateFrame, Frame

KIND, VERSION = "examples", 1
_INDEX = "index.npz"


@runtime_checkable
class Kept(Protocol):
    """What is kept of a picture: so many rows of a store."""

    kind: str
    rows: int

    @property
    def notes(self) -> dict[str, Any]:
        """What it depends on beside the perception."""
        ...

    def __call__(self, pictures: Shaped[np.ndarray, "images height width"]) -> Shaped[np.ndarray, "rows ..."]:
        """Of a batch."""
        ...


class Pictures:
    """The pictures themselves."""

    kind, rows = "pictures", 1
    notes: dict[str, Any] = {}  # noqa: RUF012 (no one writes to it)

    def __call__(self, pictures: Shaped[np.ndarray, "images height width"]) -> Shaped[np.ndarray, "rows ..."]:
        """As they are."""
        return pictures


class Tokens:
    """The encoder's tokens of each picture as it is and of its augmented versions.

    In float16, which resolves a token to 0.05 %, far below the noise of a camera.
    """

    kind = "tokens"

    def __init__(self, eyes: Eyes, augmentation: Augmentation = Augmentation(), versions: int = 1) -> None:  # noqa: B008
        self._eyes = eyes
        self._augmentation = augmentation
        self.rows = versions

    @property
    def notes(self) -> dict[str, Any]:
        """Grid and augmentation."""
        pooled = self._eyes.pooled
        return {
            "pooled": list(pooled) if pooled else None,
            "copies": self.rows,
            "augmentation": self._augmentation.model_dump() if self.rows > 1 else None,
        }

    def __call__(self, pictures: Shaped[np.ndarray, "images height width"]) -> Shaped[np.ndarray, "rows ..."]:
        """All versions of the first picture, then of the next."""
        given = torch.from_numpy(pictures).to(self._eyes.device)
        # Seeded by the pictures: what is kept of a sequence does not depend on what was encoded before it.
        generator = torch.Generator(self._eyes.device).manual_seed(crc32(pictures.tobytes()))
        others = (augmented(given, self._augmentation, generator) for _ in range(1, self.rows))
        versions = [given, *others]
        seen = torch.stack([self._eyes.features(version).tokens for version in versions], dim=1)
        return seen.flatten(0, 1).half().cpu().numpy()


class Cache:
    """Gives examples by a sequence's name."""

    def __init__(self, experiment: Experiment, folder: RunFolder, eyes: Eyes, kept: Kept, watch: Watch = iter) -> None:
        self._data = experiment.data
        self._folder = folder
        self._eyes = eyes
        self._kept = kept
        self._watch = watch
        self.remarks: list[str] = []

    def examples(self, name: str) -> Examples:
        """A sequence's examples, from their files if those fit."""
        folder = self._folder.cache(self._kept.kind, name)
        found = self._found(folder)
        if found is None:
            self._make(name, folder)
            found = self._read(folder)
        return found

    def _found(self, folder: Path) -> Examples | None:
        """What an earlier call left, if it is what is wanted; damaged files and other settings are worth a word."""
        index = folder / _INDEX
        if not index.exists():
            return None
        try:
            header, _ = load_arrays(index, KIND, VERSION)
            changed = self._eyes.perception.changes_since(
                Origin.from_notes(header.notes["perception"]), str(folder)
            ) + differences(header.notes["made"], self._kept.notes, "training")
            moved = CoordinateFrame.from_notes(header.notes["frame"]) != self._frame
            found = None if changed or moved else self._read(folder)
        except InputError:
            self.remarks.append(f"{folder}: damaged, or of an earlier version; made again")
            return None
        if changed:
            self.remarks.append(f"{folder}: was made with {'; '.join(changed)}; made again")
        return found

    def _read(self, folder: Path) -> Examples:
        header, arrays = load_arrays(folder / _INDEX, KIND, VERSION)
        store = read_shards(folder, header.notes["shards"])
        count = len(arrays["numbers"])
        if len(store) != count * self._kept.rows:
            raise InputError(f"{folder}: has {len(store)} rows for {count} frames; remove it")
        return Examples(
            store,
            rows=np.arange(count) * self._kept.rows,
            numbers=arrays["numbers"],
            sequences=np.zeros(count, dtype=np.int64),
            positions=arrays["positions"],
            headings=arrays["headings"],
        )

    def _make(self, name: str, folder: Path) -> None:
        sequence = open_data(self._data, name, None if name == self._data.reference else self._frame)
        if sequence.frame != self._frame:
            raise InputError(
                f"{name}: positions are in {sequence.frame}, the map's in {self._frame}; convert one of them"
            )
        # The index goes first and comes last: shards without one are those of a making that was interrupted.
        (folder / _INDEX).unlink(missing_ok=True)
        origin = self._eyes.perception.origin
        frames: list[tuple[int, float, float, float]] = []
        usable: list[bool] = []
        shards = write_shards(folder, self._seen(sequence, frames, usable), origin.digest)
        if not shards:
            raise InputError(f"{name}: no frame has both a position and a usable image; leave it out of the training")
        poses = np.array(frames)[usable]
        arrays = {"numbers": poses[:, 0].astype(np.int64), "positions": poses[:, 1:3], "headings": poses[:, 3]}
        notes = {
            "shards": shards,
            "frame": asdict(sequence.frame),
            "perception": asdict(origin),
            "made": self._kept.notes,
        }
        save_arrays(folder / _INDEX, Header(KIND, VERSION, origin.digest, notes), arrays)

    def _seen(
        self, sequence: Sequence, frames: list[tuple[int, float, float, float]], usable: list[bool]
    ) -> Iterator[Shaped[np.ndarray, "rows ..."]]:
        """What is kept of each batch; the frames with a position and which of them are usable are noted."""
        card = self._eyes.card
        passed: list[np.ndarray] = []

        def keep(pictures: Shaped[np.ndarray, "images height width"]) -> Outputs:
            passed.append(self._kept(pictures))
            return Outputs(np.zeros((len(pictures), card.dimension or 0), np.float32))

        # A perceiver, so that images are judged and prepared by the very code that will do it at run time.
        perceiver = Perceiver(card, self._eyes.perception.image, keep).watched_by(Detector().inspect)
        for percept in perceiver.stream(self._located(sequence, frames)):
            usable.append(percept.fault is None)
            yield from passed
            passed.clear()

    def _located(self, sequence: Sequence, noted: list[tuple[int, float, float, float]]) -> Iterator[Frame]:
        """The frames with a position, each noted: its number, x, y and heading, NaN where there is none."""
        for number, frame in zip(self._watch(range(len(sequence))), sequence, strict=True):
            if frame.position is not None:
                x, y = frame.position.tolist()
                noted.append((number, x, y, np.nan if frame.heading is None else frame.heading))
                yield frame

    @cached_property
    def _frame(self) -> CoordinateFrame:
        """What the map's positions are relative to: those that a network learns, and will give, are too."""
        if self._data.reference is not None:
            return open_data(self._data, self._data.reference).frame
        first = open_data(self._data, self._data.train[0]).frame
        if first.origin:
            raise InputError("data.reference is not set; a network's positions are relative to the map's origin")
        return first
