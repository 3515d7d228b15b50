"""A fleet is a folder that all of it see. It asks nobody who he is: whoever may write there may change all of it.

    FLEET/fleet.json                  what it is
    FLEET/releases/000001.json        a release: its document, who published it and when
    FLEET/pushes/ROBOT/NAME.json      a push, its parts in FLEET/parts/ROBOT
    FLEET/pulled/ROBOT.json           what a robot localizes with
    FLEET/objects/…                   the parts of releases

Files are written under another name, flushed and renamed: what is acknowledged is on the disk.
"""

import re
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tmapr.artifacts.atomic import replacing, write_new_text
from tmapr.artifacts.documents import Document
from tmapr.artifacts.lock import writing
from tmapr.exceptions import InputError
from tmapr.files import MEBIBYTE, open_regular, read_bytes
from tmapr.fleet.documents import Published, Push, Received, Release, name_text, read_document, write_document
from tmapr.fleet.keeping import tell_now
from tmapr.fleet.parts import name_part

FILE = "fleet.json"
_LOCK = ".fleet.lock"
_AGAIN = "tmapr fleet publish FLEET RUN"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class UnreachableError(InputError):
    """The folder is not there now, as where a network is gone. What is here goes on being used."""


@dataclass(frozen=True, slots=True)
class Robot:
    """A robot as the fleet knows it."""

    name: str
    release: str | None
    """What it pulled last."""
    pushes: int
    heard: str | None
    """When it pushed or pulled last."""


class Kept(Document):
    """FLEET/fleet.json."""

    kind: Literal["fleet"] = "fleet"
    version: Literal[1] = 1


class Entry(Document):
    """A document as a folder holds it."""

    kind: Literal["entry"] = "entry"
    version: Literal[1] = 1
    name: str
    number: int
    who: str
    when: str
    document: str


class PulledNote(Document):
    """What a robot said that it localizes with."""

    kind: Literal["pulled"] = "pulled"
    version: Literal[1] = 1
    release: str
    when: str


def locate_fleet(address: str) -> Path:
    """The folder that an address means; one of a server is not repeated, as it may hold a password."""
    scheme, separator, _ = address.partition("://")
    if separator:
        raise InputError(f"{scheme[:80]}://…: is no folder; a fleet is a folder that all robots see, name that")
    return Path(address)


def found_fleet(folder: Path) -> bool:
    """Make a new or empty folder a fleet, and say whether it was none before; one that is stays as it is."""
    if (folder / FILE).exists():
        return False
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise InputError(f"{folder}: is not empty and no fleet; name a new folder")
    Kept().save(folder / FILE)
    return True


def name_host() -> str:
    """What this machine is called where nobody says who it is."""
    name = re.sub(r"[^a-z0-9]+", "_", socket.gethostname().lower()).strip("_")[:50]
    return name if _NAME.fullmatch(name) else f"robot_{name}".rstrip("_")


