"""A drive with faults through the whole of a live session: what was answered, and what each sink got of it."""

import errno
import os
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from injections import FULL, HANGS, REPLACED, Drive, Fault, inject
from tmapr.live.events import Answer, Arrival, Health, Scene
from tmapr.live.session import begin_session
from tmapr.live.sources.recorded import Iterated

Learn = Literal["off", "fused"]


@dataclass(frozen=True, slots=True)
class Driven:
    """What came of a drive."""

    drive: Drive
    answers: list[Answer]
    health: Health
    steps: int
    """How often the camera's clock was found to be set."""
    viewed: int
    """Answers that the viewer got."""
    written: list[int]
    """Numbers of the answers that the disk had room for."""


class Keeper:
    """A sink that keeps every answer, and tells the others how far the drive is."""

    name, complete = "keeper", True

    def __init__(self, drive: Drive) -> None:
        self.answers: list[Answer] = []
        self._drive = drive
        self._now = -1
        self._changed = threading.Condition()

    def begin(self, scene: Scene) -> None:
        """Nothing to begin."""

    def take(self, answer: Answer) -> None:
        """Keep it."""
        self.answers.append(answer)
        self._reach(self._drive[answer.number].now)

    def report(self, health: Health) -> None:
        """Nothing to tell."""

    def close(self) -> None:
        """Let go of those that wait for more."""
        self._reach(2**62)

    def wait_for(self, now: int) -> None:
        """Until the drive has come to a frame."""
        with self._changed:
            self._changed.wait_for(lambda: self._now >= now)

    def _reach(self, now: int) -> None:
        with self._changed:
            self._now = max(self._now, now)
            self._changed.notify_all()


class Faulty:
    """A sink to which something happens while a fault is there."""

    def __init__(self, keeper: Keeper, drive: Drive, faults: Sequence[Fault]) -> None:
        self.got: list[int] = []
        self._keeper, self._drive, self._faults = keeper, drive, faults

    def begin(self, scene: Scene) -> None:
        """Nothing to begin."""

    def report(self, health: Health) -> None:
        """Nothing to tell."""

    def close(self) -> None:
        """Nothing to end."""

    def find(self, answer: Answer) -> Fault | None:
        """The fault that is there, if any."""
        now = self._drive[answer.number].now
        return next((fault for fault in self._faults if fault.covers(now)), None)


class Viewer(Faulty):
    """Hangs until the fault is over."""

    name, complete = "viewer", False

    def take(self, answer: Answer) -> None:
        """Show it, sooner or later."""
        if fault := self.find(answer):
            self._keeper.wait_for(fault.end)
        self.got.append(answer.number)


class Disk(Faulty):
    """Has no room while the fault is there."""

    name, complete = "disk", True

    def take(self, answer: Answer) -> None:
        """Write it, if there is room."""
        if self.find(answer):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.got.append(answer.number)


class Mapper(Faulty):
    """Somebody who makes the map anew, and thinks better of it when the fault is over."""

    name, complete = "mapper", True

    def __init__(self, keeper: Keeper, drive: Drive, faults: Sequence[Fault], map_file: Path) -> None:
        super().__init__(keeper, drive, faults)
        self._file, self._kept = map_file, map_file.with_suffix(".kept")

    def take(self, answer: Answer) -> None:
        """Replace the map, or put it back."""
        if self.find(answer) is None:
            self.close()
        elif not self._kept.exists():
            os.link(self._file, self._kept)
            other = self._file.with_suffix(".new")
            other.write_bytes(b"another map")
            os.replace(other, self._file)

    def close(self) -> None:
        """Put the map back."""
        if self._kept.exists():
            os.replace(self._kept, self._file)


def drive_through(map_folder: Path, drive: Drive, faults: Sequence[Fault] = (), learn: Learn = "off") -> Driven:
    """Drive with faults, in a run folder and on a map of its own."""

    def pick(kind: str) -> list[Fault]:
        return [fault for fault in faults if fault.kind == kind]

    faulty = inject(drive, faults)
    keeper = Keeper(faulty)
    viewer, disk = Viewer(keeper, faulty, pick(HANGS)), Disk(keeper, faulty, pick(FULL))
    with TemporaryDirectory() as scratch:
        mapped = shutil.copytree(map_folder, Path(scratch) / "map", symlinks=True)
        mapper = Mapper(keeper, faulty, pick(REPLACED), mapped / "map.npz")
        with begin_session(mapped, Path(scratch) / "run", learn, "cpu") as session:
            source = Iterated([Arrival(each.frame, each.arrived) for each in faulty], waits=True)
            begun = session.drive(source, [keeper, viewer, disk, mapper])
            health = begun.run()
    return Driven(faulty, keeper.answers, health, begun.pipeline.clock_steps, len(viewer.got), disk.got)
