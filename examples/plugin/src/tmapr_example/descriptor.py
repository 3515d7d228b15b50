"""A descriptor: the picture itself, small and without its brightness.

A toy. It knows a view again under the same light and from the same spot, and nothing else.
"""

import numpy as np
from numpy.typing import NDArray


class TinyImage:
    """The mean of each cell of a grid over the picture, less the mean of all cells."""

    revision = "1"  # another one when results change and the version does not: percepts are then made again

    def __init__(self, side: int = 16) -> None:
        if side < 2:
            raise ValueError(f"side must be at least 2 cells, got {side}")
        self._side = side

    def __call__(self, pictures: NDArray[np.uint8]) -> NDArray[np.float64]:
        """A row for each picture: the cells from left to right, from top to bottom."""
        images, height, width = pictures.shape
        if min(height, width) < self._side:
            raise ValueError(f"a picture of {height}x{width} has no {self._side}x{self._side} cells")
        rows, columns = (np.linspace(0, length, self._side, endpoint=False).astype(int) for length in (height, width))
        sums = np.add.reduceat(np.add.reduceat(pictures.astype(float), rows, axis=1), columns, axis=2)
        counts = np.outer(np.diff([*rows, height]), np.diff([*columns, width]))
        cells: NDArray[np.float64] = (sums / counts).reshape(images, -1)
        return cells - cells.mean(axis=1, keepdims=True) + 1e-9  # never all 0, whatever the picture shows
