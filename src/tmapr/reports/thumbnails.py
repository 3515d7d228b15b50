"""A contact sheet of recordings: evenly spaced frames of each, whether they can be used or not."""

from collections.abc import Iterable, Iterator
from math import ceil
from pathlib import Path

import numpy as np

from tmapr.artifacts.images import write_png
from tmapr.artifacts.sheet import Thumbnail, draw_contact_sheet
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.perception.image import Image
from tmapr.types import Fault

_THUMBNAILS, _COLUMNS, _WIDTH = 12, 6, 224


def write_sheet(path: Path, sequences: Iterable[Sequence]) -> None:
    """A contact sheet of all the sequences."""
    cells = [cell for sequence in sequences for cell in draw_thumbnails(sequence)]
    if not cells:
        raise InputError(f"{path}: no sequence holds a frame to show")
    write_png(path, draw_contact_sheet(cells, _COLUMNS, _WIDTH))


def draw_thumbnails(sequence: Sequence) -> Iterator[Thumbnail]:
    """Evenly spaced frames, stretched; a black one where there is no picture, with the reason."""
    stretch = Image(clip_limit=0.0)
    for frame in sequence[:: max(ceil(len(sequence) / _THUMBNAILS), 1)]:
        caption = f"{sequence.name} {frame.index}"
        try:
            counts = frame.image()
            picture = stretch.prepare(counts, counts.shape)
        except InputError:
            picture = Fault.INVALID
        if isinstance(picture, Fault):
            yield f"{caption}: {picture}", np.zeros((3 * _WIDTH // 4, _WIDTH), np.uint8)
        else:
            yield caption, picture
