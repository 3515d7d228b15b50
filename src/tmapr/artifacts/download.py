"""Fetch a large published file: continued where it broke off, checked, and under its own name only when it is whole.

The bytes gather in PATH.part. PATH.part.json says which version of which address they are, so that the next call asks
for the rest of that version and never joins two. A kill at any moment leaves PATH as it was.

Only https is spoken, only to the hosts that the caller names, wherever an address leads, and no more is taken than the
caller allows.
"""

import fcntl
import json
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from http.client import HTTPException, HTTPMessage, HTTPResponse
from io import FileIO
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.run import file_digest
from tmapr.exceptions import InputError

ByteWatch = Callable[[int, int | None], None]
LARGEST = 4 << 30
"""Bytes: several times what any published checkpoint has."""
_TIMEOUT = 30.0
_CHUNK = 1 << 20


class UnreachableError(InputError):
    """Not a byte came: no network, no such host, or a server that refuses."""


@dataclass(frozen=True, slots=True)
class _Note:
    """What the bytes in the part are of. `sha256` is what the server says of the whole file."""

    url: str
    etag: str | None
    size: int | None
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a download may lead, and how large it may be; a host stands for those below it too."""

    hosts: Collection[str]
    largest: int = LARGEST

    def allow(self, url: str) -> bool:
        """Whether an address is at one of the hosts."""
        host = find_host(url)
        return any(host == listed or host.endswith(f".{listed}") for listed in self.hosts)

    def check_address(self, url: str) -> None:
        """Refuse an address that is elsewhere."""
        if not self.allow(url):
            raise InputError(f"{url}: is at none of the hosts to download it from ({', '.join(self.hosts)})")

    def check_size(self, url: str, size: int) -> None:
        """Refuse what is larger."""
        if size > self.largest:
            raise InputError(f"{url}: has {size} bytes or more, and at most {self.largest} are taken")


def find_host(url: str) -> str:
    """The host of an https address; any other is refused."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if host is None or parts.scheme != "https":
        raise InputError(f"{url}: only https addresses are fetched")
    return host


def fetch(url: str, path: Path, *, bounds: Bounds, sha256: str | None, watch: ByteWatch) -> str:
    """Bring `url` to `path`; the SHA-256 of what lies there. `watch` is told the bytes so far and all of them."""
    bounds.check_address(url)
    part = path.with_name(f"{path.name}.part")
    with _claim(part) as stream:
        note = _read_note(part, url)
        if note is None or stream.tell() != note.size:
            note = _gather(url, note, stream, bounds, sha256, watch)
        os.fsync(stream.fileno())
        found, expected = file_digest(part), sha256 or note.sha256
        if expected not in (None, found):
            stream.truncate(stream.seek(0))
            raise InputError(f"{url}: SHA-256 {found} came, not {expected}; removed. If it is right, ask for that one")
        # A power cut that undoes the rename costs another download at worst.
        part.replace(path)
        _note_file(part).unlink()
    return found


@contextmanager
def _claim(part: Path) -> Iterator[FileIO]:
    """The part, for this process alone: two that append to it would write a mixture of the right length."""
    part.parent.mkdir(parents=True, exist_ok=True)
    with part.open("ab", buffering=0) as stream:
        alone = False
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between opening and locking, another process may have finished and renamed the very file opened here.
            alone = os.path.samestat(os.fstat(stream.fileno()), part.stat())
        if not alone:
            raise InputError(f"{part}: another process is downloading it; run the command again when it is done")
        try:
            yield stream
        finally:
            if not stream.tell():
                part.unlink(missing_ok=True)
                _note_file(part).unlink(missing_ok=True)


