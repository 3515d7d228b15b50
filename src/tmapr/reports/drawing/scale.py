"""From values to pixels, and the round numbers that stand beside an axis."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class LinearScale:
    """Equal steps; at most `count` ticks."""

    low: float
    high: float
    pixels: tuple[float, float]
    count: int = 8

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"an axis must rise, got {self.low} to {self.high}")

    def __call__(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Values to pixels, also outside the axis."""
        start, stop = self.pixels
        return start + (np.asarray(values, dtype=float) - self.low) / (self.high - self.low) * (stop - start)

    def ticks(self) -> list[tuple[float, str]]:
        """Multiples of 1, 2 or 5 times a power of ten."""
        step = round_step((self.high - self.low) / self.count)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        # Divided by a whole number where the step is a fraction, so that 3 steps of 0.1 are 0.3.
        inverse = round(1 / step)
        values = [number / inverse if step < 1 else number * step for number in range(first, last + 1)]
        return list(zip(values, format_ticks(values), strict=True))


@dataclass(frozen=True, slots=True)
class LogarithmicScale:
    """Equal ratios from one power of ten to another; what lies outside is drawn on the edge."""

    low: int
    high: int
    pixels: tuple[float, float]

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"an axis must rise, got 10^{self.low} to 10^{self.high}")

    def __call__(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Values to pixels, zero on the lower edge."""
        start, stop = self.pixels
        exponents = np.log10(np.clip(values, 10.0**self.low, 10.0**self.high))
        return start + (exponents - self.low) / (self.high - self.low) * (stop - start)

    def ticks(self) -> list[tuple[float, str]]:
        """The powers of ten."""
        values = [10.0**exponent for exponent in range(self.low, self.high + 1)]
        return [(value, format_number(value)) for value in values]


@dataclass(frozen=True, slots=True)
class RootScale:
    """Shares from none to all, by their roots: small ones can be seen, and none is still none."""

    pixels: tuple[float, float]
    marked: tuple[float, ...]

    def __call__(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Values to pixels."""
        start, stop = self.pixels
        return start + np.sqrt(np.clip(values, 0.0, 1.0)) * (stop - start)

    def ticks(self) -> list[tuple[float, str]]:
        """The marked shares, in per cent."""
        return [(value, f"{format_number(100 * value)} %") for value in self.marked]


Scale = LinearScale | LogarithmicScale | RootScale
"""One axis: its ends in pixels, where values lie between them, and its ticks."""


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step for step in _STEPS if step * power >= least * (1 - 1e-9)) * power


def format_number(value: float) -> str:
    """A number of a setting or a length, with no more digits than it needs."""
    return f"{value:.10g}".replace("-", "\N{MINUS SIGN}")


def format_ticks(ticks: list[float]) -> list[str]:
    """The ticks of an axis with equal steps, all with the decimals of the one that needs most."""
    decimals = max((len(f"{tick:.10f}".rstrip("0").partition(".")[2]) for tick in ticks), default=0)
    return [f"{tick:.{decimals}f}".replace("-", "\N{MINUS SIGN}") for tick in ticks]
