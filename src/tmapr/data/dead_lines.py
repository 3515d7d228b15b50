"""Columns and rows of a sensor that show nothing any more."""

from collections import defaultdict, deque

import numpy as np

from tmapr.artifacts.images import Counts


class Lines:
    """Columns (axis 0) or rows (axis 1), and for how many images each of them has shown nothing new."""

    def __init__(self, axis: int, enough: int) -> None:
        self.dead: defaultdict[int, list[int]] = defaultdict(list)  # by the first row at which they were
        self._axis, self._enough, self._rows = axis, enough, deque[int](maxlen=enough)
        self._last: Counts = np.zeros((0, 0), np.uint8)

    def look(self, row: int, counts: Counts) -> None:
        """Count the lines that show what they did in the last image, or a single count as they did there."""
        flat = counts.max(self._axis) == counts.min(self._axis)
        if counts.shape != self._last.shape:
            self._age, self._flat, still = np.zeros(len(flat), int), flat, flat & False
        else:
            still = (counts == self._last).all(self._axis)
        if still.all():
            return
        self._rows.append(row)
        self._age = np.where(still | (flat & self._flat), self._age + 1, 1)
        for line in np.flatnonzero(self._age == self._enough).tolist():
            self.dead[self._rows[0]].append(line)
        self._last, self._flat = counts, flat
