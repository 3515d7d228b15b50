"""Whether the positions of a sequence are in the frame of a map."""

from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame


def refuse_elsewhere(name: str, frame: CoordinateFrame, placed: bool, mapped: CoordinateFrame) -> None:
    """Refuse a sequence whose positions are in another frame than the map's; one without any fits every map."""
    if placed and frame != mapped:
        raise InputError(f"{name}: positions are in {frame}, the map's in {mapped}; convert one of them")
