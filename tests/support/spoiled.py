"""A drive past a wall in which all goes wrong that can."""

from functools import partial

import cv2
import numpy as np

from tmapr.artifacts.images import read_image, write_frame
from tmapr.types import Frame


def views(rng, count, shape=(96, 128)):
    """Of a wall that is passed by."""
    wall = cv2.GaussianBlur(rng.normal(size=(shape[0], shape[1] + 5 * count)), (0, 0), 1.5)
    return [(3500 + 1000 * wall[:, 5 * row : 5 * row + shape[1]]).astype(np.uint16) for row in range(count)]


def write_spoiled_drive(folder, rng):
    """Files of 61 frames: torn, missing, frozen, empty, saturated, 8-bit and smaller ones, also at edges of chunks."""
    images = views(rng, 61)
    for row in (7, 8, 25, 26):
        images[row] = images[6 if row < 10 else 24]
    images[15], images[33] = np.full_like(images[0], 3500), np.full_like(images[0], 65535)
    for row in range(40, 50):
        images[row] = images[row][:80, :100]
    for row in (47, 48, 55):
        images[row] = (images[row] >> 6).astype(np.uint8)
    frames = []
    for row, counts in enumerate(images):
        file = folder / f"{row:02}.png"
        write_frame(file, counts)
        frames.append(Frame("drive", row, 1000 + row, partial(read_image, file), file=file))
    for row in (3, 16, 17, 24, 56):
        content = frames[row].file.read_bytes()
        frames[row].file.write_bytes(content[: len(content) // 2])
    frames[31].file.unlink()
    return frames
