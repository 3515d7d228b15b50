"""What kept things were made from, image by image, so that a cache knows when it is no longer true.

A change is seen by size and time stamp; where these differ, the content decides: a copy of a data set has other time
stamps and is the same.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Int

from tmapr.artifacts.arrays import Arrays

Trust = Literal["everything", "stamps", "content", "nothing"]
"""What of a cache is believed: it is current anyway, if sizes and time stamps are, if the content is, or never."""

UNREADABLE, UNREAD = "unreadable", "unread"
"""In place of a digest: there is none, or whoever reads the image will tell."""


@dataclass(frozen=True, slots=True)
class Sources:
    """One row a frame: its file, named from the root of the data, its size, its time stamp, a digest of its content.

    Frames that have no file of their own share `whole`: it names the bag, its size and time stamp, its topics.
    """

    files: tuple[str, ...]
    sizes: Int[np.ndarray, " frames"]
    modified: Int[np.ndarray, " frames"]
    contents: tuple[str, ...]
    whole: str = ""

    def __len__(self) -> int:
        return len(self.contents)

    def first(self, count: int) -> "Sources":
        """Those of the first frames."""
        files, contents = self.files[:count], self.contents[:count]
        return Sources(files, self.sizes[:count], self.modified[:count], contents, self.whole)

    def arrays(self) -> dict[str, np.ndarray]:
        """As a file keeps them; `whole` is for its notes."""
        return {
            "source_files": np.array(self.files),
            "source_sizes": self.sizes,
            "source_modified": self.modified,
            "source_contents": np.array(self.contents),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, whole: str) -> "Sources | None":
        """What `arrays` gave; None where that is not there, or is of another shape."""
        names = ("source_files", "source_sizes", "source_modified", "source_contents")
        found = [arrays.get(name, np.zeros((0, 0))) for name in names]
        if [array.dtype.kind for array in found] != ["U", "i", "i", "U"] or len({array.shape for array in found}) > 1:
            return None
        files, sizes, modified, contents = found
        return cls(tuple(files.tolist()), sizes, modified, tuple(contents.tolist()), whole) if files.ndim == 1 else None


def digest_content(*parts: bytes | memoryview) -> str:
    """A short digest: that two of a million images share one has a chance of 10⁻¹⁷."""
    total = _start_digest()
    for part in parts:
        total.update(part)
    return total.hexdigest()


def digest_file(path: Path) -> str:
    """The same of a file, whatever its size; what is no plain file is not waited for."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as stream:
                return hashlib.file_digest(stream, _start_digest).hexdigest()
    return UNREADABLE


def digest_states(files: Iterable[Path], *others: str) -> str:
    """The names, sizes and time stamps of files, and what else is told, as one digest; none of them is read.

    Empty where one cannot be looked at: whoever reads it says what is wrong.
    """
    with suppress(OSError):
        states = [f"{file.name} {(found := file.stat()).st_size} {found.st_mtime_ns}" for file in files]
        return digest_content("\n".join([*states, *others]).encode(errors="surrogateescape"))
    return ""


def _start_digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=12)