def _gather(
    url: str, note: _Note | None, stream: FileIO, bounds: Bounds, sha256: str | None, watch: ByteWatch
) -> _Note:
    """Append what is missing, or take all of it if the server no longer has the version that `note` names."""
    done = stream.tell()
    reply, offered = _ask(url, bounds, {"Range": f"bytes={done}-", "If-Range": str(note.etag)} if note else {})
    with reply:
        version, reach = reply.headers.get("ETag"), reply.headers.get("Content-Range")
        if note and note.size and (version, reach) == (note.etag, f"bytes {done}-{note.size - 1}/{note.size}"):
            _copy(reply, stream, note, bounds, watch)
            return note
        if reply.status == 200:
            fresh = _Note(url, version, reply.length, offered)
            if fresh.size is None and not (sha256 or offered):
                raise InputError(f"{url}: comes without a length, so a cut would go unseen; give its SHA-256")
            bounds.check_size(url, fresh.size or 0)
            stream.truncate(stream.seek(0))
            write_text(_note_file(Path(stream.name)), json.dumps(asdict(fresh)) + "\n")
            _copy(reply, stream, fresh, bounds, watch)
            return fresh
    if note is None:
        raise UnreachableError(f"{url}: HTTP {reply.status} instead of the file")
    return _gather(
        url, None, stream, bounds, sha256, watch
    )  # not the rest of that version: ask for all of the present one


def _copy(reply: HTTPResponse, stream: FileIO, note: _Note, bounds: Bounds, watch: ByteWatch) -> None:
    watch(stream.tell(), note.size)
    while note.size is None or stream.tell() < note.size:
        chunk = b""
        with suppress(OSError, HTTPException):  # a reset and a timeout are early ends like any other
            chunk = reply.read1(_CHUNK if note.size is None else min(_CHUNK, note.size - stream.tell()))
        if not chunk and note.size is None:
            return  # the SHA-256 will tell whether this was the end
        if note.size is None and stream.tell() + len(chunk) > bounds.largest:
            stream.truncate(stream.seek(0))
            bounds.check_size(note.url, bounds.largest + 1)
        there = f"{stream.tell()} of {note.size} bytes are there"
        if not chunk:
            raise InputError(f"{note.url}: broke off, {there}; run the command again to continue")
        try:
            while chunk:  # a full disk may take a piece and refuse the next one
                chunk = chunk[stream.write(chunk) :]
        except OSError as error:
            raise InputError(f"{stream.name}: {error.strerror}, {there}; make room and run the command again") from None
        watch(stream.tell(), note.size)


def _ask(url: str, bounds: Bounds, headers: dict[str, str]) -> tuple[HTTPResponse, str | None]:
    """The reply, and the SHA-256 that the chain of replies offers: Hugging Face's is on the redirecting one."""
    answers = _Answers(bounds)
    try:
        request = Request(url, headers={"User-Agent": "tmapr", "Accept-Encoding": "identity", **headers})
        reply: HTTPResponse = build_opener(answers).open(request, timeout=_TIMEOUT)
    except HTTPError as error:
        error.close()
        if error.code == 416 and headers:  # the file has become shorter than what is there of it
            return _ask(url, bounds, {})
        raise UnreachableError(f"{url}: HTTP {error.code} {error.reason}") from None
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise UnreachableError(f"{url}: cannot be reached ({reason})") from None
    linked = re.fullmatch(r'"?([0-9a-f]{64})"?', reply.headers.get("X-Linked-ETag") or answers.linked)
    return reply, linked[1] if linked else None


class _Answers(HTTPRedirectHandler):
    def __init__(self, bounds: Bounds) -> None:
        self.linked = ""
        self._bounds = bounds

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        self.linked = headers.get("X-Linked-ETag") or self.linked
        self._bounds.check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _read_note(part: Path, url: str) -> _Note | None:
    """The note, if the part can be continued by it: a weak ETag, W/"…", does not vouch for the bytes."""
    with suppress(OSError, ValueError, TypeError):
        note = _Note(**json.loads(_note_file(part).read_text(encoding="utf-8")))
        if note.url == url and str(note.etag).startswith('"') and part.stat().st_size <= (note.size or 0):
            return note
    return None


def _note_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")
