"""Processes that read files, lent to one reader at a time: started as they are asked for, given up where they end."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from tmapr.perception.glance import Glancer
from tmapr.perception.lent import Task
from tmapr.perception.reader import Reader

_LENT = 256 << 20
"""Bytes that all of them may share with this process."""
_log = logging.getLogger("tmapr")


class ProcessPool:
    """At most so many processes, each with a place for the images of one chunk."""

    def __init__(self, most: int, glancer: Glancer, chunk: int) -> None:
        self._most = most
        self._glancer = glancer
        self._chunk = chunk
        self._lock = Lock()
        self._idle = list[Reader]()
        self.started = list[Reader]()

    @contextmanager
    def lend(self, largest: int) -> Iterator[Reader | None]:
        """A process that is ready, if there is one; else one more is started, for images of so many bytes, if any."""
        with self._lock:
            reader = next((each for each in self._idle if largest and each.is_ready()), None)
            if reader:
                self._idle.remove(reader)
            elif largest and len(self.started) < self._most:
                self._start(largest)
            self._give_up_lost()
        try:
            yield reader
        finally:
            with self._lock:
                if reader:
                    self._idle.append(reader)
                self._give_up_lost()

    def count_ready(self) -> int:
        """How many could be lent now."""
        with self._lock:
            return sum(reader.is_ready() for reader in self._idle)

    def close(self) -> None:
        """End them all."""
        with self._lock:
            self._most = 0
            for reader in self.started:
                reader.close()
            self._idle.clear()

    def _start(self, largest: int) -> None:
        how = self._glancer
        task = Task(
            image=how.image,
            size=how.size,
            compares=how.compares,
            prepares=how.prepares,
            frames=self._chunk,
            counts=largest,
        )
        self._most = min(self._most, _LENT // (self._chunk * task.starts[2]))
        if len(self.started) >= self._most:
            return
        try:
            reader = Reader(task)
        except OSError as error:  # no more processes are allowed here, or there is no memory for them
            self._most = 0
            _log.info("images are read without processes: %s", error)
            return
        self.started.append(reader)
        self._idle.append(reader)

    def _give_up_lost(self) -> None:
        for reader in [each for each in self._idle if each.lost]:
            self._idle.remove(reader)
            code = reader.close()
            _log.warning("a process that read images ended (code %d); the images are read without it", code)
