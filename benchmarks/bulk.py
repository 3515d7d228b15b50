"""Encoding in bulk: images a second from 640×512 16-bit PNGs on disk, by stage and whole, the plain loop beside it.

`python benchmarks/bulk.py` writes its own PNGs and times each stage in turn with the others, in one thread's processor
time; then readers alone, as threads and as processes, the network alone, and the whole: the plain loop, in which one
thread reads ahead and OpenCV decodes, and `Perceiver.stream` with a reader for each core. Descriptors of the two are
compared, and some frames are encoded again alone, which must change no bit. Rates are of the time after the readers are
there; how long the images before took is told too.
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import cv2
import numpy as np

from measure import Metric, conclude, in_turn, milliseconds, show, speed_kept
from tmapr.artifacts.images import Counts, ImageFile, decode_image, read_image, write_frame
from tmapr.artifacts.png import decode_gray_png
from tmapr.data.health import Detector
from tmapr.perception.bulk import Readers, Reading, count_cores
from tmapr.perception.card import Card
from tmapr.perception.glance import Chunk, Glancer
from tmapr.perception.gyroscope import Gyroscope, find_shift, see
from tmapr.perception.image import Image
from tmapr.perception.onnx import SHIPPED, load_onnx
from tmapr.perception.perceiver import BATCH, GPU_BATCH, Engine, Perceiver
from tmapr.perception.settings import Perception
from tmapr.types import Fault, Frame

SIZE, SHAPE = (224, 224), (512, 640)
FILES, PLAIN = 256, 256
WANTED = 4000.0


def write_street(folder: Path, count: int) -> list[Path]:
    """A wall that is passed by, with the noise of a sensor: 14 bits, of which 4.7 a byte are left when packed."""
    rng = np.random.default_rng(0)
    wall = 4000 * cv2.GaussianBlur(rng.normal(size=(SHAPE[0], SHAPE[1] + 3 * count)), (0, 0), 6.0)
    files = [folder / f"{row:05d}.png" for row in range(count)]
    for row, file in enumerate(files):
        seen = wall[:, 3 * row : 3 * row + SHAPE[1]] + rng.normal(0, 12, SHAPE)
        write_frame(file, (3500 + seen).clip(0, 16000).astype(np.uint16))
    return files


def list_frames(files: list[Path], count: int) -> list[Frame]:
    """As many frames as are asked for, over and over."""
    return [Frame("street", row, row, ImageFile(files[row % len(files)])) for row in range(count)]


def time_stages(files: list[Path]) -> dict[str, float]:
    """Milliseconds of one thread for each stage of an image, medians."""
    image, detector, before = Image(), Detector(), see(read_image(files[0]))
    stages: dict[str, Callable[[tuple[Path, bytes, Counts]], object]] = {
        "read the file": lambda given: given[0].read_bytes(),
        "decode by OpenCV": lambda given: decode_image(given[1], ""),
        "decode by zlib and compiled code": lambda given: decode_gray_png(given[1], ""),
        "inspect": lambda given: detector.inspect(given[2]),
        "sketch for the gyroscope": lambda given: see(given[2]),
        "compare two sketches": lambda _: find_shift(before, before),
        "prepare": lambda given: image.prepare(given[2], SIZE, "area"),
    }
    inputs = [(file, file.read_bytes(), read_image(file)) for file in files[:40]]
    seconds = in_turn(stages, inputs, warm_up=5)
    return {name: milliseconds(seconds, name) for name in stages}


def hold_lock(files: list[Path]) -> float:
    """Milliseconds of Python's lock that a thread takes for an image: what it costs a thread that counts beside it."""
    frames, judge = list_frames(files, BATCH), Chunk.sights.fget
    glancer = Glancer(Image(), SIZE, compares=True)

    def look() -> None:
        list(Reading(frames, glancer, judge or list, Readers(1, long=0)).pass_on(1))

    return speed_kept({"look": look}, windows=5)["look"].lost_ms / BATCH


