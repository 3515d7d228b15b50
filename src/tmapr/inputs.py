"""What a program gives a localizer: every value is looked at before anything changes.

A value of the wrong kind is the caller's mistake and refused with its name. Numbers of a percept that cannot be used
are the frame's misfortune: it becomes a faulty one, which is answered.
"""

import os
import reprlib
from math import isfinite
from pathlib import Path

import numpy as np
from jaxtyping import Float

from tmapr.exceptions import InputError
from tmapr.types import FARTHEST, HIGHEST_COUNTS, LATEST, Estimate, Fault, Frame, Odometry, Percept

_UNIT_TOLERANCE = 1e-2
_INTEGER = int | np.integer
_NUMBER = float | np.floating | _INTEGER
_KINDS = "fiu"


def read_stamp(given: object, where: str) -> int:
    """Integer nanoseconds that a file can hold."""
    if not isinstance(given, _INTEGER) or isinstance(given, bool) or not -LATEST <= int(given) <= LATEST:
        raise InputError(
            f"{where}: the stamp must be nanoseconds since the epoch in 63 bits, an integer, got {_describe(given)}"
        )
    return int(given)


def read_position(given: object, where: str) -> Float[np.ndarray, "2"]:
    """Two numbers on or near the Earth."""
    position = _read_numbers(given, 2, where)
    if not np.isfinite(position).all():
        raise InputError(f"{where} {_describe(given)} is not finite")
    if np.abs(position).max() > FARTHEST:
        raise InputError(
            f"{where} {_describe(given)} is farther than {FARTHEST:g} m away; it must be metres on the map"
        )
    return position


def read_metres(given: object, where: str, least: float) -> float:
    """A length within bounds."""
    value = _read_number(given, where)
    if not least <= value <= FARTHEST:
        raise InputError(f"{where} must be from {least:g} to {FARTHEST:g} metres, got {_describe(given)}")
    return value


def read_folder(given: object) -> Path:
    """A path that a file system can have."""
    if not isinstance(given, str | os.PathLike) or "\0" in os.fspath(given):
        raise InputError(f"a folder's path must be text or a Path without a zero byte, got {_describe(given)}")
    return Path(given)


def read_frame(given: object, stamp: object, motion: object) -> Frame:
    """A frame, or the one of an array and its stamp, before it is perceived: that a repeated image may remember."""
    if isinstance(given, Frame):
        if stamp is not None or motion is not None:
            raise InputError("`step` of a Frame takes no stamp and no motion beside it: the Frame has its own")
        read_stamp(given.stamp, f"frame {given.index}")
        return given
    if not isinstance(given, np.ndarray):
        raise InputError(
            f"`step` takes a Frame, or an image as an array and its stamp, got {_describe(given)};"
            " `observe` takes a Percept"
        )
    if given.ndim != 2 or given.dtype not in HIGHEST_COUNTS or not given.size or np.ma.is_masked(given):
        raise InputError(
            f"`step`: an image must be [height width] of uint8 or uint16, as the camera counts, got {_describe(given)}"
        )
    if stamp is None:
        raise InputError(
            "`step`: an array has no stamp; give it when it was taken in nanoseconds, such as time.time_ns()"
        )
    # A copy: a driver fills its buffer with the next image while this one's keypoints may still be looked for.
    counts, moved = np.array(given), _read_motion(motion, "`step`")
    return Frame("", 0, read_stamp(stamp, "`step`"), lambda: counts, motion=moved)


def check_estimate(given: object, dimension: int) -> None:
    """What `observe` of a localizer with this map answered."""
    if not isinstance(given, Estimate):
        raise InputError(f"labels are of an Estimate that `observe` gave, got {_describe(given)}")
    read_percept(given.percept, dimension)


