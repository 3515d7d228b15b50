"""What a recording holds, in a line: frames, seconds, positions."""

from dataclasses import dataclass
from itertools import pairwise
from math import dist

from tmapr.data.fitting import COLUMNS
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, CoordinateFrame, Watch


@dataclass(frozen=True, slots=True)
class Summary:
    """Of a whole recording; `metres` are along the positions that are known."""

    frames: int
    seconds: float
    placed: int
    metres: float
    frame: CoordinateFrame

    def __str__(self) -> str:
        if not self.placed:
            return f"{self.frames} frames over {self.seconds:.3f} s, none of them with a position"
        along = f"positions along {self.metres:.1f} m ({COLUMNS.get(self.frame.kind, self.frame.kind)})"
        return f"{self.frames} frames over {self.seconds:.3f} s, {self.placed} of them with {along}"


def summarize(sequence: Sequence, watch: Watch = iter) -> Summary:
    """Go through a recording once; its images are not looked at."""
    stamps, places = list[int](), list[tuple[float, ...]]()
    for _, frame in zip(watch(range(len(sequence))), sequence, strict=True):
        stamps.append(frame.stamp)
        if frame.position is not None:
            places.append(tuple(frame.position.tolist()))
    if not stamps:
        raise InputError(f"{sequence.name}: holds no frame")
    metres = sum(dist(one, other) for one, other in pairwise(places))
    seconds = (max(stamps) - min(stamps)) / NANOSECONDS
    return Summary(len(stamps), seconds, len(places), metres, sequence.frame)
