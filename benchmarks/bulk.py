"""Encoding in bulk: images a second from 640×512 16-bit PNGs on disk, by stage and whole, the plain loop beside it.

`python benchmarks/bulk.py` writes its own PNGs and times each stage in turn with the others, in one thread's processor
time; readers alone; the network alone, from memory; and the whole: the plain loop, in which one thread reads ahead, and
`Perceiver.stream` with a reader for each core. It says which of these bounds the whole. Descriptors of the two are
compared, and some frames are encoded again alone, which must change no bit.

`--device cuda --encoder vit-b14` times the paper's network (random weights: no step depends on them) in float16 as
every command opens it there: images are prepared on the GPU.
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import cv2
import numpy as np

from measure import Metric, conclude, in_turn, milliseconds, show
from tmapr.artifacts.images import Counts, decode_image, read_image, write_frame
from tmapr.artifacts.sources import digest_content
from tmapr.data.health import Detector
from tmapr.perception.bulk import Readers, Reading, count_cores
from tmapr.perception.card import Card
from tmapr.perception.eyes import Eye, PictureEye
from tmapr.perception.glance import Chunk, Glancer
from tmapr.perception.gyroscope import Gyroscope, find_shift, see
from tmapr.perception.image import Image
from tmapr.perception.onnx import SHIPPED, load_onnx
from tmapr.perception.perceiver import BATCH, GPU_BATCH, Perceiver
from tmapr.perception.settings import Perception
from tmapr.types import Fault, Frame

SIZE, SHAPE = (224, 224), (512, 640)
FILES, PLAIN = 64, 64
WANTED = 4000.0
VIT = "vit-b14"


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
    chosen = [files[row % len(files)] for row in range(count)]
    return [Frame("street", row, row, partial(read_image, file), file=file) for row, file in enumerate(chosen)]


def time_stages(files: list[Path]) -> dict[str, float]:
    """Milliseconds of one thread for each stage of an image, medians."""
    image, detector, before = Image(), Detector(), see(read_image(files[0]))
    stages: dict[str, Callable[[tuple[Path, bytes, Counts]], object]] = {
        "read the file": lambda given: given[0].read_bytes(),
        "digest": lambda given: digest_content(given[1]),
        "decode": lambda given: decode_image(given[1], ""),
        "inspect": lambda given: detector.inspect(given[2]),
        "sketch for the gyroscope": lambda given: see(given[2]),
        "compare two sketches": lambda _: find_shift(before, before),
        "prepare": lambda given: image.prepare(given[2], SIZE, "area"),
    }
    inputs = [(file, file.read_bytes(), read_image(file)) for file in files[:40]]
    seconds = in_turn(stages, inputs, warm_up=5)
    return {name: milliseconds(seconds, name) for name in stages}


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


def stream_counts(frames: list[Frame], readers: Readers, *, prepares: bool) -> Iterator[object]:
    """Readers alone: all that comes before the network, which may prepare images itself."""
    detector, gyroscope = Detector(), Gyroscope()

    def judge(chunk: Chunk) -> list[object]:
        seen = chunk.sights
        gyroscope.join(seen[0], seen[-1])
        return [detector.inspect(glance.counts) for glance in chunk.glances if glance.counts is not None]

    reading = Reading(frames, Glancer(Image(), SIZE, compares=True, prepares=prepares), judge, readers)
    for found in reading.pass_on(readers.ahead):
        yield from found


def stream_plainly(frames: list[Frame], eye: Eye) -> Iterator[tuple[np.ndarray, float | None]]:
    """The loop as it was: one thread reads and prepares the next eight images while the network works."""
    detector, gyroscope, image = Detector(), Gyroscope(), Image()

    def prepare(frame: Frame) -> tuple[np.ndarray, float | None]:
        counts = frame.image()
        fault, shift = detector.inspect(counts), gyroscope.measure(counts)
        picture = counts if eye.takes_counts else image.prepare(counts, SIZE, "area")
        if fault or isinstance(picture, Fault):
            raise ValueError("every image of this street can be used")
        return picture, shift

    remaining = iter(frames)
    with ThreadPoolExecutor(max_workers=1) as reader:
        waiting = reader.submit(lambda: [prepare(frame) for frame in islice(remaining, BATCH)])
        while prepared := waiting.result():
            waiting = reader.submit(lambda: [prepare(frame) for frame in islice(remaining, BATCH)])
            seen = eye.begin([picture for picture, _ in prepared])()
            yield from zip(seen.outputs.descriptors, [shift for _, shift in prepared], strict=True)


def open_eye(device: str, encoder: str) -> tuple[Card, Eye]:
    """What every command sees with on this device, with the default network or a large one."""
    if device == "cpu" and encoder != VIT:
        card, engine = load_onnx(SHIPPED, "cpu")
        return card, PictureEye(engine)
    from tmapr.bench.random_vit import make_random_network
    from tmapr.perception.network import TorchEngine, assemble

    network, card = make_random_network(Perception()) if encoder == VIT else assemble(Perception())
    if device == "cpu":
        return card, PictureEye(TorchEngine(network, device))
    from tmapr.gpu.encoder import GpuEncoder

    return card, GpuEncoder(network, Image(), SIZE, device)


def time_eye(eye: Eye, batch: int, seconds: float = 2.0) -> float:
    """Images a second of the network alone, from memory."""
    rng = np.random.default_rng(0)
    shape = SHAPE if eye.takes_counts else SIZE
    images = [rng.integers(3000, 4000, shape).astype(np.uint16 if eye.takes_counts else np.uint8) for _ in range(batch)]

    def see_for(seconds: float) -> int:
        start, passes = perf_counter(), 0
        while perf_counter() - start < seconds:
            eye.begin(images)()
            passes += 1
        return passes

    see_for(0.3)
    start = perf_counter()
    return see_for(seconds) * batch / (perf_counter() - start)


def compare_descriptors(perceiver: Perceiver, eye: Eye, frames: list[Frame], readers: Readers) -> list[Metric]:
    """Between the plain loop and the readers, and between a frame among others and alone."""
    plain, many = list(stream_plainly(frames, eye)), list(watch(perceiver).stream(frames, readers=readers))
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


def bound_readers(stages: dict[str, float], count: int) -> list[Metric]:
    """What can be reached at most, by the processor time of the stages."""
    work = sum(stages.values())
    return [
        Metric(f"readers on {count} cores, if nothing else ran", 1e3 * count / work, "/s", "higher"),
        Metric("the same, for a network that prepares", 1e3 * count / (work - stages["prepare"]), "/s", "higher"),
    ]


def time_whole(frames: list[Frame], card: Card, eye: Eye, readers: Readers, batch: int) -> list[Metric]:
    """The plain loop, the readers, and whether they say the same."""
    warm_up, few = len(frames) // 3, frames[:PLAIN]
    perceiver = Perceiver(card, Image(), eye, at_once=batch).with_full_batches()
    plain, _ = time_stream(stream_plainly(few, eye), len(few), len(few) // 3)
    whole, wait = time_stream(watch(perceiver).stream(frames, readers=readers), len(frames), warm_up)
    results = [
        Metric("plain loop", plain, "/s", "higher"),
        Metric("bulk", whole, "/s", "higher", WANTED if eye.takes_counts else None),
        Metric(f"bulk, until image {warm_up}", wait, "s"),
        Metric("bulk / plain", whole / plain, "×", "higher", 1.0),
    ]
    return show("whole", results) + show("descriptors", compare_descriptors(perceiver, eye, few[:64], readers))


def name_bound(metrics: list[Metric]) -> str:
    """In a line: which stage alone is the slowest, and how much of it the whole reaches."""
    found = {metric.name: metric.value for metric in metrics}
    stages = {name: rate for name, rate in found.items() if name in ("readers alone", "network alone")}
    slowest = min(stages, key=stages.__getitem__)
    told = ", ".join(f"{name} {rate:.0f}/s" for name, rate in stages.items())
    return f"bounded by {slowest!r}: {told}; bulk reaches {found['bulk'] / stages[slowest]:.0%} of it"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time encoding in bulk on this machine.")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:NUMBER")
    parser.add_argument("--encoder", choices=("default", VIT), default="default")
    parser.add_argument("--readers", type=int, default=count_cores(), help="by default, one for each core")
    parser.add_argument("--images", type=int, default=480, help="that each whole pass encodes")
    parser.add_argument("--batch", type=int, help="images in a pass; by default as commands have it")
    parser.add_argument("--out", type=Path, help="also writes the numbers to this file, as JSON")
    given = parser.parse_args()
    batch = given.batch or (BATCH if given.device == "cpu" else GPU_BATCH)
    with TemporaryDirectory() as folder:
        files = write_street(Path(folder), min(FILES, given.images))
        frames, stages = list_frames(files, given.images), time_stages(files)
        metrics = show("an image, one thread", [Metric(name, taken, "ms") for name, taken in stages.items()])
        metrics += show("bounds from these", bound_readers(stages, given.readers))
        card, eye = open_eye(given.device, given.encoder)
        readers = Readers(given.readers)
        reading = stream_counts(frames, readers, prepares=not eye.takes_counts)
        rate, _ = time_stream(reading, len(frames), len(frames) // 3)
        metrics += show(f"{given.readers} readers", [Metric("readers alone", rate, "/s", "higher")])
        alone = [Metric("network alone", time_eye(eye, batch), "/s", "higher")]
        metrics += show(f"from memory, batches of {batch}", alone)
        metrics += time_whole(frames, card, eye, readers, batch)
    print(name_bound(metrics))
    notes = vars(given) | {"cores": os.cpu_count(), "batch": batch, "out": None}
    conclude("bulk", metrics, notes)
    if given.out:
        found = {metric.name: metric.value for metric in metrics}
        given.out.write_text(json.dumps({"notes": notes, "metrics": found}, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
