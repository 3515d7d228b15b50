"""What the command did and said goes into the log of every run folder that it wrote into; `--verbose` shows it live.

One handler of the logger `tmapr`, and an ear at standard output and standard error: no verb knows of either.
"""

import io
import logging
import os
import re
import shlex
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

from tmapr.artifacts.logbook import Taken, append
from tmapr.cli.version import describe_version

if TYPE_CHECKING:
    from typing_extensions import Buffer

_ERASED = "\x1b[2K"
"""In what a progress bar writes, which takes its lines back."""
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WAITING = 500
"""Lines kept until a run folder is written into."""
_LONGEST = 1 << 16
_Text = TextIO | io.TextIOBase
_Bytes = BinaryIO | io.BufferedIOBase


class Journal(logging.Handler):
    """Remembers what was said until it is known where to write it."""

    def __init__(self, terminal: _Text) -> None:
        super().__init__(logging.INFO)
        self.verbose = False
        """Whether messages are shown while they come."""
        self._terminal = terminal
        self._began, self._process = time.monotonic(), os.getpid()
        self._folders = list[Path]()
        self._waiting = deque[tuple[float, str]](maxlen=_WAITING)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message down; one who has taken a folder is written there from its beginning on."""
        if os.getpid() != self._process:  # a forked worker's folders are its parent's
            return
        if isinstance(record.msg, Taken):
            self._open(record.msg.folder)
        text = record.getMessage()
        if self.verbose:
            self._terminal.write(f"{time.monotonic() - self._began:8.2f} s  {text}\n")
            self._terminal.flush()
        self.note(text)

    def note(self, text: str) -> None:
        """Write lines down, now or when there is somewhere to."""
        if not self._folders:
            self._waiting.append((time.time(), text))
        for folder in self._folders:
            append(folder, text, when=time.time())

    def end(self, how: str) -> None:
        """Write down how the command ended."""
        self.note(f"ended: {how} after {time.monotonic() - self._began:.1f} s")

    def _open(self, folder: Path) -> None:
        # A folder inside one that is written to already, as an ablation has them, is part of that.
        if any(folder.resolve().is_relative_to(known.resolve()) for known in self._folders):
            return
        command = shlex.join(["tmapr", *sys.argv[1:]])
        append(folder, f"began: {command}, in {Path.cwd()}, {describe_version()}", when=time.time())
        for when, text in self._waiting:
            append(folder, text, when=when)
        self._folders.append(folder)


@contextmanager
def listening() -> Iterator[Journal]:
    """A journal of everything that is told meanwhile."""
    logger, journal = logging.getLogger("tmapr"), Journal(sys.stderr)
    before, streams = (logger.level, logger.propagate), (sys.stdout, sys.stderr)
    heard = _overhear(sys.stdout, journal.note), _overhear(sys.stderr, journal.note)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(journal)
    sys.stdout, sys.stderr = heard
    try:
        yield journal
    finally:
        logger.removeHandler(journal)
        logger.level, logger.propagate = before
        if sys.stdout is heard[0]:  # not where its reader has gone: then nothing may be written at the end, either
            for stream in heard:
                stream.flush()
            sys.stdout, sys.stderr = streams


class _Ear(io.BufferedIOBase):
    """Passes bytes on to a stream, and whole lines of them to whoever listens."""

    def __init__(self, stream: _Bytes, encoding: str, hear: Callable[[str], None]) -> None:
        self._stream, self._encoding, self._hear, self._begun = stream, encoding, hear, b""

    def write(self, given: "Buffer") -> int:
        written = self._stream.write(given)
        *lines, self._begun = (self._begun + bytes(given)).split(b"\n")
        for line in lines:
            text = line.decode(self._encoding, "replace")
            if text.strip() and _ERASED not in text:
                self._hear(_STYLE.sub("", text).rpartition("\r")[2])
        self._begun = self._begun[-_LONGEST:]
        return written

    def flush(self) -> None:
        if not self._stream.closed:  # others may hold on to this one for longer
            self._stream.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return not self._stream.closed and self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


def _overhear(stream: _Text, hear: Callable[[str], None]) -> _Text:
    """The same stream with an ear; one of a kind that cannot have one as it is."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    ear = _Ear(stream.buffer, stream.encoding, hear)
    return io.TextIOWrapper(
        cast("BinaryIO", ear),
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
