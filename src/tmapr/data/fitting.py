"""Whether the positions of a sequence are in the frame of a map."""

from tmapr.data.coordinates import ENU, LOCAL, UTM, describe
from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame

COLUMNS = {ENU: "lon,lat", UTM: "easting,northing,zone", LOCAL: "x,y"}
"""What a table calls positions of each kind."""


def refuse_elsewhere(name: str, frame: CoordinateFrame, placed: bool, mapped: CoordinateFrame) -> None:
    """Refuse a sequence whose positions are in another frame than the map's; one without any fits every map."""
    if not placed or frame == mapped:
        return
    refuse_kind(name, frame, mapped)
    raise InputError(
        f"{name}: has positions in {describe(frame)}, the map in {describe(mapped)}; remove its percepts, so that the"
        " recording is read again"
    )


def refuse_kind(where: str, frame: CoordinateFrame, mapped: CoordinateFrame | None, way_out: str = "") -> None:
    """Refuse positions of another kind than the map's: nobody knows where they lie on it."""
    if mapped is None or (frame.kind, frame.zone) == (mapped.kind, mapped.zone):
        return
    found, wanted = (COLUMNS.get(each.kind, each.kind) for each in (frame, mapped))
    raise InputError(
        f"{where}: has positions as {_name_kind(frame)}, the map as {_name_kind(mapped)}; give {wanted} here, or map"
        f" with {found}{way_out}"
    )


def _name_kind(frame: CoordinateFrame) -> str:
    if frame.kind == UTM:
        return f"UTM {frame.zone}"
    return "longitude and latitude" if frame.kind == ENU else "x,y in a frame of their own"
