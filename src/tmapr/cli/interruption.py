"""Ctrl-C and SIGTERM: the work stops, says what it has kept, and the command ends as shells expect it.

Whoever has something to keep catches KeyboardInterrupt, keeps it, adds a note of what holds, and raises it again.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NOTHING = "nothing that was there before has changed"


class Terminated(KeyboardInterrupt):
    """Somebody else has asked for the end, with SIGTERM."""


class Interrupted(BaseException):
    """The same, past everything that would make something else of a KeyboardInterrupt."""

    def __init__(self, stop: KeyboardInterrupt) -> None:
        super().__init__()
        number = signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT
        self.code = 128 + number
        self.kept = tuple(dict.fromkeys(stop.__dict__.get("__notes__", ()))) or (_NOTHING,)


def find_interrupt(error: BaseException | None) -> KeyboardInterrupt | None:
    """The interruption that an error is or follows from: one that comes while a class is made is made into another."""
    if error is None or isinstance(error, KeyboardInterrupt):
        return error
    return find_interrupt(error.__cause__ or error.__context__)


@contextmanager
def heeding() -> Iterator[None]:
    """Take SIGTERM for an interruption, unless somebody else has a use for it."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    owner = os.getpid()

    def stop(number: int, _: FrameType | None) -> None:
        if os.getpid() == owner:
            raise Terminated
        signal.signal(number, signal.SIG_DFL)  # a forked worker ends as it would
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
