"""Images for the made-up block: each tells by its blocks, bright or dark, which sequence and which row it is of."""

import base64

import cv2
import numpy as np

from commandline import command
from made_up import run_block, write_block
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder

NAMES = ("noon", "night")
BLOCKS, SIDE = (4, 5), 16


def filmed_run(home):
    """A finished run whose images of reference and test lie under home/data; its folder."""
    write_block(home, size=60.0)
    folder = RunFolder(home / "runs/block")
    file = home / "block.toml"
    file.write_text(file.read_text().replace("[data]\n", f'[data]\nroot = "{home / "data"}"\n'))
    for name in NAMES:
        film(home / "data" / name, name, Recording.load(folder.percepts(name)).stamps)
    return run_block(home)


def evaluated_run(home):
    """The folder of such a run, evaluated once and not for every film."""
    made = filmed_run(home).path
    assert command("evaluate", made, "--quiet") == 0
    return made


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


def decoded(uri):
    """The picture inside a data URI."""
    head, content = uri.split(",")
    assert head == "data:image/jpeg;base64"
    return cv2.imdecode(np.frombuffer(base64.b64decode(content), np.uint8), cv2.IMREAD_UNCHANGED)
