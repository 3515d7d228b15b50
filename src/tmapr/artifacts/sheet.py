"""A contact sheet: pictures of one width in rows, a caption under each."""

from collections.abc import Sequence

import cv2
import numpy as np
from jaxtyping import UInt8

from tmapr.artifacts.images import Picture
from tmapr.artifacts.letters import shorten, write

_BACKGROUND = 24
_INK = (225, 225, 225)
_GAP = 8
_LINE = 17
_SIZE = 14.0

Thumbnail = tuple[str, Picture]


def draw_contact_sheet(cells: Sequence[Thumbnail], columns: int, width: int) -> UInt8[np.ndarray, "height total 3"]:
    """The pictures at `width` pixels each, `columns` to a row; a caption may have several lines."""
    if not cells or columns < 1 or width < 1:
        raise ValueError(f"a sheet needs cells, columns and a width, got {len(cells)}, {columns} and {width}")
    drawn = [_draw(caption, picture, width) for caption, picture in cells]
    rows = [_join_row(drawn[first : first + columns], columns, width) for first in range(0, len(drawn), columns)]
    return np.pad(np.vstack(rows), ((_GAP, 0), (_GAP, 0), (0, 0)), constant_values=_BACKGROUND)


def _draw(caption: str, picture: Picture, width: int) -> UInt8[np.ndarray, "height {width} 3"]:
    height = max(round(picture.shape[0] * width / picture.shape[1]), 1)
    # Averaging is right only for shrinking: enlarged, it would show blocks that are not in the picture.
    method = cv2.INTER_AREA if width < picture.shape[1] else cv2.INTER_LINEAR
    scaled = cv2.resize(picture, (width, height), interpolation=method)
    colours = scaled if scaled.ndim == 3 else cv2.cvtColor(scaled, cv2.COLOR_GRAY2RGB)
    lines = caption.splitlines()
    strip = np.full((_LINE * len(lines) + _GAP, width, 3), _BACKGROUND, np.uint8)
    for number, line in enumerate(lines, start=1):
        write(strip, shorten(line, width, _SIZE), (0, _LINE * number - 2), _SIZE, _INK)
    return np.vstack([colours, strip])


def _join_row(
    cells: Sequence[UInt8[np.ndarray, "_ {width} 3"]], columns: int, width: int
) -> UInt8[np.ndarray, "height total 3"]:
    height = max(len(cell) for cell in cells)
    row = np.full((height + _GAP, columns * (width + _GAP), 3), _BACKGROUND, np.uint8)
    for column, cell in enumerate(cells):
        left = column * (width + _GAP)
        row[: len(cell), left : left + width] = cell
    return row