def time_stream(stream: Iterator[object], count: int, warm_up: int) -> tuple[float, float]:
    """Images a second after the first few, and seconds that these took."""
    start = perf_counter()
    for _ in islice(stream, warm_up):
        pass
    began = perf_counter()
    rest = sum(1 for _ in stream)
    if warm_up + rest != count:
        raise ValueError(f"{warm_up + rest} of {count} images came out")
    return rest / (perf_counter() - began), began - start


def stream_counts(frames: list[Frame], readers: Readers) -> Iterator[object]:
    """Readers alone: all that comes before the network."""
    detector, gyroscope = Detector(), Gyroscope()

    def judge(chunk: Chunk) -> list[object]:
        seen = chunk.sights
        gyroscope.join(seen[0], seen[-1])
        return [detector.inspect(glance.counts) for glance in chunk.glances if glance.counts is not None]

    reading = Reading(frames, Glancer(Image(), SIZE, compares=True), judge, readers)
    for found in reading.pass_on(readers.ahead):
        yield from found


def stream_plainly(frames: list[Frame], engine: Engine) -> Iterator[tuple[np.ndarray, float | None]]:
    """The loop as it was: one thread reads and prepares the next eight images while the network works."""
    detector, gyroscope, image = Detector(), Gyroscope(), Image()

    def prepare(frame: Frame) -> tuple[np.ndarray, float | None]:
        counts = read_image(frame.image.path) if isinstance(frame.image, ImageFile) else frame.image()
        fault, shift = detector.inspect(counts), gyroscope.measure(counts)
        picture = image.prepare(counts, SIZE, "area")
        if fault or isinstance(picture, Fault):
            raise ValueError("every image of this street can be used")
        return picture, shift

    remaining = iter(frames)
    with ThreadPoolExecutor(max_workers=1) as reader:
        waiting = reader.submit(lambda: [prepare(frame) for frame in islice(remaining, BATCH)])
        while prepared := waiting.result():
            waiting = reader.submit(lambda: [prepare(frame) for frame in islice(remaining, BATCH)])
            outputs = engine(np.stack([picture for picture, _ in prepared]))
            yield from zip(outputs.descriptors, [shift for _, shift in prepared], strict=True)


def open_engine(device: str) -> tuple[Card, Engine]:
    """The default network."""
    if device == "cpu":
        return load_onnx(SHIPPED, "cpu")
    from tmapr.perception.network import TorchEngine, assemble

    network, card = assemble(Perception())
    return card, TorchEngine(network, device)


def time_engine(engine: Engine, batch: int, seconds: float) -> float:
    """Images a second of the network alone."""
    pictures = np.random.default_rng(0).integers(0, 256, (batch, *SIZE)).astype(np.uint8)
    for _ in range(3):
        engine(pictures)
    start, passes = perf_counter(), 0
    while perf_counter() - start < seconds:
        engine(pictures)
        passes += 1
    return passes * batch / (perf_counter() - start)


def compare_descriptors(perceiver: Perceiver, engine: Engine, frames: list[Frame], readers: Readers) -> list[Metric]:
    """Between the plain loop and the readers, and between a frame among others and alone."""
    plain, many = list(stream_plainly(frames, engine)), list(watch(perceiver).stream(frames, readers=readers))
    if [percept.shift for percept in many] != [shift for _, shift in plain]:
        raise ValueError("turns differ")
    expected = [descriptor / np.linalg.norm(descriptor) for descriptor, _ in plain]
    away = [float(np.abs(one.descriptor - other).max()) for one, other in zip(many, expected, strict=True)]
    again = [next(watch(perceiver).stream([frame])).descriptor for frame in frames[::7]]
    changed = sum((one.descriptor != other).any() for one, other in zip(many[::7], again, strict=True))
    return [
        Metric("largest difference of a number from the plain loop's", max(away), "", bound=1e-3),
        Metric(f"of {len(again)} frames encoded again alone, others than before", float(changed), "", bound=0),
    ]


