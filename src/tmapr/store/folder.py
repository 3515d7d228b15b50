"""A store that is a folder of this machine: what robots pull to, and all that a small lab needs."""

from collections.abc import Iterator
from pathlib import Path

from tmapr.artifacts.atomic import PARTIAL, replacing
from tmapr.exceptions import InputError
from tmapr.files import open_regular, read_bytes
from tmapr.store.names import check_name
from tmapr.store.protocol import OBJECT_BYTES


class FolderStore:
    """Objects as files. They are written under another name, flushed and renamed; readers never see half of one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __str__(self) -> str:
        return str(self.folder)

    def path(self, name: str) -> Path:
        """Where an object lies, or would."""
        return self.folder / check_name(name)

    def read(self, name: str) -> bytes:
        """All of an object."""
        path = self.path(name)
        try:
            return read_bytes(path, OBJECT_BYTES)
        except OSError as error:
            raise _explain(path, error) from None

    def read_range(self, name: str, begin: int, end: int) -> bytes:
        """Its bytes from `begin` to before `end`, or to where it ends."""
        path = self.path(name)
        try:
            with open_regular(path) as stream:
                stream.seek(begin)
                return stream.read(max(end - begin, 0))
        except OSError as error:
            raise _explain(path, error) from None

    def write(self, name: str, content: bytes) -> None:
        """Whole or not at all; an object that is there already stays as it is."""
        path = self.path(name)
        if path.exists():
            return
        try:
            with replacing(path) as stream:
                stream.write(content)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror}); name a folder of your own") from None

    def exists(self, name: str) -> bool:
        """Whether there is one."""
        return self.path(name).is_file()

    def list(self, prefix: str) -> Iterator[str]:
        """The names below a folder, sorted."""
        files = (path for path in self.path(prefix).rglob("*") if path.is_file() and not path.name.endswith(PARTIAL))
        yield from sorted(path.relative_to(self.folder).as_posix() for path in files)


def _explain(path: Path, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return InputError(f"{path}: no such object in the store; is it the right store, and was the map written whole?")
    return InputError(f"{path}: cannot be read ({error.strerror})")
