"""Pictures as another thermal camera, or the same one an hour later, would have made them."""

import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from tmapr.perception.recipes import Augmentation

_WHITE = 255


def augment(
    pictures: UInt8[Tensor, "images height width"], settings: Augmentation, generator: torch.Generator
) -> UInt8[Tensor, "images height width"]:
    """Give each picture a gain, an offset, a power, noise and a shift of its own."""
    images, _, width = pictures.shape
    seen = pictures.float() / _WHITE
    gain, offset, gamma, *shift = _draw_symmetric((5, images), generator)[..., None, None]
    if settings.shift:
        seen = _shift(seen, 2 * settings.shift * torch.cat(shift, dim=2)[:, 0])
    if settings.gamma:
        seen = seen ** (1 + settings.gamma * gamma)
    middle = seen.mean(dim=(1, 2), keepdim=True)
    seen = (1 + settings.gain * gain) * (seen - middle) + middle + settings.offset * offset
    if settings.columns:
        seen = seen + settings.columns * _draw_normal((images, 1, width), generator)
    if settings.noise:
        seen = seen + settings.noise * _draw_normal(pictures.shape, generator)
    return (seen * _WHITE).round().clamp(0, _WHITE).to(torch.uint8)


def _shift(
    seen: Float[Tensor, "images height width"], shift: Float[Tensor, "images 2"]
) -> Float[Tensor, "images height width"]:
    """Move pictures by x and y, in half sides; what comes in at the border repeats it."""
    still = torch.eye(2, device=seen.device).expand(len(seen), 2, 2)
    grid = affine_grid(torch.cat([still, shift[:, :, None]], dim=2), [len(seen), 1, *seen.shape[1:]], False)
    return grid_sample(seen[:, None], grid, padding_mode="border", align_corners=False)[:, 0]


def _draw_symmetric(shape: tuple[int, ...], generator: torch.Generator) -> Float[Tensor, "..."]:
    return 2 * torch.rand(shape, generator=generator, device=generator.device) - 1


def _draw_normal(shape: tuple[int, ...] | torch.Size, generator: torch.Generator) -> Float[Tensor, "..."]:
    return torch.randn(shape, generator=generator, device=generator.device)
