"""The track as a TUM file that grows, line by line as `tmapr run` writes it, for `tail -f` and for evo."""

from pathlib import Path

from tmapr.artifacts.trajectory import tum_line
from tmapr.exceptions import InputError
from tmapr.live.events import Answer, Health, Scene
from tmapr.live.messages import LATE
from tmapr.live.outputs.appender import Appender
from tmapr.types import NANOSECONDS

_LONGEST = 4096
"""No line of ours has so many bytes."""


class TumSink:
    """Appends a line for every frame that is later than all before: readers of such files require increasing time."""

    name = "tum"
    complete = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Appender | None = None
        self._latest: int | None = None

    def begin(self, scene: Scene) -> None:  # noqa: ARG002
        """Go on after the last whole line of the file, if there is one."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._latest = _take_up(self._path)
            self._file = Appender(self._path)
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written ({error.strerror}); name another file") from None

    def take(self, answer: Answer) -> None:
        """A line, on disk at once."""
        if self._file is None:
            raise ValueError("`begin` opens the file")
        late = self._latest is not None and answer.stamp <= self._latest
        if late and answer.estimate.verdict.reason in LATE:
            return
        if late:
            raise InputError(
                f"{self._path}: holds stamps up to {self._latest}, and frame {answer.number} is of {answer.stamp}: the"
                " camera's clock was set back; lines follow when it has caught up"
            )
        x, y = answer.estimate.position.tolist()
        self._file.write(tum_line(answer.stamp, x, y, answer.estimate.heading).encode())
        self._file.flush()
        self._latest = answer.stamp

    def report(self, health: Health) -> None:
        """Nothing: lines say where, not how."""

    def close(self) -> None:
        """Every line is there already."""
        file, self._file = self._file, None
        if file:
            file.close()


def _take_up(path: Path) -> int | None:
    """The stamp of the last line; one that a power cut tore is cut off."""
    if not path.exists() or not path.stat().st_size:
        return None
    with path.open("rb+") as file:
        start = max(path.stat().st_size - _LONGEST, 0)
        file.seek(start)
        tail = file.read()
        whole = tail.rfind(b"\n") + 1
        lines = tail[:whole].splitlines()
        stamp = _read_stamp(lines[-1]) if lines else None
        if stamp is None:
            raise InputError(f"{path}: is no trajectory of ours, and is not appended to; name another file")
        file.truncate(start + whole)
    return stamp


def _read_stamp(line: bytes) -> int | None:
    """Nanoseconds, never through a float."""
    words = line.split()
    if len(words) != 8:
        return None
    negative = words[0].startswith(b"-")
    seconds, _, rest = words[0].lstrip(b"-").partition(b".")
    if not (seconds.isdigit() and rest.isdigit() and len(rest) == 9):
        return None
    stamp = int(seconds) * NANOSECONDS + int(rest)
    return -stamp if negative else stamp
