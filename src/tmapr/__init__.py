"""Localize a robot from a thermal camera alone, day and night, in an environment mapped once."""

from pathlib import Path
from typing import TYPE_CHECKING

from tmapr.exceptions import InputError, StateError, TmaprError
from tmapr.types import (
    Belief,
    Candidate,
    CoordinateFrame,
    Estimate,
    Fault,
    Frame,
    Lesson,
    Percept,
    PlaceScores,
    Reason,
    Status,
    Verdict,
)

if TYPE_CHECKING:
    from tmapr.localizer import Localizer

__all__ = [
    "Belief",
    "Candidate",
    "CoordinateFrame",
    "Estimate",
    "Fault",
    "Frame",
    "InputError",
    "Lesson",
    "Percept",
    "PlaceScores",
    "Reason",
    "StateError",
    "Status",
    "TmaprError",
    "Verdict",
    "load",
]


def load(directory: str | Path) -> "Localizer":
    """The localizer of a run folder: its map, what it learned, every setting."""
    from tmapr.experiment import load as load_run  # numba, SciPy and pydantic only when a map is used

    return load_run(directory)