def watch(perceiver: Perceiver) -> Perceiver:
    """For one more stream."""
    return perceiver.with_inspection(Detector().inspect)


def time_readers(frames: list[Frame], count: int, warm_up: int) -> list[Metric]:
    """As threads, and as processes."""
    ways = {"threads": Readers(count, threads=count, long=0), "processes": Readers(count, threads=0, long=0)}
    metrics = []
    for name, how in ways.items():
        rate, wait = time_stream(stream_counts(frames, how), len(frames), warm_up)
        metrics.append(Metric(name, rate, "/s", "higher"))
        metrics.append(Metric(f"{name}, until image {warm_up}", wait, "s"))
    return metrics


def bound_readers(stages: dict[str, float], lock: float, count: int) -> list[Metric]:
    """What can be reached at most, by the processor time of the stages."""
    decoding = stages["decode by zlib and compiled code"]
    work = sum(taken for name, taken in stages.items() if name != "decode by OpenCV")
    return [
        Metric(f"readers on {count} cores, if nothing else ran", 1e3 * count / work, "/s", "higher"),
        Metric("the same, for a network that prepares", 1e3 * count / (work - stages["prepare"]), "/s", "higher"),
        Metric("the same, decoding alone", 1e3 * count / decoding, "/s", "higher"),
        Metric("Python's lock, held for an image by a thread", lock, "ms"),
        Metric("any number of threads, by that", 1e3 / max(lock, 1e-6), "/s", "higher"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time encoding in bulk on this machine.")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:NUMBER")
    parser.add_argument("--readers", type=int, default=count_cores(), help="by default, one for each core")
    parser.add_argument("--images", type=int, default=480, help="that each whole pass encodes")
    parser.add_argument("--out", type=Path, help="also writes the numbers to this file, as JSON")
    given = parser.parse_args()
    batch = BATCH if given.device == "cpu" else GPU_BATCH
    readers, warm_up = Readers(given.readers, long=0), given.images // 3
    with TemporaryDirectory() as folder:
        files = write_street(Path(folder), min(FILES, given.images))
        frames, few = list_frames(files, given.images), list_frames(files, min(PLAIN, given.images))
        stages = time_stages(files)
        metrics = show("an image, one thread", [Metric(name, taken, "ms") for name, taken in stages.items()])
        metrics += show("bounds from these", bound_readers(stages, hold_lock(files), given.readers))
        metrics += show(f"{given.readers} readers alone", time_readers(frames, given.readers, warm_up))
        card, engine = open_engine(given.device)
        alone = {size: time_engine(engine, size, 2.0) for size in sorted({BATCH, batch})}
        metrics += show("network alone", [Metric(f"batches of {n}", rate, "/s", "higher") for n, rate in alone.items()])
        perceiver = Perceiver(card, Image(), engine, at_once=batch).with_full_batches()
        plain, _ = time_stream(stream_plainly(few, engine), len(few), len(few) // 3)
        whole, wait = time_stream(watch(perceiver).stream(frames, readers=readers), given.images, warm_up)
        results = [
            Metric("plain loop", plain, "/s", "higher"),
            Metric("bulk", whole, "/s", "higher", None if given.device == "cpu" else WANTED),
            Metric(f"bulk, until image {warm_up}", wait, "s"),
            Metric("bulk / plain", whole / plain, "×", "higher", 1.0),
        ]
        metrics += show("whole", results)
        metrics += show("descriptors", compare_descriptors(perceiver, engine, few[:64], readers))
    notes = {"cores": os.cpu_count(), "readers": given.readers, "images": given.images, "device": given.device}
    conclude("bulk", metrics, notes)
    if given.out:
        found = {metric.name: metric.value for metric in metrics}
        given.out.write_text(json.dumps({"notes": notes, "metrics": found}, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
