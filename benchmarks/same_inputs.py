"""What `same_results.py` runs on: a small rendered city, driven at noon, dusk and night, in every container.

The night leaves the mapped streets for a while, so that statuses vary. Everything follows from seeds; the city is drawn
by `tmapr simulate`, and what it drew is itself compared.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from bags import ODOMETRY, THERMAL, fix, image, odometry, written

FRAMES, FEWER = 48, 24
CITY = ("--family", "city", "--length", "200", "--quiet")
CAMPUS = ("--family", "campus", "--length", "100", "--traverses", "noon,night", "--quiet")
GPS = "/gps/fix"
METRES = np.array([89_500.0, 110_900.0])
"""In a degree of longitude and of latitude, about, where the city is said to stand."""
CORNER = np.array([127.36, 36.37])

TRAINING = """
[training]
epochs = 8
batch = 16
learning_rate = 1e-3
"""
PAPER = """
[places]
weight = 1.0
unscented = { on_sphere = false }
[retrieval]
trusted_leverage = 1e6
class_weight = 0.0
likelihood_weight = 0.3
grouped = true
[tracking]
method = "paper"
gates = { max_speed = 1e6, expiry = 1e6, recovery = 1000000 }
[fusion]
noise = "paper"
max_gap = 1e6
max_semi_axis = 1e6
"""
"""As experiments/paper/method.toml, but with the shipped encoder and the threshold that belongs to it."""


@dataclass(frozen=True, slots=True)
class Drive:
    """Sixteen-bit images, stamps in nanoseconds, and x, y, heading."""

    images: list[np.ndarray]
    stamps: list[int]
    poses: np.ndarray

    def part(self, rows: slice) -> "Drive":
        """Some of the frames."""
        return Drive(self.images[rows], self.stamps[rows], self.poses[rows])

    @property
    def gray(self) -> list[np.ndarray]:
        """The images in eight bits, on one scale."""
        low, high = min(map(np.min, self.images)), max(map(np.max, self.images))
        return [((each.astype(float) - low) * (255 / (high - low))).astype(np.uint8) for each in self.images]

    @property
    def motion(self) -> np.ndarray:
        """Forward speed and yaw rate at each frame."""
        seconds = np.gradient(np.array(self.stamps, dtype=float) / 1e9)
        paces = np.hypot(*np.gradient(self.poses[:, :2], axis=0).T)
        return np.column_stack([paces, np.gradient(np.unwrap(self.poses[:, 2]))]) / seconds[:, None]


@dataclass(frozen=True, slots=True)
class Case:
    """An experiment: its sequences, whose data they are of, what else its file says, and options of `run`.

    One with a root begins with a copy of the root's run folder, or of another one.
    """

    data: str = 'reference = "noon", test = ["night"]'
    root: str | None = None
    layout: str = "folder"
    settings: str = ""
    options: tuple[str, ...] = ()
    begun: str | None = None
    trains: bool = False


TRAINED = 'reference = "noon", train = ["noon"], validation = ["dusk"], test = ["night"]'
STEREO = 'reference = "noon/left", test = ["night/left"]'
CASES = {
    "png16": Case(),
    "png8": Case(),
    "tiff": Case(),
    "jpeg": Case(),
    "mcap": Case(layout="bag"),
    "ros1": Case(layout="bag"),
    "video": Case(),
    "ms2": Case(STEREO, layout="ms2"),
    "sthereo": Case(STEREO, layout="sthereo"),
    "odometry": Case(),
    "several": Case('reference = ["noon", "dusk"], test = ["night"]', "png16"),
    "labels": Case(
        'reference = "noon", adapt = ["dusk"], test = ["night"]',
        "png16",
        options=("--learn", "truth", "--label-delay", "5"),
    ),
    "fused": Case('reference = "noon", test = ["dusk", "night"]', "png16", options=("--learn", "fused")),
    "eight": Case(root="png16", settings="[retrieval]\ncandidates = 8\n"),
    "head": Case(TRAINED, "png16", settings=TRAINING, trains=True),
    "paper": Case(TRAINED, "png16", settings=TRAINING + PAPER, options=("--align-apr", "oracle"), begun="head"),
}


def write_experiments(home: Path) -> None:
    """CASE.toml for each case; its data are in data/CASE, or in those of its root."""
    for name, case in CASES.items():
        data = f'data = {{ layout = "{case.layout}", root = "data/{case.root or name}", {case.data} }}'
        (home / f"{name}.toml").write_text(f'name = "{name}"\n{data}\n{case.settings}')


def write_recordings(home: Path, command: Callable[..., str]) -> dict[str, Drive]:
    """Draw the city and write it in every container, under home/data; its whole drives, by name."""
    data = home / "data"
    names = ("noon", "dusk", "night")
    traverses = ("--traverses", ",".join(names), "--detour", "night", "--frames", str(FRAMES))
    command("simulate", data / "city", "--layout", "folder", *traverses, *CITY)
    for layout in ("ms2", "sthereo"):
        command("simulate", data / layout, "--layout", layout, "--frames", str(FEWER), *CAMPUS)
    drives = {name: read_drive(data / "city" / name) for name in names}
    for name, drive in drives.items():
        write_folder(data / "png16" / name, ".png", drive.images, drive)
    for name in ("noon", "night"):
        write_containers(data, name, drives[name].part(slice(FEWER)))
    return drives


def read_drive(folder: Path) -> Drive:
    """A drive as `tmapr simulate` wrote it."""
    rows = list(csv.DictReader((folder / "frames.csv").read_text().splitlines()))
    images = [cv2.imread(str(folder / row["file"]), cv2.IMREAD_UNCHANGED) for row in rows]
    poses = np.array([[float(row[name]) for name in ("x", "y", "heading")] for row in rows])
    return Drive(images, [int(row["stamp"]) for row in rows], poses)


def write_containers(data: Path, name: str, drive: Drive) -> None:
    """A drive in every container but those of whole data sets."""
    write_folder(data / "png8" / name, ".png", drive.gray, drive)
    write_folder(data / "tiff" / name, ".tiff", drive.images, drive)
    write_folder(data / "jpeg" / name, ".jpg", drive.gray, drive)
    write_folder(data / "odometry" / name, ".png", drive.images, drive, with_motion=True)
    write_bags(data, name, drive)
    write_video(data / "video" / name, drive)


def write_folder(
    folder: Path, suffix: str, images: list[np.ndarray], drive: Drive, *, with_motion: bool = False
) -> None:
    """Image files and frames.csv."""
    folder.mkdir(parents=True)
    files = [f"{row:03}{suffix}" for row in range(len(images))]
    for file, each in zip(files, images, strict=True):
        cv2.imwrite(str(folder / file), each)
    write_table(folder / "frames.csv", drive, {"file": files}, with_motion=with_motion)


def write_table(path: Path, drive: Drive, others: dict[str, list[str]], *, with_motion: bool = False) -> None:
    """When and where each frame was taken and, if asked for, how the vehicle moved."""
    columns: dict[str, list] = {"stamp": drive.stamps, **others}
    columns |= dict(zip(("x", "y", "heading"), drive.poses.T.tolist(), strict=True))
    if with_motion:
        columns |= dict(zip(("speed", "yaw_rate"), drive.motion.T.tolist(), strict=True))
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([tuple(columns), *zip(*columns.values(), strict=True)])


def write_bags(data: Path, name: str, drive: Drive) -> None:
    """An MCAP bag with odometry, and a ROS 1 bag with fixes."""
    moving, still = [], []
    for each, stamp, pose, moved in zip(drive.images, drive.stamps, drive.poses, drive.motion, strict=True):
        speed, yaw_rate = moved.tolist()
        degrees = (CORNER + pose[:2] / METRES).tolist()
        moving += [(THERMAL, stamp, image(each))]
        moving += [(ODOMETRY, stamp, odometry(*pose.tolist(), speed=speed, yaw_rate=yaw_rate))]
        still += [(THERMAL, stamp, image(each)), (GPS, stamp, fix(*degrees))]
    for kind in ("mcap", "ros1"):
        (data / kind).mkdir(parents=True, exist_ok=True)
    written(data / "mcap" / name, "mcap", moving)
    written(data / "ros1" / f"{name}.bag", "bag", still)


def write_video(path: Path, drive: Drive) -> None:
    """Gray of sixteen bits, lossless, by day, of eight bits in JPEG by night; beside it the table of positions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deep = path.name == "noon"
    file, codec = path.with_suffix(".mkv" if deep else ".avi"), cv2.VideoWriter.fourcc(*("FFV1" if deep else "MJPG"))
    options = [cv2.VIDEOWRITER_PROP_IS_COLOR, 0, *([cv2.VIDEOWRITER_PROP_DEPTH, cv2.CV_16U] if deep else [])]
    size = drive.images[0].shape[::-1]
    writer = cv2.VideoWriter(str(file), cv2.CAP_FFMPEG, codec, 2.0, size, options)
    for each in drive.images if deep else drive.gray:
        writer.write(each)
    writer.release()
    write_table(path.with_suffix(".csv"), drive, {})
