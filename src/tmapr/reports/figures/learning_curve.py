"""The learning curve: training loss and, beneath it, the validation error in metres over the epochs.

A file of its own and no part of the page: it brings its size, its ground and its colours. Those are the page's, but
spelled out, since programs other than browsers know no style variables.
"""

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from tmapr.reports.drawing.markup import element, escape, tenths
from tmapr.reports.drawing.scale import LinearScale, LogarithmicScale, Scale
from tmapr.reports.drawing.svg import Key, axes, dots, label, legend, line, rectangle

_WIDTH, _HEIGHT = 640.0, 480.0
_LEFT, _RIGHT = 70.0, _WIDTH - 14.0
_UPPER, _LOWER = (196.0, 40.0), (432.0, 260.0)
_TITLE_AT, _LEGEND_AT = 22.0, 240.0
_MOST_DOTS = 60
_DECADE = 10.0
# Of the values' range, and of their size: equal values need an axis too.
_MARGIN, _LEAST_MARGIN = 0.06, 0.02
# Under a class of its own, lest the colours reach other drawings of a page that takes this one in.
_STYLE = """
.learning text { fill: #1b1f24; font: 12px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
.learning text.heading { font-size: 14px; font-weight: 600; }
.learning text.tick, .learning text.title { fill: #5d6671; }
.learning .ground { fill: #ffffff; }
.learning .line, .learning .dots { fill: none; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
.learning .line.grid { stroke: #e9ecf0; stroke-width: 1; }
.learning .line.best { stroke-width: 1; stroke-dasharray: 5 4; stroke-linecap: butt; }
.learning .line.mean { stroke-dasharray: 6 4; }
.learning .dots { stroke-width: 4.5; }
.learning .dots.best { stroke-width: 8; }
.learning .loss { stroke: #00835f; }
.learning .median { stroke: #0072b2; }
.learning .mean { stroke: #d98f00; }
.learning .best { stroke: #1b1f24; }
"""


@runtime_checkable
class EpochResult(Protocol):
    """What an epoch came to; training has such records, which bring torch with them."""

    @property
    def number(self) -> int:
        """Counted from 1."""
        ...

    @property
    def loss(self) -> float:
        """Mean over the training frames."""
        ...

    @property
    def median(self) -> float:
        """Validation error, metres."""
        ...

    @property
    def mean(self) -> float:
        """Validation error, metres."""
        ...


def draw_learning_curve(history: Sequence[EpochResult], title: str) -> str:
    """A drawing with two panels over the same epochs; the best epoch, the first with the least median, is marked."""
    if not history:
        raise ValueError("a learning curve needs at least one epoch")
    numbers = np.array([epoch.number for epoch in history], dtype=float)
    losses, medians, means = (
        np.array(values, dtype=float)
        for values in zip(*((epoch.loss, epoch.median, epoch.mean) for epoch in history), strict=True)
    )
    best = int(medians.argmin())
    x = LinearScale(numbers[0] - 0.5, numbers[-1] + 0.5, (_LEFT, _RIGHT), min(10, len(history)))
    upper, lower = _choose_axis(losses, _UPPER), _choose_axis(np.concatenate([medians, means]), _LOWER)
    pixels = x(numbers)
    parts = [
        label(_LEFT, _TITLE_AT, title, role="heading"),
        axes(x, upper, ("", "training loss")),
        axes(x, lower, ("epoch", "validation error, m")),
        *(line(np.array([[pixels[best], bottom], [pixels[best], top]]), "best") for bottom, top in (_UPPER, _LOWER)),
        *_draw_track(pixels, upper(losses), "loss"),
        *_draw_track(pixels, lower(means), "mean"),
        *_draw_track(pixels, lower(medians), "median"),
        dots(np.column_stack([pixels, lower(medians)])[best : best + 1], "best"),
        legend(_list_keys(history[best]), _LEFT, _LEGEND_AT),
    ]
    described = "Training loss and validation error in metres, median and mean, of each epoch; the best one is marked."
    return _draw_file(title, described, parts)


def _choose_axis(values: Float[np.ndarray, " n"], pixels: tuple[float, float]) -> Scale:
    """Whole decades if the values span more than one; else, or where a learned weight makes a loss negative, linear."""
    lowest, highest = float(values.min()), float(values.max())
    if lowest > 0 and highest > _DECADE * lowest:
        return LogarithmicScale(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)), pixels)
    margin = max(_MARGIN * (highest - lowest), _LEAST_MARGIN * max(abs(lowest), abs(highest))) or 1.0
    return LinearScale(lowest - margin, highest + margin, pixels, 6)


def _draw_track(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], role: str) -> list[str]:
    """A line and, while they stay apart, a dot for each epoch."""
    points = np.column_stack([x, y])
    return [line(points, role), *([dots(points, role)] if len(points) <= _MOST_DOTS else [])]


def _list_keys(best: EpochResult) -> list[Key]:
    chosen = f"best epoch {best.number}: median {best.median:.2f} m, mean {best.mean:.2f} m"
    return [Key("line", "median", "median"), Key("line", "mean", "mean"), Key("line", "best", chosen)]


def _draw_file(title: str, description: str, parts: Sequence[str]) -> str:
    root: dict[str, str | float] = {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": _WIDTH,
        "height": _HEIGHT,
        "viewBox": f"0 0 {tenths(_WIDTH)} {tenths(_HEIGHT)}",
        "role": "img",
        "aria-label": title,
    }
    head = [
        element("title", {}, escape(title)),
        element("desc", {}, escape(description)),
        element("style", {}, _STYLE),
    ]
    ground = rectangle((0.0, _WIDTH), (0.0, _HEIGHT), "ground")
    return element("svg", root, *head, element("g", {"class": "learning"}, ground, *parts)) + "\n"