class Fleet:
    """Releases, and what robots send; whatever is acknowledged stays, and stays as it is."""

    def __init__(self, folder: Path, robot: str | None = None) -> None:
        if not folder.is_dir():
            raise UnreachableError(
                f"{folder}: there is no such folder now; what is here stays in use (the first `{_AGAIN}` makes a fleet)"
            )
        if not (folder / FILE).exists():
            raise InputError(f"{folder}: is no fleet; `{_AGAIN}` makes an empty folder one")
        Kept.load(folder / FILE, _AGAIN)
        self._folder = folder
        self._robot = name_host() if robot is None else robot
        if not _NAME.fullmatch(self._robot):
            raise InputError(f"{self._robot[:80]!r}: cannot be a robot's name; take small letters, digits and _")

    @property
    def address(self) -> str:
        """The folder."""
        return str(self._folder.resolve())

    def list_releases(self) -> list[Published]:
        """All releases, the oldest first."""
        found = []
        for path in sorted((self._folder / "releases").glob("[0-9]*.json")):
            entry = Entry.load(path, _AGAIN)
            release = read_document(Release, entry.document, entry.name, str(path))
            found.append(Published(entry.name, entry.number, entry.who, entry.when, release))
        return found

    def publish(self, release: Release) -> Published:
        """Let all have a release, whose parts are kept here; one that they have already stays as it is."""
        text = write_document(release)
        with writing(self._folder, "try again", _LOCK):
            known = self.list_releases()
            for each in known:
                if each.name == name_text(text):
                    return each
            if release.parent and release.parent not in {each.name for each in known}:
                raise InputError(f"{self.address}: does not have the version {release.parent[:12]} that it follows")
            number = known[-1].number + 1 if known else 1
            entry = Entry(name=name_text(text), number=number, who=self._robot, when=tell_now(), document=text)
            write_new_text(self._folder / "releases" / f"{number:06d}.json", entry.as_json(), "try again")
        return Published(entry.name, number, entry.who, entry.when, release)

    def has(self, part: str) -> bool:
        """Whether a part of releases is kept here."""
        return self._shelve(part).is_file()

    def keep(self, part: bytes) -> None:
        """Keep a part of releases; one that is here already stays as it is."""
        path = self._shelve(name_part(part))
        if path.exists():
            return
        try:
            with replacing(path) as stream:
                stream.write(part)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror}); may you write there?") from None

    def read(self, part: str, size: int) -> bytes:
        """What is kept under the name of a part of releases, no more than its size; the reader compares it."""
        path = self._shelve(part)
        try:
            with open_regular(path) as stream:
                return stream.read(size)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); publish that map again") from None

    def find_missing(self, parts: Sequence[str]) -> list[str]:
        """Which of these the fleet does not have from this robot."""
        return [part for part in dict.fromkeys(parts) if not self._place(self._robot, part).is_file()]

    def send(self, part: bytes) -> str:
        """Hand a part over; its name."""
        with replacing(self._place(self._robot, name_part(part))) as stream:
            stream.write(part)
        return name_part(part)

    def push(self, push: Push) -> Received:
        """Hand over what was learned, whose parts were sent; acknowledged when it is on the disk."""
        missing = self.find_missing([part for file in push.files for part in file.parts])
        if missing or push.release not in {each.name for each in self.list_releases()}:
            raise InputError(f"{self.address}: the push names parts that were not sent, or a version that is not there")
        text = write_document(push)
        path = self._folder / "pushes" / self._robot / f"{name_text(text)}.json"
        if not path.exists():
            number = time.time_ns()
            entry = Entry(name=name_text(text), number=number, who=self._robot, when=tell_now(), document=text)
            with replacing(path) as stream:
                stream.write(entry.as_json().encode())
        return _read_push(path)

    def list_pushes(self) -> list[Received]:
        """What was pushed, the oldest first."""
        found = (_read_push(path) for path in (self._folder / "pushes").glob("*/*.json"))
        return sorted(found, key=lambda each: (each.number, each.name))

    def fetch(self, robot: str, part: str) -> bytes:
        """A part that a robot sent."""
        try:
            content = read_bytes(self._place(robot, part), 64 * MEBIBYTE)
        except OSError:
            content = b""
        if name_part(content) != part:
            raise InputError(f"{self.address}: the part {part[:12]} of {robot} is not there, or is another one")
        return content

    def note_pulled(self, release: str) -> None:
        """Say what this robot localizes with from now on."""
        PulledNote(release=release, when=tell_now()).save(self._folder / "pulled" / f"{self._robot}.json")

    def list_robots(self) -> list[Robot]:
        """All that pulled or pushed."""
        pushes = self.list_pushes()
        notes = {
            path.stem: PulledNote.load(path, "tmapr fleet pull FLEET --to DIR")
            for path in (self._folder / "pulled").glob("*.json")
        }
        robots = []
        for name in sorted({*notes, *(each.robot for each in pushes)}):
            own, note = [each for each in pushes if each.robot == name], notes.get(name)
            times = [*(each.received for each in own), *([note.when] if note else [])]
            robots.append(Robot(name, note.release if note else None, len(own), max(times)))
        return robots

    def _shelve(self, part: str) -> Path:
        return self._folder / "objects" / part[:2] / part

    def _place(self, robot: str, part: str) -> Path:
        if not _NAME.fullmatch(robot) or not re.fullmatch(r"[0-9a-f]{64}", part):
            raise InputError(f"{robot[:80]!r} has no part {part[:80]!r}")
        return self._folder / "parts" / robot / part[:2] / part


def _read_push(path: Path) -> Received:
    entry = Entry.load(path, "tmapr fleet push FLEET RUN")
    push = read_document(Push, entry.document, entry.name, str(path))
    return Received(entry.name, entry.number, path.parent.name, entry.when, push)
