"""What the route filter believed after every frame: `estimates/SEQ.belief.npz`.

References are rows of the map. Roots of probabilities are kept in a byte each: that resolves a thousandth as well as
it has to be seen, and errs by 0.004 at most, where a float would double the file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays
from tmapr.artifacts.documents.notes import ResultNotes
from tmapr.exceptions import InputError
from tmapr.types import Estimate

KIND, VERSION = "belief", 1
_FULL = 255


@dataclass(frozen=True, slots=True)
class RouteBeliefs:
    """References with some probability, frame after frame; those of frame n lie from `offsets[n]` to `offsets[n + 1]`.

    A frame without a belief has none of them.
    """

    offsets: Int[np.ndarray, " bounds"]
    references: Int[np.ndarray, " likely"]
    masses: Float[np.ndarray, " likely"]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def after(self, frame: int) -> tuple[Int[np.ndarray, " some"], Float[np.ndarray, " some"]]:
        """The references of a frame and their probabilities."""
        some = slice(int(self.offsets[frame]), int(self.offsets[frame + 1]))
        return self.references[some], self.masses[some]


def save_beliefs(path: Path, settings: str, map_digest: str, estimates: Sequence[Estimate]) -> None:
    """Write the beliefs of a drive; where no frame has one, there is no file afterwards."""
    beliefs = [estimate.route for estimate in estimates]
    if all(belief is None for belief in beliefs):
        path.unlink(missing_ok=True)
        return
    counts = [0 if belief is None else len(belief.rows) for belief in beliefs]
    likely = [belief for belief in beliefs if belief is not None]
    roots = np.sqrt(np.clip(np.concatenate([belief.masses for belief in likely]), 0.0, 1.0))
    arrays = {
        "offsets": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "references": np.concatenate([belief.rows for belief in likely]).astype(np.int32),
        "roots": np.round(_FULL * roots).astype(np.uint8),
    }
    save_arrays(path, Header(KIND, VERSION, settings, {"map": map_digest}), arrays)


def load_beliefs(path: Path, map_digest: str, references: int) -> RouteBeliefs:
    """Read the beliefs of a drive over a map of so many references; those over another map are refused."""
    header, arrays = load_arrays(path, KIND, VERSION)
    if ResultNotes.from_notes(path, header.notes).map != map_digest:
        raise InputError(f"{path}: was made with another map; run `tmapr run` again")
    if not _fits(arrays, references):
        raise InputError(f"{path}: is damaged, its arrays do not fit one another; run `tmapr run` again")
    masses: Float[np.ndarray, " likely"] = (arrays["roots"] / _FULL) ** 2
    return RouteBeliefs(arrays["offsets"], arrays["references"], masses)


def _fits(arrays: dict[str, np.ndarray], references: int) -> bool:
    expected = {"offsets": np.int64, "references": np.int32, "roots": np.uint8}
    if {name: array.dtype for name, array in arrays.items()} != expected:
        return False
    offsets, rows, roots = (arrays[name] for name in expected)
    if any(array.ndim != 1 for array in (offsets, rows, roots)) or len(rows) != len(roots) or not len(offsets):
        return False
    if (offsets[0], offsets[-1]) != (0, len(rows)) or (np.diff(offsets) < 0).any():
        return False
    return bool(((rows >= 0) & (rows < references)).all())
