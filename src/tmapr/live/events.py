"""What goes through a live drive: sources give frames and hints, the pipeline answers, and sinks take the answers.

A source and each sink have a thread of their own. Whatever is slow or hangs there costs answers nothing: frames that
nobody had time for are dropped, oldest first, and counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from tmapr.localizer import Localizer
from tmapr.types import Estimate, Frame


class Pose(NamedTuple):
    """Where the robot's own odometry has it, in a frame of its own that drifts: metres and radians."""

    x: float
    y: float
    yaw: float


@dataclass(frozen=True, slots=True)
class Arrival:
    """A frame that came from a source."""

    frame: Frame
    arrived: int | None = None
    """When it came, by `time.monotonic_ns`; None: it was recorded, and comes as fast as it is asked for."""
    odometry: Pose | None = None
    """At the frame's stamp, where a topic with poses of the robot's odometry is given."""


@dataclass(frozen=True, slots=True)
class Start:
    """A position that somebody knows, as `/initialpose` has it: the drive begins anew around it."""

    position: Float[np.ndarray, "2"]
    """In metres of the map."""
    deviation: float


Event = Arrival | Start


@runtime_checkable
class Source(Protocol):
    """Gives events in the order in which they came; iterated once, in a thread of its own."""

    @property
    def name(self) -> str:
        """As the user named it."""

    @property
    def waits(self) -> bool:
        """Whether it is recorded and comes as fast as it is asked for: then nothing has to be dropped."""

    def __iter__(self) -> Iterator[Event]:
        """Blocks until something comes; ends when nothing can come any more, or soon after `close`."""

    def close(self) -> None:
        """Called from another thread, once or more often: let go of the device, the topic or the file."""


@runtime_checkable
class Telling(Protocol):
    """A source that knows more of itself than when frames came: what it dropped, or could not read."""

    def read(self) -> "Part":
        """How it is doing."""


class Timings(NamedTuple):
    """Seconds that a frame took."""

    queued: float
    """From its arrival until somebody had time for it."""
    perception: float
    waiting: float
    """For an update of what is learned to end."""
    localization: float

    @property
    def step(self) -> float:
        """What answering took, from the percept on."""
        return self.waiting + self.localization


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of one frame."""

    number: int
    """Of frames that came before it, answered or dropped."""
    frame: Frame
    """Its stamp is the camera's, bit for bit; `image()` is in memory."""
    estimate: Estimate
    """Its stamps are those of the drive's own clock, which runs on where the camera's was set."""
    timings: Timings
    odometry: Pose | None = None
    lessons: int = 0
    """Learned since the start."""

    @property
    def stamp(self) -> int:
        """When the frame was taken, by its camera's clock."""
        return self.frame.stamp


@dataclass(frozen=True, slots=True)
class Part:
    """How one part is doing: the source, perception, localization, learning, a sink, the journal."""

    name: str
    done: int
    """Frames that it has finished."""
    dropped: int = 0
    """Frames that it had no time for."""
    busy: float = 0.0
    """Seconds since it began what it is doing now; 0: it waits for work."""
    idle: float = 0.0
    """Seconds since it last finished something."""
    late: bool = False
    note: str = ""
    """What went wrong last, if anything did."""


@dataclass(frozen=True, slots=True)
class Health:
    """How a live drive is doing."""

    seconds: float
    """Since it began."""
    taken: int
    """Frames that came: each is answered, dropped, or on its way."""
    answered: int
    dropped: int
    lessons: int
    rollbacks: int
    parts: tuple[Part, ...]

    @property
    def late(self) -> tuple[str, ...]:
        """The parts that hold the others up."""
        return tuple(part.name for part in self.parts if part.late)


@dataclass(frozen=True, slots=True)
class Scene:
    """What does not change during a drive: what sinks need to begin."""

    localizer: Localizer
    """For its map: `memory` and `frame`. Sinks never ask it to do anything."""
    map_folder: Path
    run_folder: Path
    source: str


@runtime_checkable
class Sink(Protocol):
    """Takes answers in their order, in a thread of its own; it may be slow, fail or hang."""

    @property
    def name(self) -> str:
        """As messages name it."""

    @property
    def complete(self) -> bool:
        """Whether it is to have every answer where the source waits, as a file is; viewers may miss some."""

    def begin(self, scene: Scene) -> None:
        """Before the first answer. An InputError ends the drive before it begins."""

    def take(self, answer: Answer) -> None:
        """One answer. An error is told once, and the next answer tried."""

    def report(self, health: Health) -> None:
        """Once a second, and at the end."""

    def close(self) -> None:
        """After the last answer: what is written is whole."""
