"""Localize a robot from a thermal camera alone, day and night, in an environment mapped once."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tmapr.data.sequence import Sequence
    from tmapr.localizer import Localizer

__all__ = ["load", "open_sequence"]


def load(directory: "str | Path", device: str = "auto") -> "Localizer":
    """The localizer of a run folder: its map, what it learned, its perception, every setting."""
    from tmapr.data.health import Detector
    from tmapr.experiment import load as load_run  # NumPy, numba and pydantic only when a map is used
    from tmapr.perception.opening import open_perceiver

    return load_run(directory, lambda settings: open_perceiver(settings, device).with_inspection(Detector().inspect))


def open_sequence(path: "str | Path") -> "Sequence":
    """The frames of a folder or a bag, whatever its layout: `for frame in tmapr.open_sequence("patrol.mcap")`."""
    from tmapr.data.opening import open_path

    return open_path(Path(path))
