"""What is kept of every training image in the run folder: its picture as prepared, or the tokens of it.

`cache/KIND/SEQ/` says which perception, which augmentation and which images made it. Where these were others, it is
made again; positions are those of the recording.
"""

import json
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable
from zlib import crc32

import numpy as np
import torch
from jaxtyping import Int, Shaped
from pydantic import ValidationError

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays
from tmapr.artifacts.percepts import Origin
from tmapr.artifacts.run import RunFolder
from tmapr.artifacts.sources import Sources, Trust
from tmapr.config import Settings, differences
from tmapr.data.health import Detector
from tmapr.data.sequence import Sequence
from tmapr.data.survey import Survey, survey
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, find_home, is_data_there, open_data
from tmapr.perception.bulk import Readers, count_cores
from tmapr.perception.card import Size
from tmapr.perception.eyes import Outputs
from tmapr.perception.perceiver import BATCH, GPU_BATCH, Perceiver
from tmapr.perception.recipes import Augmentation
from tmapr.running.renewal import differ, is_same, list_changed_images
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
    whole: str = ""


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
    """Gives examples by a sequence's name; they are made where their files are not there, or no longer fit.

    `trust` says what of a cache is believed.
    """

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        encoder: FrozenEncoder,
        extractor: Extractor,
        watch: Watch = iter,
        trust: Trust = "stamps",
    ) -> None:
        self._data = experiment.data
        self._folder = folder
        self._encoder = encoder
        self._extractor = extractor
        self._watch = watch
        self._trust: Trust = trust
        self._checked = set[str]()
        self.remarks: list[str] = []

    def load(self, name: str) -> Examples:
        """A sequence's examples."""
        folder = self._folder.cache(self._extractor.kind, name)
        found = self._load_if_current(name, folder)
        if found is None:
            self._make(name, folder)
            found = self._read(folder)
        self._checked.add(name)
        return found

    def _load_if_current(self, name: str, folder: Path) -> Examples | None:
        """What an earlier call left, if it is what is wanted; whatever is wrong with it is worth a word."""
        checked = name in self._checked
        if not (folder / _INDEX).exists() or (self._trust == "nothing" and not checked):
            return None
        try:
            index, _ = _read_index(folder)
            changed = self._list_changes(index, folder)
            if changed:
                self.remarks.append(f"{folder}: was made with {'; '.join(changed)}; made again")
                return None
            if not checked and is_data_there(self._data, name) and not self._renew(name, folder):
                return None
            return self._read(folder)
        except InputError:
            self.remarks.append(f"{folder}: damaged, or of another version; made again")
            return None

    def _renew(self, name: str, folder: Path) -> bool:
        """Bring positions up to date; False if the examples are not of these images."""
        sequence = self._open(name)
        index, arrays = _read_index(folder)
        sources = Sources.from_arrays(arrays, index.whole)
        if sources is None:
            raise InputError(f"{folder}: does not say what it was made from")
        if (
            self._trust == "stamps"
            and sequence.whole
            and (index.whole, index.frame) == (sequence.whole, sequence.frame)
        ):
            return True
        now = survey(sequence, find_home(self._data, name), sources, self._trust)
        changes = list_changed_images(sources, now.sources)
        if not changes and differ(arrays["placed"], now.placed):
            changes = ["other frames have positions"]
        if changes:
            self.remarks.append(f"{folder}: {', '.join(changes)}; made again")
            return False
        fresh = self._pose(arrays["numbers"], now)
        moved = any(differ(arrays[key], fresh[key]) for key in ("positions", "headings"))
        if moved:
            self.remarks.append(f"{folder}: positions changed; taken from the recording")
        if moved or not is_same(sources, now.sources) or index.frame != now.frame:
            self._save(folder, index.shards, fresh, now)
        return True

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

    def _open(self, name: str) -> Sequence:
        return open_data(self._data, name, None if name in self._data.references[:1] else self._frame)

    def _make(self, name: str, folder: Path) -> None:
        sequence = self._open(name)
        # The index goes first and comes last: shards without one are those of a making that was interrupted.
        (folder / _INDEX).unlink(missing_ok=True)
        now = survey(sequence, find_home(self._data, name))
        placed = np.flatnonzero(now.placed).tolist()
        usable: list[bool] = []
        shards = write_shards(folder, self._extract(sequence, placed, usable), self._encoder.perception.origin.digest)
        if not shards:
            raise InputError(f"{name}: no frame has both a position and a usable image; leave it out of the training")
        self._save(folder, shards, self._pose(np.array(placed)[usable], now), now)

    def _pose(self, numbers: Int[np.ndarray, " examples"], now: Survey) -> dict[str, np.ndarray]:
        return {"numbers": numbers, "positions": now.truth[numbers], "headings": now.headings[numbers]}

    def _save(self, folder: Path, shards: int, examples: dict[str, np.ndarray], now: Survey) -> None:
        origin = self._encoder.perception.origin
        index = ExampleIndex(
            shards=shards,
            frame=now.frame,
            perception=origin,
            made=self._extractor.preparation,
            whole=now.sources.whole,
        )
        header = Header(KIND, VERSION, origin.digest, index.model_dump(mode="json"))
        save_arrays(folder / _INDEX, header, examples | {"placed": now.placed} | now.sources.arrays())

    def _extract(
        self, sequence: Sequence, placed: list[int], usable: list[bool]
    ) -> Iterator[Shaped[np.ndarray, "rows ..."]]:
        """Make the rows of each batch of frames that have a position; which of them are usable is noted."""
        card = self._encoder.card
        passed = deque[np.ndarray]()

        def keep(pictures: Shaped[np.ndarray, "images height width"]) -> Outputs:
            passed.append(self._extractor(pictures))
            return Outputs(np.zeros((len(pictures), card.dimension or 0), np.float32))

        # A perceiver, so that images are judged and prepared by the very code that will do it at run time.
        at_once = GPU_BATCH if self._encoder.device.type == "cuda" else BATCH
        plain = Perceiver(card, self._encoder.perception.image, keep, at_once=at_once)
        perceiver = plain.with_inspection(Detector().inspect)
        for percept in perceiver.stream(self._select(sequence, placed), readers=Readers(count_cores())):
            usable.append(percept.fault is None)
            while passed:  # on a GPU the next batch may be put there meanwhile, by another thread
                yield passed.popleft()

    def _select(self, sequence: Sequence, placed: list[int]) -> Iterator[Frame]:
        wanted = set(placed)
        for number, frame in zip(self._watch(range(len(sequence))), sequence, strict=True):
            if number in wanted:
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
