"""The recording that comes with the package, made anew: a lap of 130 m through a rendered city, at noon and at night.

`python benchmarks/sample.py` writes src/tmapr/data/street. Pictures are 8-bit gray as a camera's video output has them,
stretched once for a whole drive, in JPEG: half the size of PNG at half the resolution, and localized as well.
"""

import argparse
import shutil
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from tmapr.artifacts.atomic import write_text
from tmapr.cli.simulate import parse_traverses
from tmapr.data.coordinates import to_degrees
from tmapr.data.folder import LIST
from tmapr.data.sample import locate_sample
from tmapr.data.sequence import Sequence
from tmapr.simulation.record import FRAMES, Plan, film

SEED, FRAME_COUNT, LENGTH = 1, 70, 160.0
QUALITY = 80
"""Of JPEG: 5 kB a picture."""
ENDS = (0.1, 99.9)
"""Percentiles of a drive's counts that become black and white."""


def film_drives() -> Iterator[Sequence]:
    """Noon and night, with positions on Earth; the street itself is made up, and is nowhere."""
    plan = Plan(layout="folder", seed=SEED, length=LENGTH)
    world, texture = plan.build_world(), plan.make_texture()
    for traverse in parse_traverses("noon,night", SEED, FRAME_COUNT):
        yield film(world, traverse, plan.camera, texture, FRAMES["ms2"])


def write_drive(folder: Path, drive: Sequence) -> None:
    """A folder of ours: images and, with stamps and degrees to a millimetre, their list."""
    frames = list(drive)
    counts = np.stack([frame.image() for frame in frames]).astype(float)
    black, white = np.percentile(counts, ENDS)
    gray = np.clip(np.rint(255 * (counts - black) / (white - black)), 0, 255).astype(np.uint8)
    lines = ["stamp,file,lon,lat"]
    (folder / "images").mkdir(parents=True)
    for frame, picture in zip(frames, gray, strict=True):
        name = f"images/{frame.index:02d}.jpg"
        _, encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        (folder / name).write_bytes(encoded.tobytes())
        lon, lat = to_degrees(np.stack([frame.position]), drive.frame)[0]
        lines.append(f"{frame.stamp},{name},{lon:.8f},{lat:.8f}")
    write_text(folder / LIST, "".join(f"{line}\n" for line in lines))


def write_sample(out: Path) -> None:
    """Both drives, each as a folder in `out`."""
    for drive in film_drives():
        shutil.rmtree(out / drive.name, ignore_errors=True)
        write_drive(out / drive.name, drive)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=locate_sample())
    out = parser.parse_args().out
    write_sample(out)
    print(f"{out}: {sum(file.stat().st_size for file in out.rglob('*.*')) / 1000:.0f} kB")
