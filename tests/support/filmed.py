"""Images each of which tells by its blocks, bright or dark, which sequence and which row it is of."""

import numpy as np

from tmapr.artifacts.images import write_frame

NAMES = ("noon", "night")
BLOCKS, SIDE = (4, 5), 16


def film(directory, name, stamps):
    """A sequence of images with these stamps."""
    lines = ["stamp,file\n"]
    for row, stamp in enumerate(stamps.tolist()):
        write_frame(directory / f"{row:06d}.png", counts_of(name, row))
        lines.append(f"{stamp},{row:06d}.png\n")
    (directory / "frames.csv").write_text("".join(lines))


def counts_of(name, row):
    """The bits of twice the row, plus which sequence it is; then their opposites, so that every image has contrast."""
    code = 2 * row + NAMES.index(name)
    bits = [code >> place & 1 for place in range(10)]
    blocks = np.array([*bits, *(1 - bit for bit in bits)], dtype=np.uint16).reshape(BLOCKS)
    return 21000 + 800 * np.kron(blocks, np.ones((SIDE, SIDE), dtype=np.uint16)).astype(np.uint16)


def seen_in(picture):
    """The sequence and the row that a picture of any size shows."""
    centres = ((np.arange(count) + 0.5) * size / count for size, count in zip(picture.shape, BLOCKS, strict=True))
    bits = (picture[np.ix_(*(centre.astype(int) for centre in centres))].ravel() > 127)[:10]
    code = int((bits << np.arange(10)).sum())
    return NAMES[code % 2], code // 2
