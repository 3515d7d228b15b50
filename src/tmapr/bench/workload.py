"""What is timed: a perceiver, frames in memory, a map; made up where there is no recording.

Made-up images show nothing of a map's places. They are encoded for the time it takes, and what is recognised is what
the map expects at that point of the drive, so that later stages do what they do on the road.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from math import nan
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt16

from tmapr.artifacts.documents.latency import EncoderNotes, Precision, Runtime
from tmapr.artifacts.percepts import OWN
from tmapr.config import changed
from tmapr.data.health import Detector
from tmapr.data.poses import track_direction
from tmapr.device import choose_precision, open_perceiver
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, open_data
from tmapr.files import WEIGHTS_BYTES, read_bytes
from tmapr.geodesy import LOCAL_FRAME
from tmapr.localizer import Localizer
from tmapr.perception.onnx import CUDA
from tmapr.perception.opening import needs_torch
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.plugin import is_descriptor
from tmapr.perception.settings import Perception
from tmapr.places.classifier import Classifier
from tmapr.places.mapped import Learned
from tmapr.retrieval.memory import Memory
from tmapr.simulation.route import block_loop, drive
from tmapr.stages import Perceive
from tmapr.system import Map, System, assemble
from tmapr.traverses import Traverses
from tmapr.types import NANOSECONDS, Frame, Percept

WARM_UPS = 20  # first turns of every stage that do not count: compilers, caches and clocks settle in them
VIT = "vit-b14"
MADE_UP = "made up, 512 × 640 at 16 bit; what is recognised is made up too"
MANY, LESSONS = 1000, 250  # references beyond which A₀ is taught just so many: all would take an hour
_KEPT = 64  # images that are held in memory; they come round again
_SPACING, _SPEED, _DETAIL = 2.0, 20.0, 10.0  # metres between references, m/s, metres over which views change
_BYTES = b"MatMulInteger"  # the operator that multiplies with a matrix of bytes; ONNX spells operators out


@dataclass(frozen=True, slots=True)
class TimedPerceiver:
    """With the bytes of weights that torch has, and on its GPU the same perceiver in float32 and without a graph."""

    perceiver: Perceiver
    notes: EncoderNotes
    weights: int | None = None
    eager: Perceiver | None = None


def open_timed_perceiver(settings: Perception, device: str, asked: Precision | None = None) -> TimedPerceiver:
    """That of the settings; float32, which the paper has, unless asked otherwise or the file has int8."""
    settings = changed(settings, {"precision": "float16" if asked == "float16" else "float32"})
    timed = (_open_torch if needs_torch(settings, device) else _open_other)(settings, device)
    if asked not in (None, timed.notes.precision):
        notes, ways = timed.notes, "float16 is for torch with --device cuda, int8 for files of `tmapr export --int8`"
        given = f"{notes.precision} by {notes.runtime} on {notes.device}"
        raise InputError(f"--precision {asked}: the encoder is {given}; {ways}")
    return timed


def _open_other(settings: Perception, device: str) -> TimedPerceiver:
    import onnxruntime

    perceiver = open_perceiver(settings, device)
    runtime: Runtime = "plug-in" if is_descriptor(settings) else "onnxruntime"
    where = "cuda" if device != "cpu" and CUDA in onnxruntime.get_available_providers() else "cpu"
    in_bytes = settings.is_exported and _BYTES in read_bytes(Path(settings.encoder), WEIGHTS_BYTES)
    precision = "int8" if in_bytes else choose_precision(settings, device)
    return TimedPerceiver(perceiver, EncoderNotes(device=where, precision=precision, runtime=runtime))


def _open_torch(settings: Perception, device: str) -> TimedPerceiver:
    import torch

    from tmapr.bench.random_vit import make_random_network
    from tmapr.gpu.encoder import GpuEncoder
    from tmapr.perception.network import TorchEngine, assemble, choose_device

    where, precision, random = choose_device(device), choose_precision(settings, device), settings.encoder == VIT
    gpu, threads = torch.cuda.get_device_name() if where == "cuda" else None, torch.get_num_threads()
    notes = EncoderNotes(device=where, accelerator=gpu, encoder_threads=threads, precision=precision, runtime="torch")
    network, card = make_random_network(settings) if random else assemble(settings)
    dtype = torch.float16 if precision == "float16" else torch.float32
    stored = dtype.itemsize * sum(each.numel() for each in network.parameters())
    perceivers = [Perceiver(card, settings.image, TorchEngine(network, where))]
    if gpu and not settings.is_plugin:
        how = network, settings.image, settings.size, where
        encoders = GpuEncoder(*how, dtype), GpuEncoder(*how, torch.float32, captures=False)
        perceivers = [Perceiver(card, settings.image, each) for each in encoders]
    perceiver, *eager = perceivers
    return TimedPerceiver(perceiver if random else open_perceiver(settings, device), notes, stored, *eager)


@dataclass(frozen=True, slots=True)
class Workload:
    """Made-up frames have `answers`."""

    settings: Experiment
    timed: TimedPerceiver
    localizer: Localizer
    frames: tuple[Frame, ...]
    images: str = MADE_UP
    answers: tuple[Percept, ...] = ()

    def stream(self) -> Perceive:
        """A new stream of frames: one encoder pass for each, and frozen ones are told from live ones."""
        perceive = self.timed.perceiver.with_inspection(Detector().inspect)
        return answer_with(self.answers, perceive) if self.answers else perceive


def prepare_work(settings: Experiment, timed: TimedPerceiver, localizer: Localizer, frames: int) -> Workload:
    """Frames of the first scored sequence if they are there, else made-up ones."""
    names, images = settings.data.scored, MADE_UP
    try:
        recorded = open_data(settings.data, names[0], localizer.frame) if names else None
    except InputError as error:  # a run folder may have been copied here without its data
        recorded, images = None, f"{MADE_UP} ({error})"
    if recorded is not None:
        shown = read_frames(recorded, WARM_UPS + frames)
        return Workload(settings, timed, localizer, shown, f"recorded, {names[0]}")
    answers = tuple(percept for percept, _ in islice(revisit(localizer.memory), WARM_UPS + frames))
    shown = invent_frames([percept.stamp for percept in answers])
    return Workload(settings, timed, localizer, shown, images, answers)


def invent_map(system: System, references: int, width: int) -> Map:
    """A drive around a block with a reference every two metres, in descriptors of that width."""
    rng, length = np.random.default_rng(1), _SPACING * references
    driven = drive(block_loop(0.3 * length, 0.2 * length), _SPEED, rng)
    truth, stamps = driven.positions[:references], driven.stamps[:references]
    waves, phases = rng.normal(size=(2, width)) / _DETAIL, rng.uniform(0, 2 * np.pi, width)
    descriptors = np.cos(truth.astype(np.float32) @ waves.astype(np.float32) + phases.astype(np.float32))
    descriptors /= np.linalg.norm(descriptors, axis=1, keepdims=True)
    rows = np.linspace(0, references - 1, references if references <= MANY else LESSONS).astype(int)
    classifier = Classifier.fit(system.places, descriptors[rows].astype(float), truth[rows])
    places = np.array([classifier.grid.enter(position) for position in truth])
    for row in rows:
        classifier.learn(descriptors[row].astype(float), truth[row])
    names, frames = np.full(references, "street"), np.arange(references)
    street = Traverses(descriptors, truth, stamps, frames, names, track_direction(truth), nan)
    # Nobody takes the lessons of a made-up map back, so their weights are not kept.
    return assemble(system, street, Learned(places, np.zeros((references, 1))), classifier, LOCAL_FRAME, OWN)


def choose_cell(references: int, places: int) -> float:
    """The side of cells of which the made-up drive, whose legs are straight, passes about so many."""
    return _SPACING * references / places


def revisit(memory: Memory) -> Iterator[tuple[Percept, Float[np.ndarray, "2"]]]:
    """The reference drives again, lap after lap, with noise of its own on each view and pose; and where each was."""
    rng, width, order = np.random.default_rng(2), memory.descriptors.shape[1], memory.order
    step = int(np.median(np.diff(memory.stamps[order])))
    for visit, row in enumerate(cycle(order), 1):
        noisy = memory.descriptors[row] + 0.2 / np.sqrt(width) * rng.normal(size=width)
        pose = memory.positions[row] + 2.0 * rng.normal(size=2)
        yield Percept(visit * step, noisy / np.linalg.norm(noisy), pose, 0.0), memory.positions[row]


def answer_with(percepts: Sequence[Percept], perceive: Perceive) -> Perceive:
    """Perceive every frame for the time it takes, then answer with the percept of its index."""
    return lambda frame: replace(percepts[frame.index], stamp=perceive(frame).stamp)


def invent_frames(stamps: Sequence[int]) -> tuple[Frame, ...]:
    """Frames with made-up images, at these times."""
    read = [partial(np.asarray, image) for image in invent_images(min(len(stamps), _KEPT))]
    return tuple(Frame("made up", index, stamp, read[index % _KEPT]) for index, stamp in enumerate(stamps))


def invent_images(number: int) -> UInt16[np.ndarray, "{number} 512 640"]:
    """Waves with a sensor's noise, in the counts of a thermal camera."""
    scene = 3500 + 300 * np.cos(np.indices((512, 640)) * 0.03).sum(axis=0)
    return (scene + np.random.default_rng(3).normal(scale=5.0, size=(number, 512, 640))).astype(np.uint16)


def read_frames(frames: Iterable[Frame], total: int) -> tuple[Frame, ...]:
    """A recording's first usable frames, read now, and again from the start until there are enough; time runs on."""
    inspect = Detector().inspect
    held = (replace(frame, image=partial(np.asarray, frame.image())) for frame in frames)
    kept = list(islice((frame for frame in held if inspect(frame.image()) is None), min(total, _KEPT)))
    if len(kept) < 2:  # one alone would look frozen when it comes round again
        raise InputError(f"{len(kept)} frames of the test sequence can be used, at least 2 are needed; `tmapr check`")
    count, lap = len(kept), kept[-1].stamp - kept[0].stamp + NANOSECONDS
    return tuple(replace(kept[k % count], stamp=kept[k % count].stamp + k // count * lap) for k in range(total))
