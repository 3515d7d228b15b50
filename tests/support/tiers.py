"""What a unit test may do: start no process, and take at most so many seconds of CPU once numba is warm.

A test above the limit is named at the end of the run; one that is far above it, which no busy core explains, fails.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from numba.core import event

MOST_SECONDS = 0.3
CERTAINTY = 3.0
"""How many times the limit is beyond doubt: another machine, or a busy one, takes twice as long for the same test."""
PACE = 0.015
"""CPU seconds of `measure_slowness`' loop on the quiet cores that the limit is meant for."""

STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec"}
_watched: list[str] = []


def _refuse_processes(name: str, _arguments: tuple[object, ...]) -> None:
    if _watched and name in STARTS:
        raise RuntimeError(f"{_watched[-1]}: a unit test starts no process ({name}); it belongs into system or long")


sys.addaudithook(_refuse_processes)


def measure_slowness() -> float:
    """How many times slower these cores are just now, busy or old; never below one."""
    began = time.process_time()
    sum(number * number for number in range(400_000))
    return max(1.0, (time.process_time() - began) / PACE)


@contextmanager
def watch_tier(test: str, notes: list[tuple[str, object]] | None = None) -> Iterator[None]:
    """Hold a unit test to its tier; others do as they like. What it took above the limit goes into the notes."""
    if not test.startswith("tests/unit/"):
        yield
        return
    compiling = event.RecordingListener()
    began = time.process_time()
    _watched.append(test)
    try:
        with event.install_listener("numba:compile", compiling):
            yield
    finally:
        _watched.pop()
    taken = time.process_time() - began
    if taken <= MOST_SECONDS or sys.gettrace() is not None or compiling.buffer:
        return
    allowed = MOST_SECONDS * measure_slowness()
    if taken > CERTAINTY * allowed:
        pytest.fail(f"{taken:.2f} CPU s; a unit test takes at most {MOST_SECONDS:g}: make it smaller, or move it")
    if taken > allowed and notes is not None:
        notes.append(("above its tier", taken))
