"""What the latency protocol is run on: frames in memory, a perceiver, a map.

Made-up images show nothing of a map's places. They are encoded all the same, for the time it takes; what is then
recognised is what the map expects at that point of the drive, so that later stages do what they do on the road.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, cycle

import numpy as np
from jaxtyping import Float, Int, UInt16

from tmapr.artifacts.images import Counts
from tmapr.artifacts.percepts import Recording
from tmapr.data.health import Detector
from tmapr.data.poses import Poses, track_direction
from tmapr.exceptions import InputError
from tmapr.localizer import Localizer
from tmapr.perception.image import Image
from tmapr.places.grid import Grid
from tmapr.retrieval.memory import Memory, remember
from tmapr.simulation.percepts import CONDITIONS, DescriptorField
from tmapr.simulation.route import block_loop, drive
from tmapr.stages import Backend, Perceive
from tmapr.system import Map, System, build, make_map
from tmapr.types import NANOSECONDS, Fault, Frame, Percept

MADE_UP = "made up, 512 × 640 at 16 bit; what is recognised is made up too"
NUMBER_BASE = 2**16
"""A frame's number has two digits, in as many pixels."""
KEPT = 64
"""Images that are held in memory; they come round again."""

_SPACING, _SPEED = 2.0, 20.0  # metres between references, m/s
_FEATURES = 256  # of the made-up world, spread over descriptors of any width: its own matrix grows with their square
_SHAPE = (512, 640)
_HALVINGS = 40  # of the span in which a cell's side is looked for
_LEAST = 2  # one alone would look frozen when it comes round again

Visit = tuple[Percept, Float[np.ndarray, "2"]]
"""A percept, and where it was seen."""


@dataclass(frozen=True, slots=True)
class Workload:
    """`stream` begins a stream of frames, one encoder pass for each; `image` and `size` are how they are prepared.

    Without a `backend` frames are localized by the CPU.
    """

    system: System
    environment: Map
    stream: Callable[[], Perceive]
    image: Image
    size: tuple[int, int]
    frames: tuple[Frame, ...]
    backend: Backend | None = None

    def localizer(self) -> Localizer:
        """A new one, with what the map knows and nothing else."""
        return build(self.system, self.environment, begin_stream=self.stream, backend=self.backend)


def invent_map(system: System, references: int, width: int, lessons: int | None = None) -> Map:
    """A drive around a block with a reference every two metres, in descriptors of that width.

    Of more references than `lessons` A₀ is taught about so many, evenly spread, and the first of every place.
    """
    rng = np.random.default_rng(1)
    way = _drive_around(references, rng)
    truth, stamps = way.positions[:references], way.stamps[:references]
    features = DescriptorField.from_seed(1, _FEATURES).descriptors(truth, CONDITIONS["noon"], rng)
    spread = rng.normal(size=(_FEATURES, width))
    if lessons is None or lessons >= references:
        return make_map(system, Recording.from_arrays("street", stamps, features @ spread, truth=truth))
    taught = choose_lessons(truth, system.places.cell, lessons)
    few = Recording.from_arrays("street", stamps[taught], features[taught] @ spread, truth=truth[taught])
    environment = make_map(system, few)
    return replace(environment, memory=_remember_all(system, environment, stamps, features @ spread, truth))


def _drive_around(references: int, rng: np.random.Generator) -> Poses:
    length = _SPACING * references
    return drive(block_loop(0.3 * length, 0.2 * length), _SPEED, rng)


def trace_drive(references: int) -> Float[np.ndarray, "refs 2"]:
    """Where the references of the made-up drive are."""
    return _drive_around(references, np.random.default_rng(1)).positions[:references]


def choose_cell(references: int, places: int) -> float:
    """The side of cells of which the made-up drive passes about so many."""
    truth = trace_drive(references)
    small, large = _SPACING / 2, _SPACING * references
    for _ in range(_HALVINGS):
        middle = np.sqrt(small * large)
        more = len(np.unique(_find_cells(truth, middle), axis=0)) > places
        small, large = (middle, large) if more else (small, middle)
    return float(large)


def _find_cells(positions: Float[np.ndarray, "refs 2"], cell: float) -> Int[np.ndarray, "refs 2"]:
    return np.floor((positions - Grid.from_traverse(positions, cell).origin) / cell).astype(np.int64)


def choose_lessons(positions: Float[np.ndarray, "refs 2"], cell: float, lessons: int) -> Int[np.ndarray, " lessons"]:
    """Rows that are evenly spread, and the first of every place: places have the numbers that all rows give them."""
    _, first = np.unique(_find_cells(positions, cell), axis=0, return_index=True)
    return np.union1d(first, np.linspace(0, len(positions) - 1, lessons).astype(np.int64))


