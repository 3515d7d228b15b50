"""From examples to what a network takes, on its device: kept tokens, pictures, or pictures encoded on the way.

A feed gives frames as they were recorded, or, with a generator, one augmented version of each.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from tmapr.baselines.regressor import Inputs
from tmapr.perception.card import IMAGENET
from tmapr.perception.encoder import Features
from tmapr.perception.recipes import Augmentation, Training
from tmapr.training.augmentation import augment
from tmapr.training.encoder import FrozenEncoder
from tmapr.training.examples import Examples


@runtime_checkable
class Feed(Protocol):
    """What stands between the store and a network."""

    def __call__(
        self, examples: Examples, frames: Int[np.ndarray, " n"], generator: torch.Generator | None = None
    ) -> Inputs:
        """What the network takes of these frames; with a generator, augmented."""
        ...


@dataclass(frozen=True, slots=True)
class TokenFeed:
    """Tokens from their cache, in so many versions of a frame; the first is as recorded."""

    grid: tuple[int, int]
    variants: int
    device: torch.device
    dtype: torch.dtype = torch.float32

    def __call__(
        self, examples: Examples, frames: Int[np.ndarray, " n"], generator: torch.Generator | None = None
    ) -> Inputs:
        """Features whose summary is the tokens' mean."""
        rows = examples.rows[frames]
        if generator is not None and self.variants > 1:
            drawn = torch.randint(self.variants, (len(rows),), generator=generator, device=generator.device)
            rows = rows + drawn.cpu().numpy()
        tokens = torch.from_numpy(examples.store.take(rows)).to(self.device).to(self.dtype)
        return Features(tokens, tokens.mean(dim=1), *self.grid)


@dataclass(frozen=True, slots=True)
class EncoderFeed:
    """Pictures that pass the frozen encoder every time they are asked for."""

    encoder: FrozenEncoder
    augmentation: Augmentation
    dtype: torch.dtype = torch.float32

    def __call__(
        self, examples: Examples, frames: Int[np.ndarray, " n"], generator: torch.Generator | None = None
    ) -> Inputs:
        """The features that a cache would hold, but for its rounding."""
        pictures = _load_pictures(examples, frames, self.encoder.device, self.augmentation, generator)
        seen = self.encoder.features(pictures)
        tokens = seen.tokens.to(self.dtype)
        return Features(tokens, tokens.mean(dim=1), seen.rows, seen.columns)


@dataclass(frozen=True, slots=True)
class ImageFeed:
    """Pictures for a trunk of the network's own, normalised with ImageNet's statistics, whatever its weights."""

    augmentation: Augmentation
    device: torch.device
    dtype: torch.dtype = torch.float32

    def __call__(
        self, examples: Examples, frames: Int[np.ndarray, " n"], generator: torch.Generator | None = None
    ) -> Inputs:
        """Images of three equal channels."""
        pictures = _load_pictures(examples, frames, self.device, self.augmentation, generator)
        mean, std = (torch.tensor(values, device=self.device)[:, None, None] for values in IMAGENET)
        return ((pictures[:, None].float() / 255 - mean) / std).to(self.dtype)


def _load_pictures(
    examples: Examples,
    frames: Int[np.ndarray, " n"],
    device: torch.device,
    augmentation: Augmentation,
    generator: torch.Generator | None,
) -> UInt8[Tensor, "n height width"]:
    pictures = torch.from_numpy(examples.store.take(examples.rows[frames])).to(device)
    if generator is None or not augmentation.active:
        return pictures
    return augment(pictures, augmentation, generator)


def choose_dtype(settings: Training) -> torch.dtype:
    """The type of the numbers in weights and inputs."""
    return torch.float64 if settings.precision == "float64" else torch.float32
