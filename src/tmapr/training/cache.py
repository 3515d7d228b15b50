"""What is kept of every training image in the run folder: its picture as prepared, or the tokens of it.

`cache/KIND/SEQ/` says which perception and which augmentation made it. Where that was another one, it is made again.
"""

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable
from zlib import crc32

import numpy as np
import torch
from jaxtyping import Shaped
from pydantic import ValidationError

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays
from tmapr.artifacts.percepts import Origin
from tmapr.artifacts.run import RunFolder
from tmapr.config import Settings, differences
from tmapr.data.health import Detector
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, open_data
from tmapr.perception.card import Size
from tmapr.perception.perceiver import Outputs, Perceiver
from tmapr.perception.recipes import Augmentation
from tmapr.training.augmentation import augment
from tmapr.training.encoder import FrozenEncoder
from tmapr.training.examples import Examples
from tmapr.training.store import read_shards, write_shards
from tmapr.types import CoordinateFrame, Frame, Watch

KIND, VERSION = "examples", 1
_INDEX = "index.npz"


class Preparation(Settings):
    """What kept rows depend on beside the perception; pictures, and all that an encoder says of them, on nothing."""


class TokenPreparation(Preparation):
    """The grid that tokens are averaged to, how many versions of a picture there are, and what the others suffered."""

    pooled: Size | None
    copies: int
    augmentation: Augmentation | None


class ExampleIndex(Settings):
    """The notes of index.npz: what made the rows, in how many shards they lie, and what positions are relative to."""

    shards: int
    frame: CoordinateFrame
    perception: Origin
    made: TokenPreparation | Preparation


@runtime_checkable
class Extractor(Protocol):
    """Makes what is kept of a picture: so many rows of a store."""

    kind: str
    rows: int
    preparation: Preparation

    def __call__(self, pictures: Shaped[np.ndarray, "images height width"]) -> Shaped[np.ndarray, "rows ..."]:
        """All rows of the first picture, then of the next."""
        ...


class PictureExtractor:
    """Keeps the pictures themselves."""

    kind, rows = "pictures", 1
    preparation = Preparation()

    def __call__(self, pictures: Shaped[np.ndarray, "images height width"]) -> Shaped[np.ndarray, "rows ..."]:
        """The pictures, unchanged."""
        return pictures


class TokenExtractor:
    """Keeps the encoder's tokens of each picture as it is and of its augmented versions.

    In float16, which resolves a token to 0.05 %, far below the noise of a camera.
    """

    kind = "tokens"

    def __init__(
        self,
        encoder: FrozenEncoder,
        augmentation: Augmentation = Augmentation(),  # noqa: B008 (frozen)
        versions: int = 1,
    ) -> None:
        self._encoder = encoder
        self._augmentation = augmentation
        self.rows = versions
        suffered = augmentation if versions > 1 else None
        self.preparation: Preparation = TokenPreparation(pooled=encoder.pooled, copies=versions, augmentation=suffered)

    def __call__(self, pictures: Shaped[np.ndarray, "images height width"]) -> Shaped[np.ndarray, "rows ..."]:
        """All versions of the first picture, then of the next."""
        given = torch.from_numpy(pictures).to(self._encoder.device)
        # Seeded by the pictures: what is kept of a sequence does not depend on what was encoded before it.
        generator = torch.Generator(self._encoder.device).manual_seed(crc32(pictures.tobytes()))
        others = (augment(given, self._augmentation, generator) for _ in range(1, self.rows))
        versions = [given, *others]
        seen = torch.stack([self._encoder.features(version).tokens for version in versions], dim=1)
        return seen.flatten(0, 1).half().cpu().numpy()


