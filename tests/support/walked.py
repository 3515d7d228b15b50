"""A short walk along a wall in image files, for tests of what happens when they change."""

import os
import re

import cv2
import numpy as np

from tmapr.artifacts.images import write_frame

COUNT, SHAPE, STEP = 16, (64, 80), 20
WALK = """name = "walk"
data = { root = "ROOT", reference = "noon", test = ["night"], adapt = [ADAPT] }
places = { projection = { dimension = 32 }, mixture = { dimension = 4 } }
"""


def write_walk(home, adapt=()):
    """Sequences noon and night under home/data, and walk.toml."""
    for name, contrast in (("noon", 300), ("night", 120), *((each, 200) for each in adapt)):
        for row in range(COUNT):
            write_frame(home / f"data/{name}/{row:02}.png", view(row, contrast))
        write_list(home / "data" / name, range(COUNT))
    adapted = ", ".join(f'"{name}"' for name in adapt)
    (home / "walk.toml").write_text(WALK.replace("ROOT", str(home / "data")).replace("ADAPT", adapted))
    return home


def view(row, contrast=300, seed=41):
    """The counts two metres farther along the wall than the row before; no two images are the same."""
    rng = np.random.default_rng(seed)
    long = (SHAPE[0], SHAPE[1] + 40 * STEP)
    wall = sum(cv2.resize(rng.normal(size=(long[0] // cell, long[1] // cell)), long[::-1]) for cell in (32, 16, 8))
    noise = np.random.default_rng(1000 * contrast + row).normal(0, 3, SHAPE)
    return (3500 + contrast * wall[:, row * STEP : row * STEP + SHAPE[1]] + noise).astype(np.uint16)


def write_list(folder, rows, shift=0.0):
    """frames.csv with a line for each row; their positions are moved by `shift` metres."""
    lines = [f"{10**18 + row * 10**8},{row:02}.png,{2.0 * row + shift},5.0" for row in rows]
    (folder / "frames.csv").write_text("\n".join(["stamp,file,x,y", *lines]) + "\n")


def blacken(image):
    """Other content, with the size and the time stamp of the old: whoever reads it is found out."""
    known = image.stat()
    image.write_bytes(bytes(known.st_size))
    os.utime(image, ns=(known.st_atime_ns, known.st_mtime_ns))


def without_times(text):
    """errors.json or provenance.json without what a clock said."""
    return re.sub(r'"(p50|p95|max)": [^,\n]+', "", text)
