"""The references that a map is put together from, in the order in which they are learned, with all that goes with them.

M₀ has descriptors as float32; A₀ learned them in float64. Where the percepts are there whose rounding M₀ has, the
descriptors are theirs, so that what is learned again is what was learned; elsewhere M₀'s, and K and W come within 1e-7.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.artifacts.percepts import Recording
from tmapr.keypoints import Keypoints
from tmapr.retrieval.keypoints import ReferenceKeypoints
from tmapr.system import Map
from tmapr.traverses import Traverses, gather

FindKeypoints = Callable[[], Keypoints]


@dataclass(frozen=True, slots=True)
class Part:
    """Some references; `weights` are those that they were learned with, None where H is yet to find them."""

    traverses: Traverses
    rows: Int[np.ndarray, " refs"]
    """Of M₀, where they come from a map."""
    weights: Float[np.ndarray, "refs points"] | None
    keypoints: tuple[FindKeypoints | None, ...]

    def __len__(self) -> int:
        return len(self.traverses)

    def keep(self, rows: Bool[np.ndarray, " refs"]) -> "Part":
        """Only some of them."""
        weights = None if self.weights is None else self.weights[rows]
        found = tuple(find for find, kept in zip(self.keypoints, rows.tolist(), strict=True) if kept)
        return Part(self.traverses.select(np.flatnonzero(rows)), self.rows[rows], weights, found)

    def exactly(self, recordings: Mapping[str, Recording]) -> tuple["Part", list[str]]:
        """With the descriptors of percepts in place of their rounding; and the traverses of which there are none."""
        there = self.traverses
        exact, rounded = there.descriptors.astype(float), list[str]()
        for name in dict.fromkeys(there.sequences.tolist()):
            rows = np.flatnonzero(there.sequences == name)
            found = _find_descriptors(recordings.get(name), there.frames[rows])
            if found is not None and np.array_equal(found.astype(np.float32), there.descriptors[rows]):
                exact[rows] = found
            else:
                rounded.append(name)
        return replace(self, traverses=replace(there, descriptors=exact)), rounded


def take_apart(environment: Map) -> Part:
    """The references of a map, in the order in which it learned them."""
    memory, order = environment.memory, environment.lessons.order
    whole = Traverses(
        memory.descriptors,
        memory.positions,
        memory.stamps,
        memory.frames,
        memory.sequences,
        memory.headings,
        memory.turn_gain,
    )
    found = [partial(memory.keypoints.__getitem__, row) if memory.keypoints else None for row in order.tolist()]
    return Part(whole.select(order), order, environment.lessons.weights[order], tuple(found))


def take_recordings(recordings: Sequence[Recording]) -> Part:
    """The references that new traverses give."""
    traverses = gather(recordings)
    percepts = {recording.sequence: recording.percepts for recording in recordings}
    rows = zip(traverses.sequences.tolist(), traverses.frames.tolist(), strict=True)
    found = tuple(percepts[name][frame].keypoints for name, frame in rows)
    return Part(traverses, np.arange(len(traverses)), None, found)


def sort_keypoints(parts: Sequence[Part], numbers: Int[np.ndarray, " refs"]) -> ReferenceKeypoints | None:
    """Those of all parts' references, one part behind the other, by the rows of M₀; None where there are none."""
    found = [find for part in parts for find in part.keypoints]
    return ReferenceKeypoints([found[number] for number in numbers.tolist()]) if any(found) else None


def _find_descriptors(
    recording: Recording | None, frames: Int[np.ndarray, " rows"]
) -> Float[np.ndarray, "rows dim"] | None:
    if recording is None or frames.max(initial=-1) >= len(recording):
        return None
    return np.array([recording.percepts[frame].descriptor for frame in frames.tolist()])
