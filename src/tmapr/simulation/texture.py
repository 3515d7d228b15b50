"""The world's texture: two channels of smooth noise in −1 … 1 on a tile that repeats without a seam, at many scales.

It is laid over surfaces in metres, so that a place looks the same from everywhere and on every traverse. Coarser levels
are averages of finer ones: a distant wall shows what remains of its texture, not grains that flicker.
"""

import numpy as np
from jaxtyping import Float, Float32

SIZE = 512
"""Texels of the finest level, to each side."""

TEXEL = 0.05
"""Metres."""

LEVELS = 9
"""Each half as fine as the one before; the last has 2 × 2 texels."""

_COARSEST = 4.0
"""Metres: longer waves would tint whole walls."""


def make_texture(seed: int, relief: float = 1.0, grain: float = 1.2) -> Float32[np.ndarray, "texels 2"]:
    """All levels, finest first, each row by row; the two channels are unrelated.

    Amplitudes fall with the wave number to the power `grain`: clouds rather than grain, with grain on top.
    """
    rng = np.random.default_rng(seed)
    finest = relief * np.stack([_make_noise(rng, grain), _make_noise(rng, grain)], axis=-1)
    levels = [finest]
    for _ in range(LEVELS - 1):
        levels.append(_halve(levels[-1]))
    return np.concatenate([level.reshape(-1, 2) for level in levels]).astype(np.float32)


def _make_noise(rng: np.random.Generator, fall: float) -> Float[np.ndarray, "size size"]:
    """Filtered white noise of unit variance, cut at ±3 deviations and brought into −1 … 1."""
    waves = np.hypot(np.fft.fftfreq(SIZE)[:, None], np.fft.fftfreq(SIZE)[None, :])  # per texel
    longest = TEXEL / _COARSEST
    amplitudes = np.maximum(waves, longest) ** -fall * (waves > longest / 2)
    field = np.fft.ifft2(np.fft.fft2(rng.normal(size=(SIZE, SIZE))) * amplitudes).real
    return np.clip(field / field.std(), -3, 3) / 3


def _halve(level: Float[np.ndarray, "n n 2"]) -> Float[np.ndarray, "m m 2"]:
    side = len(level) // 2
    return level.reshape(side, 2, side, 2, 2).mean(axis=(1, 3))
