"""A process that reads files for a stream: paths come as lines on its standard input, answers go out as lines.

The memory that it shares has no name, and it ends with its standard input, so that nothing is left behind however
either process ends. It is no fork, which would copy locks amid whatever other threads do, and imports nobody's main
module. An answer of null says that whoever asked has to look for himself; so does the process's end.
"""

import json
import mmap
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from select import select

import numpy as np

from tmapr.artifacts.png import read_many
from tmapr.perception.glance import UNREADABLE, Chunk, Given, read_or_none
from tmapr.perception.lent import Places, Task, Told

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from tmapr.perception.reader import serve; serve(int(sys.argv[2]))"
)
_READY = b"ready\n"


class Reader:
    """Such a process, and what is needed to ask it, one chunk at a time.

    `answered` counts the chunks that it looked at; `lost` says that it has ended.
    """

    def __init__(self, task: Task) -> None:
        memory = os.memfd_create("tmapr")
        try:
            os.ftruncate(memory, task.frames * task.starts[2])
            self._places = Places(task, np.frombuffer(mmap.mmap(memory, 0), np.uint8))
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps(sys.path), str(memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[memory],
                start_new_session=True,  # Ctrl-C is ours to answer
            )
        finally:
            os.close(memory)
        self.lost = False
        self.answered = 0
        self._ready = False
        self._send(task.model_dump_json())

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def is_ready(self) -> bool:
        """Whether it has loaded what it needs, which takes a second; until then others have to read."""
        assert self._process.stdout
        if not self._ready and select([self._process.stdout], [], [], 0)[0]:
            self._ready = self._receive() == _READY
        return self._ready and not self.lost

    def look_at(self, given: Sequence[Given], files: Sequence[tuple[Path, bool]]) -> Chunk | None:
        """What files tell, of which only some are encoded; None if somebody else has to look."""
        self._send(json.dumps([[str(path.absolute()), encoded] for path, encoded in files]))
        line = self._receive()
        answer = None if self.lost else json.loads(line)
        if answer is None:
            return None
        self.answered += 1
        told, shifts = answer
        return Chunk(given, [self._places.take(number, each) for number, each in enumerate(told)], shifts)

    def close(self) -> int:
        """End it, at once: it holds nothing that could be lost. Returns its exit code."""
        self._process.kill()
        with suppress(OSError), self._process:
            pass
        return self._process.returncode

    def _send(self, line: str) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self.lost = True

    def _receive(self) -> bytes:
        assert self._process.stdout
        line = self._process.stdout.readline()
        self.lost = self.lost or not line.endswith(b"\n")  # its last words may be cut off
        return line


def serve(memory: int) -> None:
    """Answer requests until there are no more."""
    import cv2

    cv2.setNumThreads(1)  # there are as many of these processes as cores
    task = Task.model_validate_json(sys.stdin.buffer.readline())
    places = Places(task, np.frombuffer(mmap.mmap(memory, 0), np.uint8))
    _answer(_READY)
    for line in sys.stdin.buffer:
        _answer(json.dumps(_look_at(json.loads(line), task, places)).encode() + b"\n")


def _look_at(files: list[tuple[str, bool]], task: Task, places: Places) -> tuple[list[Told], list[float | None]] | None:
    images = [(read_or_none(partial(read_many, Path(path))), encoded) for path, encoded in files]
    glancer = task.glancer
    glances = [UNREADABLE if counts is None else glancer.glance(counts, encoded) for counts, encoded in images]
    try:
        told = [places.put(number, glance) for number, glance in enumerate(glances)]
    except ValueError:
        return None
    return told, list(Chunk.compare((), glances).shifts)


def _answer(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
