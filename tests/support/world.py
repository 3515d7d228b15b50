"""A home with everything that the pages name, made up and small: drives, bags, a flight, runs, weights.

The drives go along a rough wall, two metres a frame, so that an estimate can be right or wrong.
"""

import json
import os
import shutil
from contextlib import chdir
from pathlib import Path

import cv2
import numpy as np

from bags import ODOMETRY, THERMAL, image, odometry, written
from commandline import command
from tmapr.artifacts.images import write_frame

COUNT, HEIGHT, WIDTH, STEP = 16, 128, 160, 24
START = 1_628_215_174_691_250_698
TENTH = 100_000_000
LOOKS = {"noon": (300, 3500, 1), "dusk": (180, 3200, 2), "night": (90, 2900, 3)}
"""Contrast, level and seed of the noise of each drive's images."""

ALSO = {
    "noon": ("noon-there", "front", "rear", "1", "proving/campus-1/day"),
    "dusk": ("noon-back", "2", "3", "proving/campus-1/other"),
    "night": ("4", "evening-1", "evening-2", "proving/campus-1/night"),
}
"""Other names under which the pages have a drive."""

STREET = """name = "street"
data = { root = "data", train = ["noon"], validation = ["dusk"], reference = "noon", test = ["night"] }
training = { epochs = 1 }
"""


def make_world(home: Path) -> Path:
    """Everything that is not the checkout's own."""
    for name, look in LOOKS.items():
        write_drive(home / "data" / name, walk(*look))
        for other in ALSO[name]:
            copy_linked(home / "data" / name, home / "data" / other)
    write_bag(home / "morning.bag", walk(*LOOKS["noon"]))
    for name in ("evening", "patrol"):
        write_bag(home / f"{name}.mcap", walk(*LOOKS["night"]))
    write_video(home / "patrol.mkv", walk(*LOOKS["night"]))
    write_flight(home / "flight/thermal", home / "flight/timestamps.csv", home / "flight/gps.json")
    hawk = home / "pvhawk_gps"
    write_flight(hawk / "radiometric", hawk / "timestamps.csv", hawk / "gps/gps.json")
    write_weights(home / "weights/dino_salad.ckpt")
    write_runs(home)
    write_field(home)
    return home


def copy_linked(source: Path, target: Path) -> None:
    """A copy whose large files cost no bytes: the commands replace files and never write into them."""
    shutil.copytree(source, target, copy_function=_link_or_copy, symlinks=True, dirs_exist_ok=True)


def _link_or_copy(source: str, target: str) -> None:
    copy = shutil.copy2 if source.endswith((".toml", ".csv", ".json", ".py", ".md")) else os.link
    copy(source, target)


