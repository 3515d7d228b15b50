"""What images tell by themselves: read and prepared anywhere, in any order, by as many readers as there are.

Only what comes from comparing an image with the one before it waits for its turn. Of that, the costly part is a sketch
of each image; neighbours in a chunk are compared where the chunk is read, and only its first image is left.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Shaped, UInt8

from tmapr.exceptions import InputError
from tmapr.perception.gyroscope import Sight, find_shift, see
from tmapr.perception.image import Image
from tmapr.types import HIGHEST_COUNTS, Fault, Frame, Picture

GrayPicture = UInt8[np.ndarray, "height width"]
RawCounts = Shaped[np.ndarray, "..."]
"""What a frame calls its image, whatever it is."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A frame that is looked at in its place and not encoded: the one after it is compared with it."""

    frame: Frame


Given = Frame | Shown
"""A frame of a stream, to be encoded unless it is only shown."""


class Glance(NamedTuple):
    """An image without its past: its counts, what a network is given of it or why not, and what it is compared by.

    A file that cannot be read has no counts. A refusal is told later: an image that its past makes unusable is not
    refused.
    """

    counts: RawCounts | None
    picture: Picture | Fault | InputError | None = None
    sight: Sight | None = None


UNREADABLE = Glance(None)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Neighbours in a stream: frames, what each tells, and how far the picture moved between those with a sight."""

    given: Sequence[Given]
    glances: Sequence[Glance]
    shifts: Sequence[float | None]

    @classmethod
    def compare(cls, given: Sequence[Given], glances: Sequence[Glance]) -> "Chunk":
        """Measure the shifts, one fewer than there are sights."""
        seen = [glance.sight for glance in glances if glance.sight]
        return cls(given, glances, [find_shift(before, after) for before, after in pairwise(seen)])

    @property
    def sights(self) -> list[Sight]:
        """Those there are."""
        return [glance.sight for glance in self.glances if glance.sight]


@dataclass(frozen=True, slots=True)
class Glancer:
    """How images are looked at: whether they will be compared, and whether the network is given pictures or counts."""

    image: Image
    size: tuple[int, int]
    compares: bool
    prepares: bool = True

    def glance(self, counts: RawCounts, encoded: bool = True) -> Glance:
        """What an image tells; of one that is not encoded no picture is made."""
        try:
            picture = self._prepare(counts) if encoded else None
        except InputError as refusal:
            picture = refusal
        comparable = self.compares and counts.ndim == 2 and counts.dtype in HIGHEST_COUNTS
        # Without what the crop leaves out: a frame around the scene stands still in every turn.
        return Glance(counts, picture, see(self.image.cut(counts)) if comparable else None)

    def _prepare(self, counts: RawCounts) -> Picture | Fault | InputError:
        if self.prepares:
            return self.image.prepare(counts, self.size, "area")
        self.image.require_counts(counts)
        return counts


def read_or_none(image: Callable[[], RawCounts]) -> RawCounts | None:
    """An image; None for a damaged file, which is one frame's misfortune. Counts of a wrong kind are everybody's."""
    try:
        return image()
    except InputError:
        return None
