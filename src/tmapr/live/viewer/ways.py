"""Where a recording goes: into a file, to whoever connects, or to a viewer that is opened here.

A viewer is always a client of a server in this process, also one that is opened here: what a client does not read is
dropped when the server's buffer is full, so that a viewer which hangs holds up nobody. A recording that is sent to a
viewer's own server would, for as long as that hangs, and the end of the process with it (measured, rerun 0.41).
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tmapr.exceptions import InputError

if TYPE_CHECKING:
    import rerun as rr

PORT = 9876
"""Rerun's own: what `rerun --connect` asks for unless it is told another."""
WAYS = "spawn|serve|serve:PORT|FILE.rrd"

_LOCAL = "127.0.0.1"
_HIGHEST_PORT = 65535
_PATIENCE = 5.0
"""Seconds that a server may take to begin."""
BUFFER = "128MiB"
"""What a viewer that connects late, or is slow, can still get: minutes of a drive."""
_PACE = 0.2


@dataclass(frozen=True, slots=True)
class ToFile:
    """A recording on disk, which `rerun FILE` shows."""

    path: Path
    complete: bool = True
    """Whether all that is sent there is to arrive."""
    pace: float = 2.0
    """Seconds after which what was drawn is sent: each piece has kilobytes of its own."""

    @property
    def words(self) -> Sequence[str]:
        """The command that shows it."""
        return (f"watch: rerun {self.path}",)

    def open(self, stream: "rr.RecordingStream") -> None:
        """Begin the file; one that was there is gone."""
        try:
            stream.save(self.path)
        except RuntimeError as error:
            raise InputError(f"{self.path}: cannot be written ({error}); name another file") from None

    def hold(self) -> None:
        """Nobody has to stay for a file."""


@dataclass(frozen=True, slots=True)
class Serve:
    """A server for a robot without a screen; only this machine reaches it, and others through ssh."""

    port: int = PORT
    buffer: str = BUFFER
    complete: bool = False
    pace: float = _PACE

    @property
    def words(self) -> Sequence[str]:
        """The commands that show it, here and from elsewhere."""
        return (
            f"watch: rerun --connect {name_address(self.port)}",
            f"on another machine, before that: ssh -L {self.port}:localhost:{self.port} ROBOT",
        )

    def open(self, stream: "rr.RecordingStream") -> None:
        """Begin to serve."""
        _serve(stream, self.port, self.buffer, f"view serve:{self.port}")

    def hold(self) -> None:
        """Until somebody interrupts."""
        threading.Event().wait()


@dataclass(frozen=True, slots=True)
class Spawn:
    """A viewer on this screen."""

    buffer: str = BUFFER
    complete: bool = False
    pace: float = _PACE
    words: Sequence[str] = ()
    _viewers: list[subprocess.Popen[bytes]] = field(default_factory=list, repr=False, compare=False)

    def open(self, stream: "rr.RecordingStream") -> None:
        """Open a viewer, which stays when the drive has ended."""
        with socket.create_server((_LOCAL, 0)) as free:
            port = free.getsockname()[1]
        _serve(stream, port, self.buffer, "view spawn")
        command = [sys.executable, "-m", "rerun_cli", "--connect", name_address(port), "--hide-welcome-screen"]
        # It would send usage data unless it believes to be tested. In a session of its own Ctrl-C does not reach it.
        quiet = os.environ | {"CI": "true"}
        self._viewers.append(subprocess.Popen(command, env=quiet, stderr=subprocess.DEVNULL, start_new_session=True))

    def hold(self) -> None:
        """Until the viewer is closed."""
        for viewer in self._viewers:
            viewer.wait()


Way = ToFile | Serve | Spawn
"""`words` tell how to look at it, `open` lets a recording go there, `hold` stays while somebody may want to look."""


def find_way(text: str, buffer: str = BUFFER) -> Way:
    """The way that an option names; what cannot work here is refused before anything begins."""
    if find_spec("rerun") is None:
        raise InputError(f"view {text}: needs rerun; run: pip install 'tmapr[view]'")
    if text == "spawn":
        if sys.platform == "linux" and not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
            raise InputError("view spawn: there is no screen here; say `serve` or FILE.rrd")
        return Spawn(buffer)
    verb, colon, port = text.partition(":")
    if verb == "serve":
        return Serve(_read_port(text, port) if colon else PORT, buffer)
    path = Path(text)
    if path.suffix != ".rrd":
        raise InputError(f"view {text}: must be one of {WAYS}")
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"view {text}: {'is a folder' if path.is_dir() else 'there is no such folder'}; name a file")
    return ToFile(path)


def _serve(stream: "rr.RecordingStream", port: int, buffer: str, option: str) -> None:
    """Serve a recording on this machine; a port that is taken is told here, where Rerun tells it only to its log."""
    import rerun as rr

    try:
        socket.create_server((_LOCAL, port)).close()
    except OSError as error:
        way_out = "name another, as in serve:9877"
        raise InputError(f"{option}: port {port} cannot be had ({error.strerror}); {way_out}") from None
    stream.set_sinks(rr.GrpcServerSink(_LOCAL, port, server_memory_limit=buffer))
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection((_LOCAL, port), timeout=_PATIENCE):
            return
        time.sleep(0.02)
    raise InputError(f"{option}: the server on port {port} did not begin within {_PATIENCE:g} s; try another port")


def name_address(port: int) -> str:
    """What a viewer on this machine connects to."""
    return f"rerun+http://{_LOCAL}:{port}/proxy"


def _read_port(text: str, port: str) -> int:
    if not port.isdecimal() or not 0 < int(port) <= _HIGHEST_PORT:
        raise InputError(f"view {text}: a port is a number from 1 to {_HIGHEST_PORT}, as in serve:{PORT}")
    return int(port)
