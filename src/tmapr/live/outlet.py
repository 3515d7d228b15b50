"""Hands answers to a sink in a thread of its own: however slow it is, no frame waits for it.

A sink that is to have every answer is waited for, for a while, where the source waits too. One that hangs is left
behind at the end: its thread dies with the process.
"""

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Literal

from tmapr.exceptions import InputError
from tmapr.live.events import Answer, Health, Part, Scene, Sink
from tmapr.live.gauges import Gauge
from tmapr.live.queueing import ClosedError, Line

_WAITING = 16
"""Answers, with their images."""
_PATIENCE = 5.0
"""Seconds that a file may take for one answer before it is left out, and that an end may take."""
_tell = logging.getLogger("tmapr").warning

Item = tuple[Literal["take"], Answer] | tuple[Literal["report"], Health]


class Outlet:
    """A sink with its thread."""

    def __init__(self, sink: Sink, waits: bool) -> None:
        self._sink = sink
        self._patient = waits and sink.complete
        self._line = Line[Item](_WAITING)
        self._gauge = Gauge(sink.name)
        self._dropped = 0
        self._thread = threading.Thread(target=self._work, name=f"tmapr {sink.name}", daemon=True)

    def begin(self, scene: Scene) -> None:
        """Begin with the sink; what it refuses is refused here."""
        self._sink.begin(scene)
        self._thread.start()

    def offer(self, answer: Answer) -> None:
        """Let the sink have an answer when it has time."""
        try:
            if self._patient:
                if not self._line.put_within(("take", answer), _PATIENCE):
                    self._patient = False  # it hangs: from now on without waiting
                    self._dropped += 1
            elif (gone := self._line.put(("take", answer))) and gone[0] == "take":
                self._dropped += 1
        except ClosedError:
            self._dropped += 1

    def report(self, health: Health) -> None:
        """Tell the sink how the drive is doing, unless it has enough to do."""
        if len(self._line) < _WAITING // 2:
            try:
                self._line.put(("report", health))
            except ClosedError:
                return

    def read(self) -> Part:
        """How it is doing."""
        return self._gauge.read(self._dropped)

    def close(self) -> bool:
        """Let it finish what it has; False if it hangs."""
        self._line.close()
        if self._thread.ident is not None:
            self._thread.join(_PATIENCE)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            try:
                item = self._line.take()
            except ClosedError:
                break
            if item[0] == "take":
                with self._gauge.working():
                    self._try(partial(self._sink.take, item[1]))
            else:
                self._try(partial(self._sink.report, item[1]))
        self._try(self._sink.close)

    def _try(self, work: Callable[[], None]) -> None:
        """An error is the sink's misfortune; it is told once for each kind, and the next answer is tried."""
        try:
            work()
        except Exception as error:
            reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            said = f"{self._sink.name}: {' '.join(reason.split())}; the drive goes on without it"
            if said != self._gauge.note:
                self._gauge.note = said
                _tell(said)
