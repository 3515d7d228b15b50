"""Frames to learn from: what a network is given of each, where it was taken, and which of them are held out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.baselines.regressor import Clip
from tmapr.training.store import Store


@dataclass(frozen=True, slots=True)
class Examples:
    """Frames with a position and a usable image, as recorded, sequence after sequence: metres, radians.

    `rows` are their places in the store, `numbers` their own in the sequence. A heading that was not recorded is NaN.
    """

    store: Store
    rows: Int[np.ndarray, " frames"]
    numbers: Int[np.ndarray, " frames"]
    sequences: Int[np.ndarray, " frames"]
    positions: Float[np.ndarray, "frames 2"]
    headings: Float[np.ndarray, " frames"]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: Bool[np.ndarray, " frames"]) -> "Examples":
        """Those of the frames for which it is true; they stay where they are in the store."""
        names = ("rows", "numbers", "sequences", "positions", "headings")
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    def clips(self, centers: Int[np.ndarray, " clips"], clip: Clip) -> Int[np.ndarray, " images"]:
        """The frames of clips, one clip after another; where a sequence ends, its last frame is repeated."""
        firsts = np.searchsorted(self.sequences, self.sequences[centers], side="left")
        lasts = np.searchsorted(self.sequences, self.sequences[centers], side="right") - 1
        reach = clip.frames // 2
        offsets = clip.spacing * np.arange(-reach, reach + 1)
        return np.clip(centers[:, None] + offsets, firsts[:, None], lasts[:, None]).ravel()


def join_examples(parts: Sequence[Examples]) -> Examples:
    """The frames of several sequences, one after another."""
    starts = np.cumsum([0, *(len(part.store) for part in parts)])
    return Examples(
        store=Store.concatenate([part.store for part in parts]),
        rows=np.concatenate([part.rows + start for part, start in zip(parts, starts.tolist(), strict=False)]),
        numbers=np.concatenate([part.numbers for part in parts]),
        sequences=np.concatenate([np.full(len(part), number) for number, part in enumerate(parts)]),
        positions=np.concatenate([part.positions for part in parts]),
        headings=np.concatenate([part.headings for part in parts]),
    )


class Division(NamedTuple):
    """Which of a sequence's usable frames train and which validate; guarded: with frames left out in between."""

    train: Bool[np.ndarray, " frames"]
    validation: Bool[np.ndarray, " frames"]
    guarded: bool


def divide(numbers: Int[np.ndarray, " frames"], share: float, guard: int) -> Division:
    """Hold out the last share of the frames, and leave out those less than `guard` + 1 frames before it.

    Neighbours of a held-out frame look like it: trained on, they would make the validation error flatter the head.
    `numbers` count the sequence's frames, usable or not. Where the guard would take more frames than it leaves to
    train on there is none.
    """
    first = numbers[-max(round(share * len(numbers)), 1)]
    before, clear = numbers < first, numbers < first - guard
    guarded = bool(2 * np.count_nonzero(clear) >= np.count_nonzero(before))
    return Division(clear if guarded else before, numbers >= first, guarded)


def shuffle(count: int, seed: int, epoch: int) -> Int[np.ndarray, " {count}"]:
    """Draw the order of an epoch: it depends on nothing but the seed and the epoch, so that training can be resumed."""
    return np.random.default_rng((seed, epoch)).permutation(count)
