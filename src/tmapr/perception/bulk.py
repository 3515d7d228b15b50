"""Many images at once: several readers take the next few frames in turn, work side by side, and pass on in order.

Each reader takes a chunk of neighbours from the stream when it is its turn, reads and prepares it while others do the
same with theirs, and waits for its turn again to compare it with what came before. So results are those of one reader,
bit for bit, however many there are and whoever is quicker.

A reader is a thread. In a stream that proves long, on more cores than Python's lock lets threads use, it has a process
look at files; while that is starting, and where it has ended, the thread looks for itself.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from threading import Condition
from typing import Generic, TypeVar

from tmapr.artifacts.images import ImageFile
from tmapr.artifacts.png import read_many
from tmapr.perception.glance import UNREADABLE, Chunk, Given, Glance, Glancer, RawCounts, Shown, read_or_none
from tmapr.perception.pool import ProcessPool

AT_ONCE = 8
"""Frames that a reader takes: enough that taking turns costs nothing, few enough to hold them in memory."""

Result = TypeVar("Result")
Taken = ImageFile | RawCounts | None
"""Of a frame: a file that may be read later, counts, or nothing where there should have been some."""


def count_cores() -> int:
    """Those that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Readers:
    """How many there are, above how many of them processes look at files, and from which chunk on a stream is long.

    Compiled code and processes take a second or more until they are there, so that a short stream goes without.
    """

    count: int = 1
    threads: int = 1
    long: int = 32

    @property
    def ahead(self) -> int:
        """Chunks that are on their way, so that nobody has to wait for the network."""
        return 2 * self.count - 1

    @property
    def processes(self) -> int:
        """How many may be started; memory without a name is Linux's."""
        return self.count if self.count > self.threads and os.path.exists("/proc/self/fd") else 0


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
        self._largest = 0
        self.pool = ProcessPool(readers.processes, glancer, chunk)

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
            try:
                threads.shutdown(cancel_futures=True)
            finally:
                self.pool.close()

    def _read(self, number: int) -> Result | None:
        with self._judging.hold(number) as wait:
            with self._taking.hold(number) as wait_to_take:
                wait_to_take()
                given = list(islice(self._remaining, self._chunk))
                images = [_take_image(each) for each in given]
            if not given:
                return None
            quick, files = number >= self._readers.long, _list_files(given, images)
            with self.pool.lend(self._largest if quick and files else 0) as process:
                seen = process.look_at(given, files) if process and files else None
                if seen is None:
                    seen = self._look_at(given, images, quick)
                wait()
                return self._judge(seen)

    def _look_at(self, given: Sequence[Given], images: Sequence[Taken], quick: bool) -> Chunk:
        """In this thread."""
        glances = [_glance_at(each, image, self._glancer, quick) for each, image in zip(given, images, strict=True)]
        sizes = [glance.counts.nbytes for glance in glances if glance.counts is not None]
        self._largest = max([self._largest, *sizes])
        return Chunk.compare(given, glances)


def gather(chunks: Iterable[Sequence[Result]], size: int) -> Iterator[list[Result]]:
    """Chunks of any length as lists of so many; the last may have fewer."""
    remaining = chain.from_iterable(chunks)
    while gathered := list(islice(remaining, size)):
        yield gathered


def _list_files(given: Sequence[Given], images: Sequence[Taken]) -> list[tuple[Path, bool]]:
    """The files of a chunk, and which of them are encoded; none if any image is something else."""
    paths = [image.path for image in images if isinstance(image, ImageFile)]
    encoded = [not isinstance(each, Shown) for each in given]
    return list(zip(paths, encoded, strict=True)) if len(paths) == len(given) else []


def _take_image(given: Given) -> Taken:
    image = given.frame.image if isinstance(given, Shown) else given.image
    return image if isinstance(image, ImageFile) else read_or_none(image)


def _glance_at(given: Given, image: Taken, glancer: Glancer, quick: bool) -> Glance:
    read = partial(read_many, image.path) if quick and isinstance(image, ImageFile) else image
    counts = read_or_none(read) if callable(read) else read
    return UNREADABLE if counts is None else glancer.glance(counts, not isinstance(given, Shown))
