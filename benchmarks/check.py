"""What looking a recording through costs: against the least reading that could do it, and the online part of it.

`python benchmarks/check.py` prints a table and, as its last line, the same as JSON. The first part examines 10 000
small PNG files in the page cache, where a disk's time hides nothing, in units of opening each of them and reading its
first 33 and its last 12 bytes in plain Python. The second part is the detector, which sees every frame online, in units
of preparing the same frame for the encoder.
"""

import argparse
import platform
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np

from image import FRAMES, SIZE, frames
from measure import Metric, conclude, in_turn, memory_gained, milliseconds, ratio, show
from tmapr.artifacts.images import read_image
from tmapr.artifacts.probe import probe
from tmapr.data.examination import examine
from tmapr.data.health import Detector
from tmapr.data.sequence import Sequence, from_arrays
from tmapr.perception.image import Image
from tmapr.types import CoordinateFrame

SMALL = (64, 80)
BOUND, ONLINE_BOUND = 3.0, 0.1
HEADER, TRAILER = 33, 12
REPEATS = 5


def write_files(folder: Path, count: int) -> list[Path]:
    rng = np.random.default_rng(0)
    contents = [cv2.imencode(".png", rng.integers(2900, 3100, SMALL).astype(np.uint16))[1].tobytes() for _ in range(64)]
    files = [folder / f"{row:06d}.png" for row in range(count)]
    for row, file in enumerate(files):
        file.write_bytes(contents[row % len(contents)])
    return files


def recorded(files: list[Path]) -> Sequence:
    stamps, unknown = np.arange(len(files)) * 10**8, np.zeros((len(files), 2))
    image = lambda row: read_image(files[row])  # noqa: E731
    return from_arrays("small", CoordinateFrame(), stamps, image, unknown, np.full(len(files), np.nan), files)


def ends(files: list[Path]) -> None:
    for file in files:
        with open(file, "rb") as stream:
            stream.read(HEADER)
            stream.seek(-TRAILER, 2)
            stream.read(TRAILER)


def offline(count: int, rounds: int) -> Iterator[Metric]:
    with TemporaryDirectory() as folder:
        files = write_files(Path(folder), count)
        sequence = recorded(files)
        ways = {
            "ends": lambda _: ends(files),
            "probe": lambda _: [probe(file) for file in files],
            "examine": lambda _: examine(sequence),
            "metadata": lambda _: examine(sequence, sample=2),
        }
        seconds = in_turn(ways, range(rounds + 2))
        gained = memory_gained(lambda _: examine(sequence), iter(range(5)), times=3, warm_up=2)
    yield Metric("both ends of every file in plain Python", milliseconds(seconds, "ends"), "ms")
    yield Metric("the probes alone against that", ratio(seconds, "probe", "ends"), "×")
    yield Metric("examine with the pixels of 2 frames against that", ratio(seconds, "metadata", "ends"), "×")
    yield Metric(
        "examine with the pixels of 200 frames against that", ratio(seconds, "examine", "ends"), "×", bound=BOUND
    )
    yield Metric("resident memory gained by three more passes", gained, "MiB", bound=5.0)


def online(rounds: int) -> Iterator[Metric]:
    cv2.setNumThreads(1)
    recorded_frames, detector, image = frames(), Detector(), Image()
    clipped = [np.where(frame > np.median(frame), 16383, frame).astype(np.uint16) for frame in recorded_frames]

    def turn(images: list[np.ndarray], step: int, index: int) -> None:
        for repeat in range(REPEATS):
            detector.inspect(images[(index + step * repeat) % len(images)])

    ways = {
        "prepare": lambda index: [image.prepare(recorded_frames[index % 10], SIZE) for _ in range(REPEATS)],
        "live": lambda index: turn(recorded_frames, 1, index),
        "frozen": lambda index: turn(recorded_frames, 0, index),
        "clipped": lambda index: turn(clipped, 1, index),
    }
    seconds = in_turn(ways, range(rounds))
    yield Metric("prepare", milliseconds(seconds, "prepare") / REPEATS, "ms")
    for name in ("live", "frozen", "clipped"):
        yield Metric(
            f"the detector on a {name} camera against it", ratio(seconds, name, "prepare"), "×", bound=ONLINE_BOUND
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what looking a recording through costs.")
    parser.add_argument("--files", type=int, default=10_000, help="how many files are examined")
    parser.add_argument("--rounds", type=int, default=100, help="rounds of the detector; a tenth of examining")
    given = parser.parse_args()
    metrics = show(f"{given.files} PNG files of 80x64, 16 bits", offline(given.files, max(given.rounds // 10, 1)))
    metrics += show("One frame of 640x512, 16 bits", online(given.rounds))
    versions = {"python": platform.python_version(), "numpy": np.__version__, "opencv": cv2.__version__}
    conclude("check", metrics, {"frames": "real" if FRAMES.is_dir() else "made up"} | versions)


if __name__ == "__main__":
    main()
