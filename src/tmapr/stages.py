"""What a localizer is made of beside its map: the settings of its stages, and what the outer layers do for it.

Where a frame's way is computed elsewhere, on a GPU, the outer layers give a `Backend` that begins a `Way` for a drive.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from tmapr.artifacts.arrays import Arrays, Header
from tmapr.fusion.capf import Fusion
from tmapr.geodesy import LOCAL_FRAME
from tmapr.places.classifier import Classifier
from tmapr.places.protocol import PlaceClassifier
from tmapr.places.settings import Places as PlacesSettings
from tmapr.retrieval.condition import Shared
from tmapr.retrieval.memory import Memory
from tmapr.retrieval.search import Retrieval
from tmapr.tracking import Tracking
from tmapr.tracking.placers import Places
from tmapr.types import CoordinateFrame, Estimate, Frame, Percept, Recognition

STATE_KIND, STATE_VERSION = "state", 1
Perceive = Callable[[Frame], Percept]
BeginStream = Callable[[], Perceive]
"""Gives a perceiver for one stream of frames: it compares each with the one before."""
Found = Callable[[Path, Callable[[Path], None]], None]
"""Makes a folder with this map, and with the state that is saved to the folder it names."""


@runtime_checkable
class Drive(Protocol):
    """What the views of a drive share: `retrieval.condition.Condition`, or the same on a device."""

    def recall(self, stamp: int) -> Shared | None:
        """What the views of the drive that a frame of this time belongs to share; None if it is its first."""

    def follow(self, estimate: Estimate) -> None:
        """Count the view that an estimate is of, as far as it shows the map and nothing that was shown before."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken; without any, from nothing."""


@runtime_checkable
class Way(Protocol):
    """The way of one drive's frames on another device."""

    @property
    def placer(self) -> Places:
        """What is believed of the route."""

    @property
    def drive(self) -> Drive:
        """What its views share."""

    def begin_stream(self) -> Perceive:
        """A perceiver for one stream of frames; not where a program has percepts of its own."""

    def expect(self, frame: Frame, seconds: float) -> None:
        """The frame that is perceived next comes so long after the last one, and is localized at once."""

    def recognise(self, percept: Percept, seconds: float) -> Recognition:
        """What a usable frame looks like; where it is, the placer knows when it is asked."""


@runtime_checkable
class Backend(Protocol):
    """Where frames are localized, if not by the CPU."""

    def adopt(self, settings: PlacesSettings, classifier: Classifier) -> PlaceClassifier:
        """The same A_t there."""

    def begin_way(self, stages: "Stages", memory: Memory, classifier: PlaceClassifier) -> Way:
        """For one drive."""


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
    backend: Backend | None = None
    """None: the CPU."""

    def head_state(self) -> Header:
        """What a file with a state says of itself."""
        notes = {"map": self.map_digest, "method": self.tracking.method}
        return Header(STATE_KIND, STATE_VERSION, self.settings_digest, notes)
