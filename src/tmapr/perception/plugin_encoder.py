"""Somebody else's encoder as one of ours: its tokens are looked at before a head takes them."""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from tmapr.perception.card import Card, Input, Plugged
from tmapr.perception.encoder import Encode, Features
from tmapr.perception.layouts import WeightsLayout
from tmapr.perception.plugin import make_pictures
from tmapr.perception.settings import SETTING, Perception
from tmapr.perception.weights import Checkpoint
from tmapr.plugins import ENCODERS, Offer, choose_offer, describe


class PluginEncoder(nn.Module):
    """Calls an encoder; `channels` are those that its tokens had at first."""

    def __init__(self, offer: Offer, encode: Encode) -> None:
        super().__init__()
        self._offer = offer
        self.encode = encode.eval().requires_grad_(False) if isinstance(encode, nn.Module) else encode
        self.channels: int | None = None

    def forward(self, pictures: Float[Tensor, "images 3 height width"]) -> Features:
        """Tokens row by row, and summaries."""
        with self._offer.blaming("encoding pictures"):
            answer = self.encode(pictures)
        tokens, summary = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
        grid = self._check(tokens, "tokens [images, rows, columns, channels]", (len(pictures), -1, -1, self.channels))
        images, rows, columns, channels = grid.shape
        flat = grid.reshape(images, rows * columns, channels).to(pictures.device, torch.float32)
        if summary is None:
            return Features(flat, flat.mean(dim=1), rows, columns)
        mean = self._check(summary, "a summary [images, channels]", (images, channels))
        return Features(flat, mean.to(pictures.device, torch.float32), rows, columns)

    def _check(self, value: object, wanted: str, shape: tuple[int | None, ...]) -> Tensor:
        """The value as a tensor of that shape, in which −1 and None are any length."""
        given = torch.from_numpy(value) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
        if not isinstance(given, Tensor):
            raise self._offer.refuse(f"returned {describe(value)} instead of {wanted} for {shape[0]} pictures")
        right = given.ndim == len(shape) and all(
            size == asked or (asked in (-1, None) and size) for size, asked in zip(given.shape, shape, strict=True)
        )
        if not right or not given.is_floating_point():
            told = f"{given.dtype} of shape {list(given.shape)}"
            before = f" with {self.channels} channels, as before" if self.channels else ""
            raise self._offer.refuse(f"returned {told} instead of {wanted}{before} for {shape[0]} pictures")
        if not bool(torch.isfinite(given).all()):
            raise self._offer.refuse(f"returned numbers that are not finite among {wanted}")
        return given


def open_encoder(settings: Perception) -> tuple[PluginEncoder, Checkpoint]:
    """The encoder that settings name, tried on made-up pictures, and what a checkpoint would say of it: no weights."""
    offer = choose_offer(SETTING, settings.encoder, ENCODERS)
    made = offer.build("perception", settings.options)
    if not isinstance(made, Encode):
        raise offer.refuse(f"its maker returned {describe(made)}, which cannot be called with pictures")
    encoder = PluginEncoder(offer, made)
    pictures = torch.from_numpy(make_pictures(settings.size))[:, None].float().expand(-1, 3, -1, -1) / 255
    with torch.inference_mode():
        channels = encoder(pictures).tokens.shape[2]
    encoder.channels = channels
    plain = Input(mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), size=settings.size)
    card = Card(encoder=Plugged(channels=channels), input=plain)
    return encoder, Checkpoint(Path(settings.encoder), WeightsLayout.OURS, card, {})
