"""What preparing an image costs, in units of OpenCV's CLAHE and resize alone.

`python benchmarks/image.py` prints a table and, as its last line, the same as JSON. The input is 16 bits deep, 640x512
pixels, the output 224x224. The floor gets an 8-bit image for nothing: what is above 1 is the stretch. A turn repeats
its work, because the first time after a change of turns costs the floor a quarter more and flatters the ratio.
Processor time of one thread where OpenCV has one; the clock where it has several, which work on other cores too.
"""

import argparse
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter

import cv2
import numpy as np
from jaxtyping import UInt16

from measure import Metric, Seconds, conclude, in_turn, milliseconds, ratio, show
from tmapr.artifacts.images import read_image
from tmapr.perception.image import Image
from tmapr.types import Fault

SIZE = (224, 224)
BOUND = 2.0
REPEATS = 5
DEFAULT, STRETCH, SMOOTH = Image(), Image(clip_limit=0.0), Image(bilateral=5)

Frame = UInt16[np.ndarray, "512 640"]
Ways = Mapping[str, Callable[[int], object]]
FRAMES = Path(__file__).parents[2] / "shared/data/fieldscale_14bit"


def frames() -> list[Frame]:
    """Real frames where they are at hand, else smooth ones with the same range of counts and some noise."""
    if FRAMES.is_dir():
        return [read_image(path) for path in sorted(FRAMES.glob("*.png"))]
    rng = np.random.default_rng(0)
    smooth = [cv2.resize(rng.uniform(200, 5600, (16, 20)), (640, 512)) for _ in range(10)]
    return [(scene + rng.normal(0, 4, scene.shape)).clip(0).astype(np.uint16) for scene in smooth]


def contenders(recorded: list[Frame]) -> Ways:
    def every(frames: Sequence[np.ndarray], way: Callable[[np.ndarray], object]) -> Callable[[int], object]:
        return lambda index: [way(frames[index % len(frames)]) for _ in range(REPEATS)]

    def clahe(gray: np.ndarray) -> np.ndarray:
        return cv2.createCLAHE(2.0, (8, 8)).apply(gray)

    grays = [picture for frame in recorded if not isinstance(picture := STRETCH.prepare(frame, frame.shape), Fault)]
    widest = [frame.copy() for frame in recorded]
    for frame in widest:
        frame[0, :2] = 0, 65535
    return {
        "floor": every(grays, lambda gray: cv2.resize(clahe(gray), SIZE)),
        "area floor": every(grays, lambda gray: cv2.resize(clahe(gray), SIZE, interpolation=cv2.INTER_AREA)),
        "default": every(recorded, lambda frame: DEFAULT.prepare(frame, SIZE)),
        "widest": every(widest, lambda frame: DEFAULT.prepare(frame, SIZE)),
        "area": every(recorded, lambda frame: DEFAULT.prepare(frame, SIZE, "area")),
        "bilateral": every(recorded, lambda frame: SMOOTH.prepare(frame, SIZE)),
    }


def on_the_clock(ways: Ways, inputs: Iterable[int]) -> Seconds:
    """As `in_turn`, but the time that passes: a thread's own says nothing of work that others do for it."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for given in inputs:
        for name, way in ways.items():
            start = perf_counter()
            way(given)
            seconds[name].append(perf_counter() - start)
    return {name: np.array(taken[2:]) for name, taken in seconds.items()}


def measured(threads: int, rounds: int) -> Iterator[Metric]:
    cv2.setNumThreads(threads)
    timed = in_turn if threads == 1 else on_the_clock
    seconds = timed(contenders(frames()), range(rounds))
    given = f"OpenCV with {threads} {'thread' if threads == 1 else 'threads'}"
    yield Metric(f"{given}: its CLAHE and resize alone", milliseconds(seconds, "floor") / REPEATS, "ms")
    yield Metric(f"{given}: prepare", milliseconds(seconds, "default") / REPEATS, "ms")
    yield Metric(f"{given}: prepare against these alone", ratio(seconds, "default", "floor"), "×", bound=BOUND)
    yield Metric(f"{given}: with counts over all 16 bits", ratio(seconds, "widest", "floor"), "×", bound=BOUND)
    by_area = ratio(seconds, "area", "area floor")
    yield Metric(f"{given}: resized by area, as the perceiver does, both", by_area, "×", bound=BOUND)
    yield Metric(f"{given}: with the bilateral filter of MS2", ratio(seconds, "bilateral", "floor"), "×")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what preparing an image costs.")
    parser.add_argument("--rounds", type=int, default=100, help="rounds of each comparison")
    rounds = parser.parse_args().rounds
    default = cv2.getNumThreads()
    metrics = []
    for threads in sorted({1, default}):
        metrics += show("640x512 of 16 bits to 224x224", measured(threads, rounds))
    versions = {"python": platform.python_version(), "numpy": np.__version__, "opencv": cv2.__version__}
    source = "real" if FRAMES.is_dir() else "made up"
    conclude("image", metrics, {"frames": source, "processor": platform.machine(), "cores": os.cpu_count()} | versions)


if __name__ == "__main__":
    main()