class ExampleCache:
    """Gives examples by a sequence's name; they are made where their files are not there, or no longer fit."""

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        encoder: FrozenEncoder,
        extractor: Extractor,
        watch: Watch = iter,
    ) -> None:
        self._data = experiment.data
        self._folder = folder
        self._encoder = encoder
        self._extractor = extractor
        self._watch = watch
        self.remarks: list[str] = []

    def load(self, name: str) -> Examples:
        """A sequence's examples."""
        folder = self._folder.cache(self._extractor.kind, name)
        found = self._load_if_current(folder)
        if found is None:
            self._make(name, folder)
            found = self._read(folder)
        return found

    def _load_if_current(self, folder: Path) -> Examples | None:
        """What an earlier call left, if it is what is wanted; damaged files and other settings are worth a word."""
        if not (folder / _INDEX).exists():
            return None
        try:
            index, _ = _read_index(folder)
            changed = self._list_changes(index, folder)
            moved = index.frame != self._frame
            found = None if changed or moved else self._read(folder)
        except InputError:
            self.remarks.append(f"{folder}: damaged, or of an earlier version; made again")
            return None
        if changed:
            self.remarks.append(f"{folder}: was made with {'; '.join(changed)}; made again")
        return found

    def _list_changes(self, index: ExampleIndex, folder: Path) -> list[str]:
        made, wanted = (each.model_dump(mode="json") for each in (index.made, self._extractor.preparation))
        changes = self._encoder.perception.changes_since(index.perception, str(folder))
        return changes + differences(made, wanted, "training")

    def _read(self, folder: Path) -> Examples:
        index, arrays = _read_index(folder)
        store = read_shards(folder, index.shards)
        count = len(arrays["numbers"])
        if len(store) != count * self._extractor.rows:
            raise InputError(f"{folder}: has {len(store)} rows for {count} frames; remove it")
        return Examples(
            store,
            rows=np.arange(count) * self._extractor.rows,
            numbers=arrays["numbers"],
            sequences=np.zeros(count, dtype=np.int64),
            positions=arrays["positions"],
            headings=arrays["headings"],
        )

    def _make(self, name: str, folder: Path) -> None:
        sequence = open_data(self._data, name, None if name in self._data.references[:1] else self._frame)
        if sequence.frame != self._frame:
            raise InputError(
                f"{name}: positions are in {sequence.frame}, the map's in {self._frame}; convert one of them"
            )
        # The index goes first and comes last: shards without one are those of a making that was interrupted.
        (folder / _INDEX).unlink(missing_ok=True)
        origin = self._encoder.perception.origin
        frames: list[tuple[int, float, float, float]] = []
        usable: list[bool] = []
        shards = write_shards(folder, self._extract(sequence, frames, usable), origin.digest)
        if not shards:
            raise InputError(f"{name}: no frame has both a position and a usable image; leave it out of the training")
        poses = np.array(frames)[usable]
        arrays = {"numbers": poses[:, 0].astype(np.int64), "positions": poses[:, 1:3], "headings": poses[:, 3]}
        index = ExampleIndex(shards=shards, frame=sequence.frame, perception=origin, made=self._extractor.preparation)
        header = Header(KIND, VERSION, origin.digest, index.model_dump(mode="json"))
        save_arrays(folder / _INDEX, header, arrays)

    def _extract(
        self, sequence: Sequence, frames: list[tuple[int, float, float, float]], usable: list[bool]
    ) -> Iterator[Shaped[np.ndarray, "rows ..."]]:
        """Make the rows of each batch; the frames with a position and which of them are usable are noted."""
        card = self._encoder.card
        passed: list[np.ndarray] = []

        def keep(pictures: Shaped[np.ndarray, "images height width"]) -> Outputs:
            passed.append(self._extractor(pictures))
            return Outputs(np.zeros((len(pictures), card.dimension or 0), np.float32))

        # A perceiver, so that images are judged and prepared by the very code that will do it at run time.
        perceiver = Perceiver(card, self._encoder.perception.image, keep).with_inspection(Detector().inspect)
        for percept in perceiver.stream(self._note_positions(sequence, frames)):
            usable.append(percept.fault is None)
            yield from passed
            passed.clear()

    def _note_positions(self, sequence: Sequence, noted: list[tuple[int, float, float, float]]) -> Iterator[Frame]:
        """The frames with a position, each noted: its number, x, y and heading, NaN where there is none."""
        for number, frame in zip(self._watch(range(len(sequence))), sequence, strict=True):
            if frame.position is not None:
                x, y = frame.position.tolist()
                noted.append((number, x, y, np.nan if frame.heading is None else frame.heading))
                yield frame

    @cached_property
    def _frame(self) -> CoordinateFrame:
        """What the map's positions are relative to: those that a network learns, and will give, are too."""
        if self._data.references:
            return open_data(self._data, self._data.references[0]).frame
        first = open_data(self._data, self._data.train[0]).frame
        if first.origin:
            raise InputError("data.reference is not set; a network's positions are relative to the map's origin")
        return first


def _read_index(folder: Path) -> tuple[ExampleIndex, dict[str, np.ndarray]]:
    header, arrays = load_arrays(folder / _INDEX, KIND, VERSION)
    try:
        return ExampleIndex.model_validate_json(json.dumps(dict(header.notes))), arrays
    except ValidationError:
        raise InputError(f"{folder / _INDEX}: is damaged or of another version; make it again") from None
