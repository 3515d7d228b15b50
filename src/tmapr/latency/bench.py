"""`tmapr bench` as calls: what is timed, from a run folder or made up, and the JSON that comes of it."""

import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path

from tmapr.artifacts.documents.latency import (
    PAPER_CARD,
    PAPER_MS,
    DeviceStage,
    FrameLatency,
    Latency,
    Precision,
    StageLatency,
    UpdateLatency,
)
from tmapr.artifacts.results import read_whole
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, open_data, read_experiment
from tmapr.latency.perceiver import TimedPerceiver, open_timed_perceiver
from tmapr.latency.protocol import (
    ROUNDS,
    UPDATES,
    WARM_UPS,
    Stopwatch,
    summarize_updates,
    time_cycle,
    time_localization,
    time_place_inference,
    time_stages,
    time_updates,
)
from tmapr.latency.workload import (
    MADE_UP,
    Workload,
    answer_with,
    choose_lessons,
    invent_frames,
    invent_map,
    number_frames,
    read_frames,
    revisit,
    trace_drive,
)
from tmapr.stages import Backend, Perceive
from tmapr.system import Map, resume
from tmapr.types import Estimate, Percept

Tell = Callable[[str], None]

MANY, LESSONS = 1000, 250
"""References on a device from which on so many of them are taught, and those that every place needs."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What is timed; `images` says what its frames are."""

    timed: TimedPerceiver
    work: Workload
    images: str
    lessons: int | None = None
    """That A₀ was taught of a made-up map, where these are fewer than its references."""


def invent_benchmark(settings: Experiment, timed: TimedPerceiver, references: int, frames: int) -> Benchmark:
    """That perceiver on made-up images and a made-up map."""
    # On a device descriptors are wide and references many: all of them taught on the CPU would take an hour.
    few = LESSONS if timed.sight and references > MANY else None
    environment = invent_map(settings.system, references, timed.perceiver.dimension, few)
    benchmark = _assemble_with_invented_frames(settings, timed, environment, frames, MADE_UP)
    taught = None if few is None else len(choose_lessons(trace_drive(references), settings.system.places.cell, few))
    return replace(benchmark, lessons=taught)


def load_benchmark(
    path: Path, device: str, precision: Precision | None, frames: int, overrides: list[str]
) -> Benchmark:
    """A run folder's own perceiver, map and settings, and frames of its first scored sequence if they are there."""
    folder = RunFolder(path)
    return read_whole(folder, lambda: _load(folder, device, precision, frames, overrides))


def _load(folder: RunFolder, device: str, precision: Precision | None, frames: int, overrides: list[str]) -> Benchmark:
    if not folder.map.exists():
        raise InputError(
            f"{folder.path}: holds no map.npz, so it is no run folder; make one with `tmapr map EXPERIMENT`"
        )
    settings = read_experiment(folder.experiment, overrides).with_head(folder)
    environment = Map.load(folder.map, settings.system, settings.data.references)
    settings.perception.refuse_others(str(folder.map), environment.origin)
    timed = open_timed_perceiver(settings.perception, device, precision)
    if folder.state.exists():
        learned = resume(settings.system, environment, folder.state).classifier
        environment = replace(environment, initial=learned.arrays())
    return _assemble(settings, timed, environment, frames)


def _assemble(settings: Experiment, timed: TimedPerceiver, environment: Map, frames: int) -> Benchmark:
    data = settings.data
    if not data.scored:
        return _assemble_with_invented_frames(settings, timed, environment, frames, f"{MADE_UP} (no test sequence)")
    try:
        sequence = open_data(data, data.scored[0], environment.frame)
    except InputError as error:  # a run folder may have been copied here without its data
        return _assemble_with_invented_frames(settings, timed, environment, frames, f"{MADE_UP} ({error})")
    image, size = settings.perception.image, settings.perception.size
    shown = read_frames(iter(sequence), WARM_UPS + frames, image, size)
    work = Workload(settings.system, environment, timed.stream, image, size, shown, _choose_backend(timed))
    return Benchmark(timed, work, f"recorded, {data.scored[0]}")


def _assemble_with_invented_frames(
    settings: Experiment, timed: TimedPerceiver, environment: Map, frames: int, images: str
) -> Benchmark:
    percepts = [percept for percept, _ in islice(revisit(environment.memory), WARM_UPS + frames)]
    shown = invent_frames([percept.stamp for percept in percepts])
    image, size = settings.perception.image, settings.perception.size
    stream: Callable[[], Perceive] = timed.stream
    # The device's eye answers itself, from counts that it is given as they are.
    if timed.sight and timed.sight.eye.takes_counts:
        timed.sight.answers.tell(percepts, timed.perceiver.normaliser)
        shown = number_frames(shown)
    else:
        stream = partial(_begin_answers, percepts, timed)
    work = Workload(settings.system, environment, stream, image, size, shown, _choose_backend(timed))
    return Benchmark(timed, work, images)


