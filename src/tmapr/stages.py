"""What a localizer is made of beside its map: the settings of its stages, and what the outer layers do for it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from tmapr.artifacts.arrays import Header
from tmapr.fusion.capf import Fusion
from tmapr.geodesy import LOCAL_FRAME
from tmapr.places.matrices import MakeMatrices
from tmapr.retrieval.memory import Memory
from tmapr.retrieval.search import Retrieval
from tmapr.tracking import Tracking
from tmapr.types import CoordinateFrame, Frame, Percept

STATE_KIND, STATE_VERSION = "state", 1
Perceive = Callable[[Frame], Percept]
BeginStream = Callable[[], Perceive]
"""Gives a perceiver for one stream of frames: it compares each with the one before."""
Found = Callable[[Path, Callable[[Path], None]], None]
"""Makes a folder with this map, and with the state that is saved to the folder it names."""


@runtime_checkable
class Backend(Protocol):
    """Where the two large products of a frame are computed, if not by the CPU."""

    @property
    def make_matrices(self) -> MakeMatrices:
        """What keeps K and W there."""

    def load(self, memory: Memory) -> Memory:
        """The same M₀, multiplied there."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The settings of the stages, the names that tie a saved state to its map, and what is done for it outside."""

    retrieval: Retrieval
    tracking: Tracking
    fusion: Fusion
    map_digest: str
    settings_digest: str
    frame: CoordinateFrame = LOCAL_FRAME
    """What the map's positions are relative to, and so those of estimates."""
    begin_stream: BeginStream | None = None
    """None where a program has percepts of its own."""
    found: Found | None = None
    """None where there is no folder that the map came from."""

    def head_state(self) -> Header:
        """What a file with a state says of itself."""
        notes = {"map": self.map_digest, "method": self.tracking.method}
        return Header(STATE_KIND, STATE_VERSION, self.settings_digest, notes)