def _remember_all(
    system: System,
    environment: Map,
    stamps: Int[np.ndarray, " refs"],
    descriptors: Float[np.ndarray, "refs dim"],
    truth: Float[np.ndarray, "refs 2"],
) -> Memory:
    grid = environment.classifier().grid
    return remember(
        descriptors / np.linalg.norm(descriptors, axis=1, keepdims=True),
        truth,
        np.array([grid.enter(position) for position in truth]),
        stamps,
        frames=np.arange(len(truth)),
        sequences=np.full(len(truth), "street"),
        headings=track_direction(truth),
        probes=system.retrieval.probes,
    )


def revisit(memory: Memory) -> Iterator[Visit]:
    """The reference drives again, lap after lap; every descriptor and every pose has noise of its own."""
    rng = np.random.default_rng(2)
    order, width, stamps = memory.order, memory.descriptors.shape[1], _line_up(memory)
    lap = int(stamps.max() - stamps.min()) + NANOSECONDS
    for visit in count():
        row = order[visit % len(order)]
        noisy = memory.descriptors[row] + 0.2 / np.sqrt(width) * rng.normal(size=width)
        stamp = int(stamps[visit % len(order)]) + (1 + visit // len(order)) * lap
        pose = memory.positions[row] + 2.0 * rng.normal(size=2)
        yield Percept(stamp, noisy / np.linalg.norm(noisy), pose, 0.0), memory.positions[row]


def _line_up(memory: Memory) -> Int[np.ndarray, " refs"]:
    """Stamps in the order of the drives, each of which begins a second after the one before, whenever it was made."""
    first, *others = (memory.stamps[rows] for rows in memory.drives())
    lined = [first]
    for stamps in others:
        lined.append(stamps - stamps.min() + lined[-1].max() + NANOSECONDS)
    return np.concatenate(lined)


def invent_frames(stamps: Sequence[int]) -> tuple[Frame, ...]:
    """Frames with made-up images, at these times."""
    images = cycle(map(_hold, invent_images(min(len(stamps), KEPT))))
    return tuple(Frame("made up", index, stamp, next(images)) for index, stamp in enumerate(stamps))


def number_frames(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The same frames, whose images say in their first two pixels which frame they are of."""
    return tuple(replace(frame, image=_number(frame)) for frame in frames)


def _number(frame: Frame) -> Callable[[], Counts]:
    image = frame.image
    high, low = divmod(frame.index, NUMBER_BASE)

    def read() -> Counts:
        counts = image()
        # Into the image itself: it is another frame's only when this one is done with, and copies fill the memory.
        counts[0, :2] = low, high
        return counts

    return read


def answer_with(percepts: Sequence[Percept], perceive: Perceive) -> Perceive:
    """Perceive every frame for the time it takes, then answer with the percept of its index."""

    def answer(frame: Frame) -> Percept:
        perceive(frame)
        return percepts[frame.index]

    return answer


def invent_images(number: int) -> UInt16[np.ndarray, "{number} 512 640"]:
    """Waves with a sensor's noise, in the counts of a thermal camera."""
    rng = np.random.default_rng(3)
    rows, columns = np.meshgrid(*map(np.arange, _SHAPE), indexing="ij")
    images = np.empty((number, *_SHAPE), np.uint16)
    for image, (down, along) in zip(images, rng.normal(scale=0.03, size=(number, 2)), strict=True):
        scene = np.cos(down * rows + along * columns) + np.sin(along * rows)
        image[:] = 3500 + 300 * scene + rng.normal(scale=5.0, size=_SHAPE)
    return images


def read_frames(frames: Iterator[Frame], total: int, image: Image, size: tuple[int, int]) -> tuple[Frame, ...]:
    """A recording's first usable frames, read now, and again from the start until there are enough; time runs on."""
    detector, kept = Detector(), []
    for frame in frames:
        counts = frame.image()
        if detector.inspect(counts) is None and not isinstance(image.prepare(counts, size, "area"), Fault):
            kept.append(replace(frame, image=_hold(counts)))
        if len(kept) == min(total, KEPT):
            break
    if len(kept) < _LEAST:
        raise InputError(
            f"{len(kept)} frames of the test sequence can be used, at least {_LEAST} are needed; look with"
            " `tmapr check`"
        )
    return _repeat(kept, total)


def _hold(counts: Counts) -> Callable[[], Counts]:
    """The function by which a frame gets an image that is in memory."""
    return lambda: counts


def _repeat(frames: Sequence[Frame], total: int) -> tuple[Frame, ...]:
    lap = frames[-1].stamp - frames[0].stamp + NANOSECONDS
    rounds = (divmod(k, len(frames)) for k in range(total))
    return tuple(replace(frames[at], stamp=frames[at].stamp + number * lap) for number, at in rounds)
