"""Keypoints of the references: read where they lie, in the traverses' files or in one beside the map."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Int, Shaped

from tmapr.artifacts.keypoints import KeypointTable, save_keypoints
from tmapr.artifacts.percepts import Recording
from tmapr.keypoints import NOTHING, Keypoints

BESIDE_MAP = "keypoints.npz"


class ReferenceKeypoints:
    """Keypoints by the row of M₀; of a reference without any there are none."""

    def __init__(self, finders: Sequence[Callable[[], Keypoints] | None]) -> None:
        self._finders = tuple(finders)

    def __len__(self) -> int:
        return len(self._finders)

    def __getitem__(self, row: int) -> Keypoints:
        find = self._finders[row]
        return find() if find else NOTHING

    def save(self, path: Path, map_digest: str) -> None:
        """Write those of all references, beside the map of this digest."""
        save_keypoints(path, [self[row] for row in range(len(self))], [""] * len(self), "", map_digest)


def load_keypoints(path: Path, map_digest: str, references: int) -> ReferenceKeypoints | None:
    """Those beside a map; None where there are none, or another map's: then matches are not verified."""
    if not path.exists():
        return None
    table = KeypointTable.load(path)
    if table.map != map_digest or len(table) != references:
        return None
    return ReferenceKeypoints([partial(table.__getitem__, row) for row in range(len(table))])


def gather_keypoints(
    sequences: Shaped[np.ndarray, " refs"], frames: Int[np.ndarray, " refs"], references: Sequence[Recording]
) -> ReferenceKeypoints | None:
    """Those of the traverses' frames that a map's rows are; None where no frame has any."""
    traverses = {reference.sequence: reference.percepts for reference in references}
    rows = zip(sequences.tolist(), frames.tolist(), strict=True)
    finders = [traverses[name][frame].keypoints for name, frame in rows]
    return ReferenceKeypoints(finders) if any(finders) else None
