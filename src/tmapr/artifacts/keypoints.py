"""Keypoints of many pictures in one file: of a sequence's frames beside its percepts, of references beside the map.

Rows differ in length, so all points lie one after another and `offsets` say where each row's begin. Points and
descriptors stay on disk: of a thousand references a frame asks for ten.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int, Int8, UInt16

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays
from tmapr.artifacts.documents.notes import KeypointNotes
from tmapr.artifacts.layout import Array, check_arrays
from tmapr.exceptions import InputError
from tmapr.keypoints import MOST, Keypoints

KIND, VERSION = "keypoints", 1
_MAPPED = frozenset({"points", "descriptors"})
_LAYOUT = {
    "offsets": Array("i", "bounds", 0),
    "points": Array("u", "points 2"),
    "descriptors": Array("i", "points 64"),
    "contents": Array("U", "rows"),
}
_AGAIN = "remove it to make it again"


@dataclass(frozen=True, slots=True, eq=False)
class KeypointTable:
    """Keypoints row by row; `contents` are digests of the images they are of, `maker` is that of what found them.

    What belongs to a map names its digest; what belongs to a sequence, none: its rows are told by their images.
    """

    offsets: Int[np.ndarray, " bounds"]
    points: UInt16[np.ndarray, "points 2"]
    descriptors: Int8[np.ndarray, "points 64"]
    contents: tuple[str, ...]
    maker: str
    map: str = ""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Keypoints:
        """Those of a picture; a row that cannot be used has none."""
        some = slice(int(self.offsets[row]), int(self.offsets[row + 1]))
        return Keypoints(np.array(self.points[some]), np.array(self.descriptors[some]))

    @classmethod
    def load(cls, path: Path) -> "KeypointTable":
        """Read a file; one whose arrays do not fit together is refused."""
        header, arrays = load_arrays(path, KIND, VERSION, mapped=_MAPPED)
        lengths = check_arrays(str(path), arrays, _LAYOUT, _AGAIN)
        offsets, points, descriptors = arrays["offsets"], arrays["points"], arrays["descriptors"]
        kinds = {"offsets": np.int64, "points": np.uint16, "descriptors": np.int8}
        if any(arrays[name].dtype != kind for name, kind in kinds.items()) or lengths["bounds"] != lengths["rows"] + 1:
            raise InputError(f"{path}: its arrays are not those of keypoints; {_AGAIN}")
        counts = np.diff(offsets)
        if (offsets[0], offsets[-1]) != (0, len(points)) or (counts < 0).any() or (counts > MOST).any():
            raise InputError(f"{path}: its rows do not share out {len(points)} points, {MOST} at most each; {_AGAIN}")
        notes = KeypointNotes.from_notes(path, header.notes)
        return cls(offsets, points, descriptors, tuple(arrays["contents"].tolist()), header.settings, notes.map)


def save_keypoints(path: Path, rows: Sequence[Keypoints], contents: Sequence[str], maker: str, map_digest: str) -> None:
    """Write what `KeypointTable.load` reads."""
    arrays = {
        "offsets": np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64),
        "points": np.concatenate([np.zeros((0, 2), np.uint16), *(row.points for row in rows)]),
        "descriptors": np.concatenate([np.zeros((0, 64), np.int8), *(row.descriptors for row in rows)]),
        "contents": np.array(contents, dtype=np.str_),
    }
    save_arrays(path, Header(KIND, VERSION, maker, {"map": map_digest}), arrays)
