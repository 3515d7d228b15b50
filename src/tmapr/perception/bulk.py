"""Many images at once: several readers take the next few frames in turn, work side by side, and pass on in order.

Each reader takes a chunk of neighbours from the stream when it is its turn, reads and prepares it while others do the
same with theirs, and waits for its turn again to compare it with what came before. So results are those of one reader,
bit for bit, however many there are and whoever is quicker.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from threading import Condition
from typing import TypeVar

from tmapr.artifacts.images import ImageFile
from tmapr.perception.glance import UNREADABLE, Chunk, Given, Glancer, RawCounts, Shown, read_or_none

AT_ONCE = 8
"""Frames that a reader takes: enough that taking turns costs nothing, few enough to hold them in memory."""

Result = TypeVar("Result")


def count_readers() -> int:
    """As many as this process may use cores."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


class Turns:
    """Lets numbered calls pass one after another, each number once."""

    def __init__(self) -> None:
        self._next = 0
        self._changed = Condition()

    @contextmanager
    def await_turn(self, number: int) -> Iterator[None]:
        """Wait for all lower numbers; the next may pass afterwards, even if this one fails."""
        with self._changed:
            self._changed.wait_for(lambda: self._next == number)
        try:
            yield
        finally:
            with self._changed:
                self._next += 1
                self._changed.notify_all()


def read_in_order(
    frames: Iterable[Given], glancer: Glancer, judge: Callable[[Chunk], Result], *, chunk: int, readers: int, ahead: int
) -> Generator[Result, None, None]:
    """What `judge` says of the stream's chunks, which it is given in order; at most `ahead` of them wait.

    Only files are read side by side. Whatever else gives images, a bag or a video or somebody's program, is asked for
    one after another.
    """
    remaining, taking, judging = iter(frames), Turns(), Turns()

    def read(number: int) -> Result | None:
        try:
            with taking.await_turn(number):
                given = list(islice(remaining, chunk))
                taken = [_take_image(each) for each in given]
            seen = _look_at(given, taken, glancer)
        except BaseException:
            with judging.await_turn(number):
                raise
        with judging.await_turn(number):
            return judge(seen) if given else None

    # Tasks begin in the order they are handed in: whoever waits for a turn waits for somebody who has begun.
    pool = ThreadPoolExecutor(max_workers=readers)
    try:
        numbers = iter(range(1 << 62))
        waiting = deque[Future[Result | None]](pool.submit(read, number) for number in islice(numbers, ahead))
        while (found := waiting.popleft().result()) is not None:
            waiting.append(pool.submit(read, next(numbers)))
            yield found
    finally:
        pool.shutdown(cancel_futures=True)


def _take_image(given: Given) -> ImageFile | RawCounts | None:
    """The file that holds a frame's image, which may be read later, or else its counts."""
    image = given.frame.image if isinstance(given, Shown) else given.image
    return image if isinstance(image, ImageFile) else read_or_none(image)


def _look_at(given: list[Given], taken: list[ImageFile | RawCounts | None], glancer: Glancer) -> Chunk:
    counts = [read_or_none(image) if isinstance(image, ImageFile) else image for image in taken]
    glances = [
        UNREADABLE if read is None else glancer.glance(read, not isinstance(each, Shown))
        for each, read in zip(given, counts, strict=True)
    ]
    return Chunk.compare(given, glances)
