"""Many images at once: several readers take the next few frames in turn, work side by side, and pass on in order.

Each reader takes a chunk of neighbours from the stream when it is its turn, reads and prepares it while others do the
same with theirs, and waits for its turn again to compare it with what came before. So results are those of one reader,
bit for bit, however many there are and whoever is quicker.

A reader is a thread: who decodes, prepares and digests images lets go of Python's lock meanwhile.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count, islice
from threading import Condition
from typing import Generic, TypeVar

from tmapr.perception.glance import UNREADABLE, Chunk, Given, Glance, Glancer, RawCounts, Shown, read_or_none

AT_ONCE = 8
"""Frames that a reader takes: enough that taking turns costs nothing, few enough to hold them in memory."""

Result = TypeVar("Result")


def count_cores() -> int:
    """Those that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Readers:
    """How many threads read side by side."""

    count: int = 1

    @property
    def ahead(self) -> int:
        """Chunks that are on their way, so that nobody has to wait for the network."""
        return 2 * self.count - 1


ONE = Readers()


class Turns:
    """Lets numbered calls pass one after another, each number once."""

    def __init__(self) -> None:
        self._next = 0
        self._changed = Condition()

    @contextmanager
    def hold(self, number: int) -> Iterator[Callable[[], None]]:
        """Gives what waits for all lower numbers; the next may pass afterwards, whatever happened to this one."""

        def wait() -> None:
            with self._changed:
                self._changed.wait_for(lambda: self._next == number)

        try:
            yield wait
        finally:
            wait()
            with self._changed:
                self._next += 1
                self._changed.notify_all()


class Reading(Generic[Result]):
    """One stream being read: what `judge` says of its chunks, which it is given in order.

    Only files are read side by side. Whatever else gives images, a bag or a video or somebody's program, is asked for
    one after another.
    """

    def __init__(
        self,
        frames: Iterable[Given],
        glancer: Glancer,
        judge: Callable[[Chunk], Result],
        readers: Readers,
        chunk: int = AT_ONCE,
    ) -> None:
        self._remaining = iter(frames)
        self._glancer = glancer
        self._judge = judge
        self._readers = readers
        self._chunk = chunk
        self._taking, self._judging = Turns(), Turns()

    def pass_on(self, ahead: int) -> Generator[Result, None, None]:
        """Results in order, while at most `ahead` chunks are on their way."""
        # Tasks begin in the order they are handed in: whoever waits for a turn waits for somebody who has begun.
        threads = ThreadPoolExecutor(max_workers=self._readers.count)
        try:
            numbers = count()
            waiting = deque[Future[Result | None]](threads.submit(self._read, next(numbers)) for _ in range(ahead))
            while (found := waiting.popleft().result()) is not None:
                waiting.append(threads.submit(self._read, next(numbers)))
                yield found
        finally:
            threads.shutdown(cancel_futures=True)

    def _read(self, number: int) -> Result | None:
        with self._judging.hold(number) as wait:
            with self._taking.hold(number) as wait_to_take:
                wait_to_take()
                given = list(islice(self._remaining, self._chunk))
                images = [_take_image(each) for each in given]
            if not given:
                return None
            glances = [_glance_at(each, image, self._glancer) for each, image in zip(given, images, strict=True)]
            seen = Chunk.compare(given, glances)
            wait()
            return self._judge(seen)


def gather(chunks: Iterable[Sequence[Result]], size: int) -> Iterator[list[Result]]:
    """Chunks of any length as lists of so many; the last may have fewer."""
    remaining = chain.from_iterable(chunks)
    while gathered := list(islice(remaining, size)):
        yield gathered


def _take_image(given: Given) -> RawCounts | None:
    """That of a frame that is no file; a file is read later."""
    frame = given.frame if isinstance(given, Shown) else given
    return None if frame.file else read_or_none(frame.image)


def _glance_at(given: Given, taken: RawCounts | None, glancer: Glancer) -> Glance:
    frame = given.frame if isinstance(given, Shown) else given
    counts = read_or_none(frame.image) if frame.file else taken
    return UNREADABLE if counts is None else glancer.glance(counts, not isinstance(given, Shown))
