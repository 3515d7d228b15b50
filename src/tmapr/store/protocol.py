"""What a store is to everybody who uses one."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

OBJECT_BYTES = 1 << 30
"""The largest object; ours have some megabytes."""


@runtime_checkable
class Store(Protocol):
    """Names and bytes. What is missing or cannot be reached is an `InputError` of one line that names the store."""

    def read(self, name: str) -> bytes:
        """All of an object."""

    def read_range(self, name: str, begin: int, end: int) -> bytes:
        """Its bytes from `begin` to before `end`, or to where it ends."""

    def write(self, name: str, content: bytes) -> None:
        """Whole or not at all; an object that is there already stays as it is."""

    def exists(self, name: str) -> bool:
        """Whether there is one."""

    def list(self, prefix: str) -> Iterator[str]:
        """The names below a folder such as `manifests`, sorted."""
