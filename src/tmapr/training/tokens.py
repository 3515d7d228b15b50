"""The tokens of every training image: encoded once, averaged to the head's grid and kept as float16 in the run folder.

`apr/tokens/SEQ.npz` says which perception made it. Where that was another one, or another grid, it is made again.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays
from tmapr.artifacts.percepts import Origin
from tmapr.artifacts.run import RunFolder
from tmapr.data.health import Detector
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, open_data
from tmapr.perception.card import Card, EfficientNet, Size, Vit
from tmapr.perception.encoder import Features
from tmapr.perception.network import Network, TorchEngine, assemble
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.pooling import averaged
from tmapr.system import Watch
from tmapr.training.batches import Examples
from tmapr.types import CoordinateFrame, Frame

KIND, VERSION = "tokens", 1
_ANYWHERE = Normaliser((0.0, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Tokens:
    """A sequence's examples, averaged to the grid `pooled` if there is one.

    `rows` are their numbers in the sequence, `card` describes the encoder.
    """

    examples: Examples
    pooled: Size | None
    rows: Int[np.ndarray, " frames"]
    frame: CoordinateFrame
    card: Card

    @property
    def encoder(self) -> Vit | EfficientNet:
        """The encoder's shape."""
        if self.card.encoder is None:
            raise ValueError("tokens come from an encoder, and the card describes none")
        return self.card.encoder

    def save(self, path: Path, origin: Origin) -> None:
        """Write them with the mark of the perception that made them."""
        examples = self.examples
        arrays = {
            "tokens": examples.tokens,
            "positions": examples.positions,
            "headings": examples.headings,
            "rows": self.rows,
        }
        notes = {
            "grid": examples.grid,
            "pooled": self.pooled,
            "frame": asdict(self.frame),
            "card": self.card.model_dump_json(exclude_none=True),
            "perception": asdict(origin),
        }
        save_arrays(path, Header(KIND, VERSION, origin.digest, notes), arrays)

    @classmethod
    def load(cls, path: Path) -> tuple["Tokens", Origin]:
        """Read them, and the mark."""
        header, arrays = load_arrays(path, KIND, VERSION)
        notes = header.notes
        (rows, columns), pooled = notes["grid"], notes["pooled"]
        examples = Examples(arrays["tokens"], arrays["positions"], arrays["headings"], (rows, columns))
        frame, card = CoordinateFrame.from_notes(notes["frame"]), Card.model_validate_json(notes["card"])
        made = cls(examples, (rows, columns) if pooled else None, arrays["rows"], frame, card)
        return made, Origin.from_notes(notes["perception"])


class Tokenizer:
    """Gives tokens by a sequence's name. The encoder is opened when a file of them is missing, and not before."""

    def __init__(self, experiment: Experiment, folder: RunFolder, device: str = "cpu", watch: Watch = iter) -> None:
        self._perception = experiment.perception.model_copy(update={"apr": None})
        self._training = experiment.training
        self._data = experiment.data
        self._folder = folder
        self._device = device
        self._watch = watch

    def tokens(self, name: str) -> Tokens:
        """A sequence's tokens, from their file if it fits."""
        path = self._folder.tokens(name)
        found = self._found(path)
        if found is None:
            found = self._encode(name)
            found.save(path, self._perception.origin)
        return found

    def _found(self, path: Path) -> Tokens | None:
        """What an earlier call left; a file that is damaged, or of other settings, is worth no question."""
        if not path.exists():
            return None
        try:
            found, origin = Tokens.load(path)
            changed = self._perception.changes_since(origin, str(path))
        except InputError:
            return None
        fits = found.frame == self._frame and found.pooled == self._pooled(found.encoder)
        return found if fits and not changed else None

    def _encode(self, name: str) -> Tokens:
        network, card = self._assembled
        sequence = open_data(self._data, name, self._frame)
        if sequence.frame != self._frame:
            raise InputError(
                f"{name}: positions are in {sequence.frame}, the map's in {self._frame}; convert one of them"
            )
        engine = TorchEngine(network, self._device)
        perceiver = Perceiver(card, self._perception.image, engine).watched_by(Detector().inspect)
        frames: list[tuple[int, float, float, float]] = []
        pooled = self._pooled(card.encoder) if card.encoder else None
        # A hook, so that images are judged, prepared and encoded by the very perceiver that the head will be part of.
        passes: list[Features] = []
        with network.encoder.register_forward_hook(lambda *passed: passes.append(_kept(passed[-1], pooled))):
            usable = [percept.fault is None for percept in perceiver.stream(self._located(sequence, frames))]
        if not any(usable):
            raise InputError(f"{name}: no frame has both a position and a usable image; leave it out of the training")
        poses = np.array(frames)[usable]
        tokens = torch.cat([features.tokens for features in passes]).numpy()
        examples = Examples(tokens, poses[:, 1:3], poses[:, 3], (passes[0].rows, passes[0].columns))
        described = Card(encoder=card.encoder, sources=card.sources)
        return Tokens(examples, pooled, poses[:, 0].astype(np.int64), sequence.frame, described)

    def _located(self, sequence: Sequence, noted: list[tuple[int, float, float, float]]) -> Iterator[Frame]:
        """The frames with a position, each noted: its row, x, y and heading, NaN where there is none."""
        for row, frame in zip(self._watch(range(len(sequence))), sequence, strict=True):
            if frame.position is not None:
                x, y = frame.position.tolist()
                noted.append((row, x, y, np.nan if frame.heading is None else frame.heading))
                yield frame

    def _pooled(self, encoder: Vit | EfficientNet) -> Size | None:
        return self._training.head_for(encoder, _ANYWHERE).pooled

    @cached_property
    def _frame(self) -> CoordinateFrame:
        """What the map's positions are relative to: those that the head learns, and will give, are too."""
        if self._data.reference is not None:
            return open_data(self._data, self._data.reference).frame
        first = open_data(self._data, self._data.train[0]).frame
        if first.origin:
            raise InputError("data.reference is not set; a pose head's positions are relative to the map's origin")
        return first

    @cached_property
    def _assembled(self) -> tuple[Network, Card]:
        return assemble(self._perception)


def _kept(features: Features, pooled: Size | None) -> Features:
    """What is worth keeping of a pass: float16 resolves a token to 0.05 %, far below the noise of a camera."""
    seen = averaged(features, *pooled) if pooled else features
    return seen._replace(tokens=seen.tokens.half().cpu(), summary=seen.summary.cpu())
