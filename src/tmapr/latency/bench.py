"""`tmapr bench` as calls: what is timed, from a run folder or made up, and the JSON that comes of it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from tmapr.artifacts.run import RunFolder
from tmapr.config import load_settings
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, open_data
from tmapr.latency.eyes import Eyes, Precision, open_eyes
from tmapr.latency.machine import blas_threads, cores, processor, versions
from tmapr.latency.protocol import (
    UPDATES,
    WARM_UPS,
    Growth,
    Stopwatch,
    time_cycle,
    time_localization,
    time_place_inference,
    time_stages,
    time_updates,
)
from tmapr.latency.workload import (
    MADE_UP,
    Workload,
    expecting,
    made_up_frames,
    made_up_map,
    recorded_frames,
    revisits,
)
from tmapr.system import Map, resume

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is timed; `images` says what its frames are."""

    eyes: Eyes
    work: Workload
    images: str


def made_up(settings: Experiment, eyes: Eyes, references: int, frames: int) -> Subject:
    """That perceiver on made-up images and a made-up map."""
    environment = made_up_map(settings.system, references, eyes.perceiver.dimension)
    return _with_made_up_frames(settings, eyes, environment, frames, MADE_UP)


def of_run(path: Path, device: str, precision: Precision | None, frames: int, overrides: list[str]) -> Subject:
    """A run folder's own perceiver, map and settings, and frames of its first test sequence if they are there."""
    folder = RunFolder(path)
    if not folder.map.exists():
        raise InputError(f"{path}: holds no map.npz, so it is no run folder; make one with `tmapr map EXPERIMENT`")
    settings = load_settings(Experiment, folder.experiment, overrides).with_head(folder)
    environment = Map.load(folder.map, settings.system)
    settings.perception.refuse_others(str(folder.map), environment.origin)
    eyes = open_eyes(settings.perception, device, precision)
    if folder.state.exists():
        learned = resume(settings.system, environment, folder.state).classifier
        environment = replace(environment, initial=learned.arrays())
    return _with_frames(settings, eyes, environment, frames)


def _with_frames(settings: Experiment, eyes: Eyes, environment: Map, frames: int) -> Subject:
    data = settings.data
    if not data.test:
        return _with_made_up_frames(settings, eyes, environment, frames, f"{MADE_UP} (no test sequence)")
    try:
        sequence = open_data(data, data.test[0], environment.frame)
    except InputError as error:  # a run folder may have been copied here without its data
        return _with_made_up_frames(settings, eyes, environment, frames, f"{MADE_UP} ({error})")
    image, size = settings.perception.image, settings.perception.size
    shown = recorded_frames(iter(sequence), WARM_UPS + frames, image, size)
    work = Workload(settings.system, environment, eyes.stream, image, size, shown)
    return Subject(eyes, work, f"recorded, {data.test[0]}")


def _with_made_up_frames(settings: Experiment, eyes: Eyes, environment: Map, frames: int, images: str) -> Subject:
    percepts = [percept for percept, _ in islice(revisits(environment.memory), WARM_UPS + frames)]
    shown = made_up_frames([percept.stamp for percept in percepts])
    image, size = settings.perception.image, settings.perception.size
    work = Workload(settings.system, environment, lambda: expecting(percepts, eyes.stream()), image, size, shown)
    return Subject(eyes, work, images)


def measure(subject: Subject, updates: int, tell: Tell) -> dict[str, Any]:
    """Run the protocol; what `tmapr bench` prints as JSON."""
    work, watch = subject.work, Stopwatch(settle=subject.eyes.settle)
    tell(f"{len(work.frames)} frames stage by stage, {WARM_UPS} of them to warm up")
    time_stages(work, watch)
    tell(f"{len(work.frames)} frames from image to estimate, and again with an update after each")
    estimates = time_localization(work, watch)
    time_cycle(work, watch)
    tell(f"{updates} place inferences and {updates} updates")
    time_place_inference(work, updates, watch)
    time_updates(work, updates, watch)
    stages = {stage: asdict(latency) for stage, latency in watch.latencies().items()}
    growth = asdict(Growth.of(watch.seconds(UPDATES)))
    return {
        **_described(subject),
        "accepted": sum(estimate.verdict.accepted for estimate in estimates[WARM_UPS:]),
        "updates": {"count": updates, **stages.pop(UPDATES), **growth},
        "stages": stages,
    }


def _described(subject: Subject) -> dict[str, Any]:
    eyes, work = subject.eyes, subject.work
    classifier = work.environment.classifier()
    return {
        "device": eyes.device,
        "accelerator": eyes.accelerator,
        "processor": processor(),
        "cores": cores(),
        "threads": blas_threads(),
        "encoder_threads": eyes.threads,
        "precision": eyes.precision,
        "encoder": eyes.encoder,
        "runtime": eyes.runtime,
        "weights": eyes.weights,
        "pose_head": eyes.perceiver.card.apr is not None,
        "versions": versions(),
        "warmups": WARM_UPS,
        "frames": len(work.frames) - WARM_UPS,
        "images": subject.images,
        "size": list(work.size),
        "references": len(work.environment.memory),
        "places": len(classifier.grid),
        "descriptor": classifier.dimension,
        "lift": classifier.ridge.dim,
        "extensions": list(work.system.places.use),
    }
