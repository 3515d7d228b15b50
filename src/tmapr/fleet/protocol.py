"""What a fleet does, whether a PostgreSQL server or a folder is one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tmapr.exceptions import InputError
from tmapr.fleet.documents import Published, Push, Received, Release
from tmapr.store import Store


class UnreachableError(InputError):
    """Nobody answers: there is no network, or no server. What is here goes on being used."""


class RefusedError(InputError):
    """Somebody answers, and does not allow it."""


@dataclass(frozen=True, slots=True)
class Robot:
    """A robot as the fleet knows it."""

    name: str
    release: str | None
    """What it pulled last."""
    pushes: int
    heard: str | None
    """When it pushed or pulled last."""


@runtime_checkable
class Fleet(Protocol):
    """Releases, and what robots send; whatever is acknowledged stays, and stays as it is."""

    @property
    def address(self) -> str:
        """As people are told it: without a password."""
        ...

    @property
    def robot(self) -> str:
        """Who asks."""
        ...

    def open_store(self) -> Store:
        """Where the parts of releases are."""
        ...

    def list_releases(self) -> list[Published]:
        """All releases, the oldest first."""
        ...

    def publish(self, release: Release) -> Published:
        """Let all have a release, whose parts are in the store; one that they have already stays as it is."""
        ...

    def find_missing(self, parts: Sequence[str]) -> list[str]:
        """Which of these the fleet does not have from this robot."""
        ...

    def send(self, part: bytes) -> str:
        """Hand a part over; its name."""
        ...

    def push(self, push: Push) -> Received:
        """Hand over what was learned, whose parts were sent; acknowledged once it cannot be lost any more."""
        ...

    def list_pushes(self, release: str | None = None) -> list[Received]:
        """What was pushed, the oldest first: to a robot its own, to a publisher all of it."""
        ...

    def fetch(self, robot: str, part: str) -> bytes:
        """A part that a robot sent."""
        ...

    def note_pulled(self, release: str) -> None:
        """Say that this robot localizes with a release from now on."""
        ...

    def list_robots(self) -> list[Robot]:
        """The robots: to a robot itself, to a publisher all of them."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...
