"""The similarity matrix: queries upward against references rightward as shades, with the truth and the matches.

The shades are one 8-bit picture whatever the lengths of the two traverses: of the values that share a pixel the highest
is kept, since it is the one that a search would find.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from tmapr.reports.drawing.lines import keep_bends, keep_distinct
from tmapr.reports.drawing.markup import element
from tmapr.reports.drawing.pictures import encode_png
from tmapr.reports.drawing.scale import LinearScale
from tmapr.reports.drawing.svg import HALF, Key, axes, dots, drawing, label, legend, line, lines, place_ticks, window

_LEFT, _RIGHT, _TOP = 78.0, HALF - 88.0, 30.0
_TALLEST, _SHORTEST = 420.0, 200.0
_LEGEND_BELOW, _END_BELOW = 60.0, 72.0
_SCALE_AT, _SCALE_WIDTH = _RIGHT + 22.0, 14.0
_MOST = 400
_PERCENTILES = (5.0, 99.9)
_WHITE = 255
_LEAST_RANGE = 1e-6
# What the truth may move from one query to the next and still be one line, in pixels or, where that is more, in frames.
_STEP, _FRAMES = 12.0, 3


@dataclass(frozen=True, slots=True)
class Pairs:
    """Queries and the reference that each has: rows and columns of the matrix."""

    rows: Int[np.ndarray, " n"]
    columns: Int[np.ndarray, " n"]


def draw_similarity_matrix(
    name: str, similarities: Float[np.ndarray, "queries refs"], *, matches: Pairs, nearest: Pairs
) -> str:
    """Every similarity as a shade, the true nearest references as a thin line, the chosen matches as dots."""
    if not similarities.size or not np.isfinite(similarities).all():
        raise ValueError(f"similarities must be finite and at least one, got a shape of {similarities.shape}")
    queries, refs = similarities.shape
    low, high = _find_range(similarities)
    tall = float(np.clip((_RIGHT - _LEFT) * queries / refs, _SHORTEST, _TALLEST))
    # Half a frame around, so that a tick stands at the middle of its frame's row or column.
    x = LinearScale(-0.5, refs - 0.5, (_LEFT, _RIGHT), 5)
    y = LinearScale(-0.5, queries - 0.5, (_TOP + tall, _TOP), max(2, round(tall / 60)))
    keys = [Key("dot", "match", f"matches: {len(matches.rows)}")]
    keys += [Key("line", "nearest", "true nearest reference")] if len(nearest.rows) else []
    marks = [
        _draw_shades(x, y, similarities, (low, high)),
        dots(keep_distinct(_locate(x, y, matches)), "match"),
        _draw_truth(x, y, nearest),
    ]
    parts = [
        axes(x, y, ("reference, frames", "frame of the drive")),
        window(x.pixels, (_TOP, _TOP + tall), marks),
        legend(keys, _LEFT, _TOP + tall + _LEGEND_BELOW, HALF),
        _draw_scale(LinearScale(low, high, y.pixels, 6)),
    ]
    described = (
        f"Cosine of {queries} queries with {refs} references, from {low:.3f} (black) to {high:.3f} (white); what lies"
        " beyond is drawn as these."
    )
    return drawing(_TOP + tall + _END_BELOW, f"Similarity matrix of {name}", described, parts, HALF)


def _find_range(similarities: Float[np.ndarray, "queries refs"]) -> tuple[float, float]:
    """From black to white: one odd frame must not take the shades from all others."""
    low, high = np.percentile(similarities, _PERCENTILES).tolist()
    return low, max(high, low + _LEAST_RANGE)


def _thin(
    similarities: Float[np.ndarray, "queries refs"], blocks: tuple[int, int]
) -> Float[np.ndarray, "rows columns"]:
    """The highest value of each block; the last row and column of blocks may be smaller."""
    for axis, block in enumerate(blocks):
        similarities = np.maximum.reduceat(similarities, np.arange(0, similarities.shape[axis], block), axis=axis)
    return similarities


def _draw_shades(
    x: LinearScale, y: LinearScale, similarities: Float[np.ndarray, "queries refs"], ends: tuple[float, float]
) -> str:
    queries, refs = similarities.shape
    blocks = -(-queries // _MOST), -(-refs // _MOST)
    thin = _thin(similarities, blocks)
    shares = np.clip((thin - ends[0]) / (ends[1] - ends[0]), 0.0, 1.0)
    rows, columns = thin.shape
    # Whole blocks, so that each stands over its own frames; the window cuts what the last have too much.
    left, right = x(np.array([-0.5, columns * blocks[1] - 0.5])).tolist()
    bottom, top = y(np.array([-0.5, rows * blocks[0] - 0.5])).tolist()
    # Query 0 is the first row of the matrix, and the lowest of the figure.
    return _draw_image(np.round(shares[::-1] * _WHITE).astype(np.uint8), (left, right), (top, bottom))


def _draw_image(shades: UInt8[np.ndarray, "h w"], x: tuple[float, float], y: tuple[float, float]) -> str:
    place: dict[str, str | float] = {"x": x[0], "y": y[0], "width": x[1] - x[0], "height": y[1] - y[0]}
    look = {"class": "shades", "preserveAspectRatio": "none", "image-rendering": "pixelated"}
    return element("image", {**look, **place, "href": encode_png(shades)})


def _locate(x: LinearScale, y: LinearScale, pairs: Pairs) -> Float[np.ndarray, "n 2"]:
    return np.column_stack([x(pairs.columns.astype(float)), y(pairs.rows.astype(float))])


def _draw_truth(x: LinearScale, y: LinearScale, nearest: Pairs) -> str:
    """Broken where a loop ends and where queries have no reference near."""
    points = _locate(x, y, nearest)
    frames = np.maximum(np.abs(np.diff(nearest.columns)), np.abs(np.diff(nearest.rows)))
    pixels = np.abs(np.diff(points, axis=0)).max(axis=1, initial=0.0)
    parts = np.split(points, np.flatnonzero((pixels > _STEP) & (frames > _FRAMES)) + 1)
    return lines([keep_bends(part) for part in parts if len(part)], "nearest")


def _draw_scale(shade: LinearScale) -> str:
    """The shades beside the numbers that they stand for."""
    bottom, top = shade.pixels
    left, right = _SCALE_AT, _SCALE_AT + _SCALE_WIDTH
    frame = np.array([[left, top], [right, top], [right, bottom], [left, bottom], [left, top]])
    shades = np.arange(_WHITE, -1, -1, dtype=np.uint8)[:, None]
    parts = [_draw_image(shades, (left, right), (top, bottom)), line(frame, "axis")]
    for words, place in place_ticks(shade):
        parts.append(line(np.array([[right, place], [right + 4, place]]), "axis"))
        parts.append(label(right + 8, place + 4, words, role="tick"))
    return "".join([*parts, label(left, top - 10, "cosine", role="title")])
