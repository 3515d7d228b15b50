"""Lessons of all places, also of those that were not visited: otherwise night is evidence for where it was seen first.

A lesson of one place comes with some of the places that had none for longest: their references, moved by the mean
difference between views and the references where they were taken, which separates this condition from the mapped one.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.retrieval.memory import Memory

_MOST = 60.0
"""Views after which older ones fade: a condition changes."""
_KNOWN = 5.0
"""Views from which on their mean difference is the condition's, and not a place's."""
_GOLDEN = 0.6180339887498949
_SHORTEST = 1e-3

LAYOUT = {
    "shift": Array("f", "width"),
    "views": Array("f", "", 0),
    "lessons": Array("i", "", 0),
    "heard": Array("i", "places", 0),
    "visited": Array("i", "places", 0),
}
"""Of what `Balance.arrays` gives."""


class Balance:
    """Knows which place was learned from when, and what the condition adds to a reference."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._mapped = np.flatnonzero(np.diff(memory.offsets) > 0)
        # Multiples of the golden ratio are spread evenly: places that wait alike have their turn all over the route.
        self._turn = np.arange(len(self._mapped)) * _GOLDEN % 1.0
        self._shift = np.zeros(memory.descriptors.shape[1])
        self._views = 0.0
        self.lessons = 0
        self._heard = np.zeros(memory.place_count, dtype=np.int64)
        """The last turn that each place had; 0: none."""
        self._visited = np.zeros(memory.place_count, dtype=np.int64)
        """The first lesson that each had from a view of its own."""

    @property
    def known(self) -> Bool[np.ndarray, " refs"]:
        """Whether the place of each reference has a lesson from a view of its own, in the order of M₀."""
        return self._visited[self._memory.places] > 0

    def knows(self, place: int, lessons: int) -> bool:
        """Whether a place had a lesson of its own when there were so many."""
        return place < len(self._visited) and 0 < int(self._visited[place]) <= lessons

    def note(self, place: int, difference: Float[np.ndarray, " dim"]) -> None:
        """A view was learned; it differs so from the reference where it was taken."""
        self.lessons += 1
        self._views = min(self._views + 1.0, _MOST)
        self._shift += (difference - self._shift) / self._views
        if place < len(self._visited):
            self._heard[place] = self._heard.max() + 1
            self._visited[place] = self._visited[place] or self.lessons

    def note_again(self, place: int, vector: Float[np.ndarray, " dim"]) -> None:
        """A view was learned before a stop; where in its place is not known any more, so all of that stands for it."""
        near = self._memory.descriptors[self._memory.places == place].astype(float)
        mean = near.mean(axis=0) if len(near) else vector
        self.note(place, vector - mean / max(float(np.linalg.norm(mean)), np.finfo(float).tiny))

    def begin_anew(self) -> None:
        """All was taken back. Lessons are counted on: views from before were of lessons that are gone."""
        self._shift[:], self._views = 0.0, 0.0
        self._heard[:], self._visited[:] = 0, 0

    def pick(self, count: int) -> Int[np.ndarray, " rows"]:
        """References of the places that waited longest, as rows of M₀; each has its turn."""
        if self._views < _KNOWN:
            return np.zeros(0, dtype=np.int64)
        waiting = self._mapped[np.lexsort((self._turn, self._heard[self._mapped]))[:count]]
        rows = []
        for place in waiting.tolist():
            first, stop = int(self._memory.offsets[place]), int(self._memory.offsets[place + 1])
            self._heard[place] = turn = int(self._heard.max()) + 1
            # Another one each time, without chance: multiples of the golden ratio come everywhere.
            rows.append(first + int(turn * _GOLDEN % 1.0 * (stop - first)))
        return np.array(rows, dtype=np.int64)

    def imagine(self, reference: Float[np.ndarray, " dim"]) -> Float[np.ndarray, " dim"]:
        """How a reference would look in this condition."""
        moved = reference + self._shift
        length = float(np.linalg.norm(moved))
        # A shift that leaves nothing of a reference says nothing of it.
        return moved / length if length > _SHORTEST else reference

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        counts = {"views": np.array(self._views), "lessons": np.array(self.lessons)}
        return counts | {"shift": self._shift, "heard": self._heard, "visited": self._visited}

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        if len(arrays["heard"]) != len(self._heard):
            raise ValueError(f"{len(arrays['heard'])} places were learned from, {len(self._heard)} are mapped")
        self._shift, self._views = np.array(arrays["shift"]), float(arrays["views"])
        self.lessons = int(arrays["lessons"])
        self._heard, self._visited = np.array(arrays["heard"]), np.array(arrays["visited"])