def walk(contrast: int, level: int, seed: int) -> list[np.ndarray]:
    """Counts along the wall."""
    rng, wide = np.random.default_rng(41), (HEIGHT, WIDTH + COUNT * STEP)
    rough = [cv2.resize(rng.normal(size=(wide[0] // cell, wide[1] // cell)), wide[::-1]) for cell in (32, 16, 8)]
    wall = level + contrast * np.sum(rough, axis=0) + np.random.default_rng(seed).normal(0, 4, wide)
    counts = wall.clip(0, 16382).astype(np.uint16)
    return [np.ascontiguousarray(counts[:, row * STEP : row * STEP + WIDTH]) for row in range(COUNT)]


def write_drive(folder: Path, images: list[np.ndarray]) -> None:
    """Images and frames.csv as docs/data.md shows them."""
    lines = ["stamp,file,x,y"]
    for row, counts in enumerate(images):
        write_frame(folder / f"images/{row:02}.png", counts)
        lines.append(f"{START + row * TENTH},images/{row:02}.png,{2.0 * row},5.0")
    (folder / "frames.csv").write_text("\n".join(lines) + "\n")


def write_flight(images: Path, stamps: Path, fixes: Path) -> None:
    """TIFF files, their ISO stamps, and a JSON list of fixes."""
    for folder in (images, stamps.parent, fixes.parent):
        folder.mkdir(parents=True, exist_ok=True)
    for row, counts in enumerate(walk(*LOOKS["noon"])[:5]):
        cv2.imwrite(str(images / f"frame_{row:06}.tiff"), counts)
    stamps.write_text("".join(f"2021-10-11T10:31:{36 + row / 10:.1f}\n" for row in range(5)))
    fixes.write_text(json.dumps([[10.18 + row * 1e-5, 49.6, 100.0] for row in range(5)]))


def write_video(path: Path, images: list[np.ndarray]) -> None:
    """16-bit gray without loss, and the table beside it."""
    options = [cv2.VIDEOWRITER_PROP_IS_COLOR, 0, cv2.VIDEOWRITER_PROP_DEPTH, cv2.CV_16U]
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter.fourcc(*"FFV1"), 10, (WIDTH, HEIGHT), options)
    for counts in images:
        writer.write(counts)
    writer.release()
    rows = [f"{START + row * TENTH},{2.0 * row},5.0" for row in range(len(images))]
    path.with_suffix(".csv").write_text("\n".join(["stamp,x,y", *rows]) + "\n")


def write_bag(path: Path, images: list[np.ndarray]) -> None:
    """A ROS 1 bag or an MCAP file, by its name: images, and where each was taken."""
    entries = []
    for row, counts in enumerate(images):
        time = START + row * TENTH
        entries += [(ODOMETRY, time, odometry(2.0 * row, 5.0, 0.0, speed=20.0)), (THERMAL, time, image(counts))]
    if path.suffix == ".bag":
        written(path, "bag", entries)
        return
    folder = written(path.with_suffix(".recorded"), "mcap", entries)
    next(folder.glob("*.mcap")).rename(path)
    shutil.rmtree(folder)


def write_runs(home: Path) -> None:
    """street.toml, which trains in seconds, and three finished runs of it: one by the paper's method."""
    (home / "street.toml").write_text(STREET)
    with chdir(home):
        for typed in ("map street.toml", "run street.toml", "evaluate runs/street"):
            assert command(*typed.split(), "--quiet") == 0
        for name in ("demo", "other"):
            shutil.copytree("runs/street", f"runs/{name}", symlinks=True)
        copy_linked(Path("data/night"), Path("runs/demo/data/night"))  # as `tmapr demo` keeps them
        paper = ("--run", "runs/other", "--set", "tracking.method=paper", "--quiet")
        assert command("run", "street.toml", *paper) == 0


def write_field(home: Path) -> None:
    """The same drives with longitude and latitude in place of metres, and a run of them; nothing is encoded again."""
    for name in ("noon", "night"):
        copy_linked(home / "data" / name, home / "field" / name)
        table = home / "field" / name / "frames.csv"
        _, *lines = table.read_text().splitlines()
        cells = [line.split(",")[:2] for line in lines]
        rows = [f"{stamp},{file},{127.36 + row * 2.2e-5:.7f},36.37" for row, (stamp, file) in enumerate(cells)]
        table.write_text("\n".join(["stamp,file,lon,lat", *rows]) + "\n")
    shutil.copytree(home / "runs/street/percepts", home / "runs/field/percepts")
    (home / "field.toml").write_text(
        'name = "field"\ndata = { root = "field", reference = "noon", test = ["night"] }\n'
    )
    with chdir(home):
        for verb in ("map", "run"):
            assert command(verb, "field.toml", "--quiet") == 0


def write_weights(path: Path) -> None:
    """A DINOv2 with a SALAD head as its authors publish it, but for the widths."""
    import torch

    from tmapr.perception.salad import Salad
    from tmapr.perception.vit import VisionTransformer

    width = 128
    encoder, head = VisionTransformer(width, 2, 2), Salad(width, clusters=5, cluster_dim=6, token_dim=7, hidden=16)
    tensors = {f"backbone.model.{name}": each for name, each in encoder.state_dict().items()}
    path.parent.mkdir()
    torch.save(tensors | {f"aggregator.{name}": each for name, each in head.state_dict().items()}, path)
