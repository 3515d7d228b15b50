"""What the pose head is trained on: examples, which of them are held out, and the batches of an epoch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float16, Int
from torch import Tensor

from tmapr.perception.encoder import Features
from tmapr.perception.normaliser import Normaliser


@dataclass(frozen=True, slots=True)
class Examples:
    """Tokens of usable frames, on a grid of rows × columns, and where each was taken: metres, radians.

    Every frame has a position. A heading that was not recorded is NaN.
    """

    tokens: Float16[np.ndarray, "frames patches channels"]
    positions: Float[np.ndarray, "frames 2"]
    headings: Float[np.ndarray, " frames"]
    grid: tuple[int, int]

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, which: Bool[np.ndarray, " frames"] | Int[np.ndarray, " taken"]) -> "Examples":
        """Some of the frames."""
        return Examples(self.tokens[which], self.positions[which], self.headings[which], self.grid)


def joined(parts: Sequence[Examples]) -> Examples:
    """The frames of several sequences, one after another."""
    first, *others = parts
    if any(part.grid != first.grid for part in others):
        raise ValueError(f"examples have one grid, got {sorted({part.grid for part in parts})}")
    return Examples(
        np.concatenate([part.tokens for part in parts]),
        np.concatenate([part.positions for part in parts]),
        np.concatenate([part.headings for part in parts]),
        first.grid,
    )


class Division(NamedTuple):
    """Which of a sequence's usable frames train and which validate; guarded: with frames left out in between."""

    train: Bool[np.ndarray, " frames"]
    validation: Bool[np.ndarray, " frames"]
    guarded: bool


def divide(rows: Int[np.ndarray, " frames"], share: float, guard: int) -> Division:
    """Hold out the last share of the frames, and leave out those less than `guard` + 1 frames before it.

    Neighbours of a held-out frame look like it: trained on, they would make the validation error flatter the head.
    `rows` counts the sequence's frames, usable or not. Where the guard would take more frames than it leaves to train
    on there is none.
    """
    first = rows[-max(round(share * len(rows)), 1)]
    before, clear = rows < first, rows < first - guard
    guarded = bool(2 * np.count_nonzero(clear) >= np.count_nonzero(before))
    return Division(clear if guarded else before, rows >= first, guarded)


class Batch(NamedTuple):
    """Examples on a device; positions are normalised, an unknown heading is NaN."""

    features: Features
    positions: Float[Tensor, "images 2"]
    headings: Float[Tensor, " images"]


def shuffled(count: int, seed: int, epoch: int) -> Int[np.ndarray, " {count}"]:
    """The order of an epoch: it depends on nothing but the seed and the epoch, so that training can be resumed."""
    return np.random.default_rng((seed, epoch)).permutation(count)


def batches(
    examples: Examples, order: Int[np.ndarray, " taken"], size: int, normaliser: Normaliser, device: torch.device
) -> Iterator[Batch]:
    """The examples in that order, `size` at a time; the last batch may be smaller."""
    for start in range(0, len(order), size):
        taken = examples.take(order[start : start + size])
        tokens = torch.from_numpy(taken.tokens).to(device).float()
        positions, headings = (
            torch.from_numpy(values).float().to(device)
            for values in (normaliser.normalise(taken.positions), taken.headings)
        )
        yield Batch(Features(tokens, tokens.mean(dim=1), *examples.grid), positions, headings)
