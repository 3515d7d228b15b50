"""The references that each frame of a drive looks most like: `estimates/SEQ.candidates.npz`, which `evaluate` reads.

Two rankings of each frame, as rows of the map, best first; −1 stands behind the last one where there are fewer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays
from tmapr.artifacts.documents.notes import ResultNotes
from tmapr.artifacts.layout import Array, check_arrays
from tmapr.exceptions import InputError
from tmapr.types import RANKED

KIND, VERSION = "candidates", 1
_RUN_AGAIN = "run `tmapr run` again"


@dataclass(frozen=True, slots=True)
class RankedReferences:
    """A row for each frame; a frame that could not be used has no references."""

    searched: Int[np.ndarray, "frames ranked"]
    """As the run's own search ranked them when the frame was localized."""
    cosine: Int[np.ndarray, "frames ranked"]
    """By the plain cosine, of all references of the map."""

    @classmethod
    def from_rows(cls, searched: Sequence[Sequence[int]], cosine: Sequence[Sequence[int]]) -> "RankedReferences":
        """From the rows of the map that each frame has, at most `RANKED` of them."""
        return cls(_pad(searched), _pad(cosine))

    def save(self, path: Path, settings: str, map_digest: str) -> None:
        """Write the rankings of a drive."""
        arrays = {"searched": self.searched, "cosine": self.cosine}
        save_arrays(path, Header(KIND, VERSION, settings, {"map": map_digest}), arrays)

    @classmethod
    def load(cls, path: Path, map_digest: str, references: int, frames: int) -> "RankedReferences":
        """Read the rankings of a drive of so many frames; those over another map are refused."""
        if not path.exists():
            raise InputError(f"{path}: no such file, an earlier version did not write it; {_RUN_AGAIN}")
        header, arrays = load_arrays(path, KIND, VERSION)
        if ResultNotes.from_notes(path, header.notes).map != map_digest:
            raise InputError(f"{path}: was made with another map; {_RUN_AGAIN}")
        rows = Array("i", f"frames {RANKED}", -1, references - 1)
        check_arrays(str(path), arrays, {"searched": rows, "cosine": rows}, _RUN_AGAIN, frames=frames)
        return cls(arrays["searched"], arrays["cosine"])


def _pad(rows: Sequence[Sequence[int]]) -> Int[np.ndarray, "frames ranked"]:
    padded = np.full((len(rows), RANKED), -1, dtype=np.int32)
    for frame, ranked in enumerate(rows):
        padded[frame, : len(ranked)] = ranked
    return padded
