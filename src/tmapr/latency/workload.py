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
from tmapr.exceptions import InputError
from tmapr.localizer import Localizer
from tmapr.perception.image import Image
from tmapr.retrieval.memory import Memory
from tmapr.simulation.percepts import CONDITIONS, DescriptorField
from tmapr.simulation.route import block_loop, drive
from tmapr.stages import Perceive
from tmapr.system import Map, System, build, make_map
from tmapr.types import NANOSECONDS, Fault, Frame, Percept

MADE_UP = "made up, 512 × 640 at 16 bit; what is recognised is made up too"
KEPT = 64
"""Images that are held in memory; they come round again."""

_SPACING, _SPEED = 2.0, 20.0  # metres between references, m/s
_FEATURES = 256  # of the made-up world, spread over descriptors of any width: its own matrix grows with their square
_SHAPE = (512, 640)
_LEAST = 2  # one alone would look frozen when it comes round again

Visit = tuple[Percept, Float[np.ndarray, "2"]]
"""A percept, and where it was seen."""


@dataclass(frozen=True, slots=True)
class Workload:
    """`stream` begins a stream of frames, one encoder pass for each; `image` and `size` are how they are prepared."""

    system: System
    environment: Map
    stream: Callable[[], Perceive]
    image: Image
    size: tuple[int, int]
    frames: tuple[Frame, ...]

    def localizer(self) -> Localizer:
        """A new one, with what the map knows and nothing else."""
        return build(self.system, self.environment, begin_stream=self.stream)


def invent_map(system: System, references: int, width: int) -> Map:
    """A drive around a block with a reference every two metres, in descriptors of that width."""
    rng = np.random.default_rng(1)
    length = _SPACING * references
    way = drive(block_loop(0.3 * length, 0.2 * length), _SPEED, rng)
    truth, stamps = way.positions[:references], way.stamps[:references]
    features = DescriptorField.from_seed(1, _FEATURES).descriptors(truth, CONDITIONS["noon"], rng)
    spread = rng.normal(size=(_FEATURES, width))
    return make_map(system, Recording.from_arrays("street", stamps, features @ spread, truth=truth))


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