def _begin_answers(percepts: list[Percept], timed: TimedPerceiver) -> Perceive:
    return answer_with(percepts, timed.stream())


def _choose_backend(timed: TimedPerceiver) -> Backend | None:
    if timed.sight is None:
        return None
    from tmapr.device.backend import DeviceBackend

    return DeviceBackend(timed.sight.device)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the protocol found; the last three where frames were localized on a device."""

    stages: dict[str, StageLatency]
    updates: UpdateLatency
    accepted: int
    frame: FrameLatency | None = None
    device_stages: dict[str, DeviceStage] | None = None
    bandwidths: tuple[float, float] | None = None
    """Gigabytes a second of a copy there, and of one to it."""


def measure(benchmark: Benchmark, updates: int, tell: Tell, rounds: int = ROUNDS) -> Latency:
    """Run the protocol; what `tmapr bench` prints as JSON."""
    timed, work = benchmark.timed, benchmark.work
    if timed.sight and localizes_there(work):
        from tmapr.latency.device import measure_there

        measured = measure_there(work, timed.sight, updates, tell, rounds)
    else:
        measured = _measure_here(work, Stopwatch(settle=timed.settle), updates, tell)
    return _describe(benchmark, measured)


def localizes_there(work: Workload) -> bool:
    """Whether frames go their whole way on a device: `build` leaves other methods to the CPU."""
    return (
        work.backend is not None and work.system.tracking.method == "route" and work.system.retrieval.mode == "places"
    )


def _measure_here(work: Workload, watch: Stopwatch, updates: int, tell: Tell) -> Measured:
    tell(f"{len(work.frames)} frames stage by stage, {WARM_UPS} of them to warm up")
    time_stages(work, watch)
    tell(f"{len(work.frames)} frames from image to estimate, and again with an update after each")
    accepted = count_accepted(time_localization(work, watch))
    count_accepted(time_cycle(work, watch))
    tell(f"{updates} place inferences and {updates} updates")
    time_place_inference(work, updates, watch)
    time_updates(work, updates, watch)
    stages = watch.latencies()
    return Measured(stages, summarize_updates(watch.seconds(UPDATES)), accepted)


def count_accepted(estimates: Iterator[Estimate]) -> int:
    """Accepted matches after the warm-ups."""
    return sum(estimate.verdict.accepted for estimate in islice(estimates, WARM_UPS, None))


def _describe(benchmark: Benchmark, measured: Measured) -> Latency:
    timed, work = benchmark.timed, benchmark.work
    classifier = work.environment.classifier()
    copied, linked = measured.bandwidths or (None, None)
    return Latency(
        device=timed.device,
        accelerator=timed.accelerator,
        processor=find_processor(),
        cores=count_cores(),
        threads=count_blas_threads(),
        encoder_threads=timed.threads,
        precision=timed.precision,
        encoder=timed.encoder,
        runtime=timed.runtime,
        weights=timed.weights,
        pose_head=timed.perceiver.card.apr is not None,
        versions=list_versions(),
        warmups=WARM_UPS,
        frames=len(work.frames) - WARM_UPS,
        images=benchmark.images,
        size=work.size,
        references=len(work.environment.memory),
        places=len(classifier.grid),
        descriptor=classifier.dimension,
        lift=classifier.ridge.dim,
        extensions=work.system.places.use,
        accepted=measured.accepted,
        updates=measured.updates,
        stages={name: stage for name, stage in measured.stages.items() if name != UPDATES},
        lessons=benchmark.lessons,
        frame=measured.frame,
        device_stages=measured.device_stages,
        bandwidth_gb_s=copied,
        link_gb_s=linked,
        paper_ms=PAPER_MS if measured.frame else None,
        paper_card=PAPER_CARD if measured.frame else None,
    )


_COMPUTING = ("tmapr", "numpy", "scipy", "numba", "opencv-python-headless", "onnxruntime", "torch")
_BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def find_processor() -> str:
    """The processor's name as the system tells it."""
    table = Path("/proc/cpuinfo")
    lines = table.read_text(encoding="utf-8", errors="replace").splitlines() if table.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def count_cores() -> int:
    """The cores that are there for this program, as far as the system counts them."""
    return os.cpu_count() or 1


def count_blas_threads() -> int:
    """Threads of a matrix product; OpenBLAS reads the first of these that is set, and takes all cores otherwise."""
    given = [os.environ.get(name, "") for name in _BLAS]
    return next((int(number) for number in given if number.isdecimal() and int(number)), count_cores())


def list_versions() -> dict[str, str]:
    """The versions of Python and of every package that computes, where it is installed."""
    found = {"python": platform.python_version()}
    for name in _COMPUTING:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