def read_percept(given: object, dimension: int) -> Percept:
    """The percept with plain numbers and arrays; faulty if they cannot be used."""
    if not isinstance(given, Percept):
        raise InputError(f"a Percept is needed, got {_describe(given)}; for an image there is `step`")
    where = f"percept at {_describe(given.stamp)}"
    stamp = read_stamp(given.stamp, where)
    fault = _read_fault(given.fault, where)
    position = None if given.position is None else _read_numbers(given.position, 2, f"{where}: its position")
    heading = None if given.heading is None else _read_number(given.heading, f"{where}: its heading")
    motion = _read_motion(given.motion, where)
    shift = None if given.shift is None else _read_number(given.shift, f"{where}: its shift")
    said = [*(() if position is None else position), *(() if heading is None else (heading,))]
    if not all(abs(number) < FARTHEST for number in said):  # a comparison with NaN is False
        fault = fault or Fault.INVALID
    if motion and not all(abs(number) < FARTHEST for number in (motion.speed or 0.0, motion.yaw_rate or 0.0)):
        fault, motion = fault or Fault.INVALID, None
    if shift is not None and not abs(shift) <= 1:
        fault, shift = fault or Fault.INVALID, None
    descriptor = given.descriptor
    if not given.fault:
        descriptor, usable = _read_descriptor(descriptor, dimension, where)
        fault = fault if usable else Fault.INVALID
    if given.keypoints is not None and not callable(given.keypoints):
        raise InputError(f"{where}: its keypoints must be a function that gives them, got {_describe(given.keypoints)}")
    read = (stamp, descriptor, position, heading, fault, motion, shift, given.keypoints)
    # The very percept where nothing had to be made plain: programs and tests recognise theirs in the estimate.
    untouched = all(mine is theirs for mine, theirs in zip(read, _list_fields(given), strict=True))
    return given if untouched else Percept(*read)


def _list_fields(percept: Percept) -> tuple[object, ...]:
    pose = percept.position, percept.heading
    return percept.stamp, percept.descriptor, *pose, percept.fault, percept.motion, percept.shift, percept.keypoints


def _read_descriptor(given: object, dimension: int, where: str) -> tuple[Float[np.ndarray, " dim"], bool]:
    """The descriptor, and whether it has a direction. One of another kind is refused."""
    descriptor = _read_numbers(given, None, f"{where}: its descriptor")
    if descriptor.size != dimension:
        raise InputError(
            f"{where}: its descriptor has {descriptor.size} dimensions,"
            f" this map was made with {dimension}; run `tmapr map` again"
        )
    with np.errstate(over="ignore"):
        length = float(np.linalg.norm(descriptor))
    if length == 0 or not isfinite(length):
        return descriptor, False
    if abs(length - 1) > _UNIT_TOLERANCE:
        raise InputError(f"{where}: its descriptor has length {length:g}, it must be 1")
    return descriptor, True


def _read_motion(given: object, where: str) -> Odometry | None:
    if given is None:
        return None
    if not isinstance(given, Odometry):
        raise InputError(f"{where}: its motion must be Odometry or None, got {_describe(given)}")
    told = {"speed": given.speed, "yaw_rate": given.yaw_rate}
    read = {
        name: None if value is None else _read_number(value, f"{where}: its {name}") for name, value in told.items()
    }
    return given if told == read else Odometry(**read)


def _read_fault(given: object, where: str) -> Fault | None:
    if given is None:
        return None
    if not isinstance(given, str) or given not in list(Fault):
        raise InputError(f"{where}: {_describe(given)} is no fault; known are {', '.join(Fault)}, or None")
    return Fault(given)


def _read_number(given: object, where: str) -> float:
    """One number, as it is: it may be NaN."""
    if not isinstance(given, _NUMBER) or isinstance(given, bool):
        raise InputError(f"{where} must be a number, got {_describe(given)}")
    try:
        return float(given)
    except OverflowError:
        return float("inf")


def _read_numbers(given: object, count: int | None, where: str) -> Float[np.ndarray, " count"]:
    """A row of numbers, `count` of them, as they are. Nothing is broadcast, nothing else is taken for a number."""
    plain = isinstance(given, list | tuple) and not any(isinstance(each, bool | np.bool_) for each in given)
    try:
        row = np.array(given) if plain else given
    except ValueError:  # a row of rows that differ in length
        row = given
    if (
        not isinstance(row, np.ndarray)
        or row.dtype.kind not in _KINDS
        or row.ndim != 1
        or (count is not None and row.size != count)
        or np.ma.is_masked(row)  # beneath a mask lies any number
    ):
        wanted = "one row of numbers" if count is None else f"{count} numbers"
        raise InputError(f"{where} must be {wanted}, got {_describe(given)}")
    with np.errstate(over="ignore"):  # infinite is what it then is
        return np.asarray(row, dtype=float)


def _describe(given: object) -> str:
    """A value in a line: short, and with what tells it from the right one."""
    if np.ma.is_masked(given):
        return f"an array with masked values and shape {np.ma.asarray(given).shape}"
    if isinstance(given, np.ndarray) and (given.size > 4 or given.ndim != 1 or given.dtype.kind not in _KINDS):
        return f"an array of {given.dtype} with shape {given.shape}"
    told = given.tolist() if isinstance(given, np.ndarray) else given
    return " ".join(reprlib.repr(told).split())
