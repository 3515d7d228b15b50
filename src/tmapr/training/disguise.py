"""Prepared pictures of a place in disguise: as another spectrum, sensor or drive would have shown it.

All is done on batches of pictures where the encoder is, each picture with numbers of its own, so that the two of a pair
differ in everything but their place.
"""

import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor
from torch.nn.functional import conv2d, grid_sample, interpolate

from tmapr.perception.recipes import Disguise
from tmapr.training.augmentation import augment

_WHITE = 255
_KNOTS = 6
"""Of a random curve: enough to bend it, too few to make it a staircase."""
_REGIONS = 4
"""To a side: what is inverted in parts has patches of about a quarter of a side."""
_EDGE = 6.0
"""How sharp the borders of such regions are."""
_REACH = 3
"""Deviations of the widest blur that its window covers."""

Batch = Float[Tensor, "images height width"]


def disguise(
    pictures: UInt8[Tensor, "images height width"], settings: Disguise, generator: torch.Generator
) -> UInt8[Tensor, "images height width"]:
    """Give each picture another view, other tones, a blur, something in the way and another sensor."""
    seen = pictures.float() / _WHITE
    seen = _change_view(seen, settings, generator)
    seen = _change_tones(seen, settings, generator)
    if settings.blur:
        seen = blur(seen, settings.blur * _draw((len(seen),), generator))
    if settings.hidden:
        seen = _hide(seen, settings.hidden, generator)
    return augment((seen * _WHITE).round().clamp(0, _WHITE).to(torch.uint8), settings.sensor, generator)


def make_curves(count: int, generator: torch.Generator) -> Float[Tensor, "count 256"]:
    """Random curves from 0 to 1 that never fall, by the level of a picture."""
    # Shares of exponential steps: all ways to divide the rise among the knots are equally likely.
    steps = -torch.log(_draw((count, _KNOTS), generator).clamp(min=1e-6))
    heights = torch.cumsum(steps / steps.sum(dim=1, keepdim=True), dim=1)
    knots = torch.cat([torch.zeros_like(heights[:, :1]), heights], dim=1)
    return interpolate(knots[:, None], size=_WHITE + 1, mode="linear", align_corners=True)[:, 0].clamp(0, 1)


def blur(seen: Batch, deviations: Float[Tensor, " images"]) -> Batch:
    """A Gaussian blur for each picture, in pixels; the border repeats."""
    reach = max(1, round(_REACH * float(deviations.max())))
    at = torch.arange(-reach, reach + 1, device=seen.device)
    window = torch.exp(-0.5 * (at / deviations.clamp(min=1e-3)[:, None]) ** 2)
    window = (window / window.sum(dim=1, keepdim=True))[:, None]
    padded = torch.nn.functional.pad(seen[None], (reach, reach, reach, reach), mode="replicate")
    across = conv2d(padded, window[:, :, None, :], groups=len(seen))
    return conv2d(across, window[:, :, :, None], groups=len(seen))[0]


def _change_view(seen: Batch, settings: Disguise, generator: torch.Generator) -> Batch:
    """Zoom, turn, shift and tilt; what comes in at the border mirrors what is there."""
    if not (settings.zoom or settings.shift or settings.turn or settings.tilt):
        return seen
    images, height, width = seen.shape
    zoom, turn, *rest = _draw_symmetric((6, images), generator)
    scale, angle = (1 + settings.zoom) ** zoom, settings.turn * turn
    shift, tilt = 2 * settings.shift * torch.stack(rest[:2], dim=1), settings.tilt * torch.stack(rest[2:], dim=1)
    rows, columns = (torch.linspace(-1, 1, side, device=seen.device) for side in (height, width))
    places = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), dim=-1).reshape(1, -1, 2)
    turned = torch.stack([torch.stack([angle.cos(), -angle.sin()], 1), torch.stack([angle.sin(), angle.cos()], 1)], 1)
    nearer = 1 + (places * tilt[:, None]).sum(dim=2, keepdim=True)
    grid = (scale[:, None, None] * places @ turned) / nearer + shift[:, None]
    shown = grid_sample(
        seen[:, None], grid.reshape(images, height, width, 2), padding_mode="reflection", align_corners=False
    )
    return shown[:, 0]


def _change_tones(seen: Batch, settings: Disguise, generator: torch.Generator) -> Batch:
    images = len(seen)
    curves = make_curves(images, generator)
    levels = (seen * _WHITE).round().long().flatten(1)
    remapped = torch.take_along_dim(curves, levels, dim=1).reshape(seen.shape)
    seen = torch.where(_choose(images, settings.remapped, generator), remapped, seen)
    seen = torch.where(_choose(images, settings.inverted, generator), 1 - seen, seen)
    if not settings.mixed:
        return seen
    regions = torch.randn(images, 1, _REGIONS, _REGIONS, generator=generator, device=generator.device)
    regions = interpolate(regions, size=seen.shape[1:], mode="bicubic", align_corners=True)[:, 0]
    share = torch.sigmoid(_EDGE * regions)
    return torch.where(_choose(images, settings.mixed, generator), share * (1 - seen) + (1 - share) * seen, seen)


def _hide(seen: Batch, largest: float, generator: torch.Generator) -> Batch:
    """A rectangle of every picture shows what another has there, half a batch on: neighbours would look alike."""
    images, height, width = seen.shape
    inside = torch.ones_like(seen, dtype=torch.bool)
    for axis, side in ((1, height), (2, width)):
        size, start = largest * side * _draw((images,), generator), side * _draw((images,), generator)
        at = torch.arange(side, device=seen.device)
        within = (at >= start[:, None]) & (at < (start + size)[:, None])
        inside &= within.unsqueeze(3 - axis)
    return torch.where(inside, seen.roll(images // 2, dims=0), seen)


def _choose(images: int, share: float, generator: torch.Generator) -> Bool[Tensor, "images 1 1"]:
    return (_draw((images,), generator) < share)[:, None, None]


def _draw(shape: tuple[int, ...], generator: torch.Generator) -> Float[Tensor, "..."]:
    return torch.rand(shape, generator=generator, device=generator.device)


def _draw_symmetric(shape: tuple[int, ...], generator: torch.Generator) -> Float[Tensor, "..."]:
    return 2 * _draw(shape, generator) - 1
