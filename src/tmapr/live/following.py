"""A live drive in a program's own loop: frames go in, answers come out, in threads of their own."""

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from tmapr.live.events import Answer, Health, Scene
from tmapr.live.queueing import ClosedError, Line
from tmapr.live.session import Drive, begin_session
from tmapr.live.sources.recorded import Given, Iterated

_WAITING = 16


class _Handed:
    """Hands answers to the loop."""

    name = "program"
    complete = False

    def __init__(self, line: Line[Answer]) -> None:
        self._line = line

    def begin(self, scene: Scene) -> None:
        """Nothing: the loop waits already."""

    def take(self, answer: Answer) -> None:
        """Those that the loop has no time for go, oldest first."""
        self._line.put(answer)

    def report(self, health: Health) -> None:
        """Nothing: each answer says how many frames came before it."""

    def close(self) -> None:
        """No more will come."""
        self._line.close()


def follow(
    map_folder: Path, frames: Iterable[Given], run: Path | None, learn: Literal["off", "fused"], device: str
) -> Iterator[Answer]:
    """Answers to a program's frames; when the loop is left, the state is saved."""
    with begin_session(map_folder, run, learn, device) as session:
        line = Line[Answer](_WAITING)
        drive = session.drive(Iterated(frames), [_Handed(line)])
        thread = threading.Thread(target=_run, args=(drive, line), name="tmapr drive", daemon=True)
        thread.start()
        try:
            while True:
                try:
                    answer = line.take()
                except ClosedError:
                    break
                yield answer
        finally:
            drive.pipeline.stop()
            line.abandon()
            thread.join()
    if drive.pipeline.failure:
        raise drive.pipeline.failure


def _run(drive: Drive, line: Line[Answer]) -> None:
    try:
        drive.run()
    finally:
        line.close()
