"""A robot in a map that is larger than its memory: it localizes in the region around it, and takes that along.

What a frame costs is what its region holds, however large the map is. Lost, it asks the codes of the whole map where
frames like this one were taken, and opens the region that most of them are in; where that proves wrong, it asks again.
It does not learn, and verifies no match by local features (`regions.py` says why).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tmapr.localizer import Localizer
from tmapr.shards.codes import Codes
from tmapr.shards.regions import Region, open_region
from tmapr.shards.searching import Matches, ShardedMemory
from tmapr.stages import BeginStream
from tmapr.system import System, build
from tmapr.types import Estimate, Frame, Percept, Status, measure_distance

REACH = 300.0
"""Metres around a robot that are open: thirty places, and ten seconds of a fast road on either side."""
_MOVED = 0.5
"""Share of the reach after which the region is taken along."""
_PATIENCE = 40
"""Frames that are not localized before the whole map is asked."""
_ASKED = 64
"""References whose region is looked for: twins of a place are scattered, frames around the right one are not."""


@dataclass(slots=True)
class _Here:
    region: Region
    localizer: Localizer
    lost: int = 0
    """Frames in a row that were not localized."""
    chosen: bool = True
    """Whether anything speaks for this region: a frame that cannot be used does not, and is answered all the same."""


class Roamer:
    """Localizes the frames of one drive; owns the region it is in."""

    def __init__(
        self,
        memory: ShardedMemory,
        system: System,
        codes: Codes | None = None,
        begin_stream: BeginStream | None = None,
        reach: float = REACH,
    ) -> None:
        self._memory, self._system, self._reach = memory, system, reach
        self._codes = codes or memory.open_codes()
        self._begin_stream = begin_stream
        self._perceive = begin_stream() if begin_stream else None
        self._here: _Here | None = None

    @property
    def region(self) -> Region | None:
        """What is open by now; nothing before the first frame."""
        return self._here.region if self._here else None

    def step(self, frame: Frame) -> Estimate:
        """Localize a camera frame."""
        if self._perceive is None:
            raise ValueError("a roamer without a stream is given percepts: use `observe`")
        return self.observe(self._perceive(frame))

    def observe(self, percept: Percept) -> Estimate:
        """Localize one percept in the region around the robot."""
        here = self._here or self._search(percept)
        estimate = here.localizer.observe(percept)
        localized = estimate.status is Status.LOCALIZED
        here.lost = 0 if localized else here.lost + (percept.fault is None)
        if localized and measure_distance(estimate.position, here.region.centre) > _MOVED * self._reach:
            self._move(here, estimate)
        elif here.lost > _PATIENCE or not here.chosen:
            self._here = None
        return estimate

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""
        self._open(position).localizer.start_at(stamp, position, deviation)

    def _move(self, before: _Here, estimate: Estimate) -> None:
        """Take the region along: the filter begins around what it knew, give or take a place."""
        here = self._open(estimate.position)
        if learned := before.localizer.tracker.learned():
            here.localizer.tracker.restore_learned(learned)
        deviation = max(estimate.belief.semi_axis, here.region.map.memory.reference.place)
        here.localizer.start_at(estimate.percept.stamp, estimate.position, deviation)

    def _search(self, percept: Percept) -> _Here:
        """Open the region that most of the references are in which look like a frame."""
        found = self._memory.relocalize(percept.descriptor, self._codes, _ASKED)
        here = self._open(choose_centre(found, self._reach))
        here.chosen = percept.fault is None
        return here

    def _open(self, centre: Float[np.ndarray, "2"]) -> _Here:
        region = open_region(self._memory, self._system, centre, self._reach)
        self._here = _Here(region, build(self._system, region.map, begin_stream=self._begin_stream))
        return self._here


def choose_centre(found: Matches, reach: float) -> Float[np.ndarray, "2"]:
    """The position of the match that most others within half a reach speak for, each the less the later it ranks."""
    away = np.linalg.norm(found.positions[:, None] - found.positions[None], axis=2)
    votes = (away <= _MOVED * reach) @ (1.0 / np.arange(1, len(found.rows) + 1))
    return found.positions[int(votes.argmax())]
