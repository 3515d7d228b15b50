"""Which arrays a file must hold, of which kind, size and range: declared beside what they are made into.

A file may be anybody's, with a right checksum: what does not fit its layout is refused before it is used.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tmapr.artifacts.arrays import Arrays
from tmapr.exceptions import InputError

_LARGEST = 1e15
"""No number of ours is larger, and no product of a few such numbers overflows."""

_ROWS = 65_536
"""Looked at in one go: a map's descriptors stay on disk, and should not all come into memory for this."""


@dataclass(frozen=True, slots=True)
class Array:
    """`kinds` are NumPy's letters, `axes` lengths or names of lengths, the same throughout a file."""

    kinds: str
    axes: str = ""
    low: int | float = -_LARGEST
    high: int | float = _LARGEST
    unknown: bool = False
    """Whether NaN may stand for what is not known."""
    anything: bool = False
    """Whether any number will do, infinity among them."""
    optional: bool = False


Layout = Mapping[str, Array]


def check_arrays(where: str, arrays: Arrays, layout: Layout, way_out: str, **lengths: int) -> dict[str, int]:
    """Refuse what does not fit; the lengths that the axes have, in which those given beforehand are.

    `way_out` ends every refusal. Arrays that the layout does not name are left alone.
    """
    owners: dict[str, str] = {}
    for name, wanted in layout.items():
        if name not in arrays:
            if wanted.optional:
                continue
            raise InputError(f"{where}: has no array {name!r}; {way_out}")
        array, axes = arrays[name], wanted.axes.split()
        fixed = all(not axis.isdigit() or size == int(axis) for axis, size in zip(axes, array.shape, strict=False))
        if array.dtype.kind not in wanted.kinds or array.ndim != len(axes) or not fixed:
            raise InputError(f"{where}: {name} must not be {array.dtype} of shape {array.shape}; {way_out}")
        for axis, size in zip(axes, array.shape, strict=True):
            if not axis.isdigit() and lengths.setdefault(axis, size) != size:
                told = f"{owners[axis]} has {lengths[axis]}" if axis in owners else f"there are {lengths[axis]}"
                raise InputError(f"{where}: {name} has {size} {axis}, {told}; {way_out}")
            owners.setdefault(axis, name)
        if array.dtype.kind == "U" and not _is_text(array):
            raise InputError(f"{where}: {name} holds what are no characters; {way_out}")
        if array.dtype.kind in "fiu" and not wanted.anything:
            _check_range(where, name, array, wanted, way_out)
    return lengths


def _is_text(array: np.ndarray) -> bool:
    """Whether all of it can become strings: NumPy keeps any 32 bits as a character."""
    codes = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("=")).reshape(-1).view(np.uint32)
    return not bool(((codes > sys.maxunicode) | ((codes >= 0xD800) & (codes < 0xE000))).any())


def _check_range(where: str, name: str, array: np.ndarray, wanted: Array, way_out: str) -> None:
    for start in range(0, len(array) if array.ndim else 1, _ROWS):
        part = array[start : start + _ROWS] if array.ndim else array
        right = (part >= wanted.low) & (part <= wanted.high) & np.isfinite(part)
        if wanted.unknown:
            right |= np.isnan(part)
        if not right.all():
            row, *_ = (each.tolist() for each in np.nonzero(np.atleast_1d(~right)))
            value = np.asarray(np.atleast_1d(part)[row[0]])
            told = f"row {start + row[0]}: " if array.ndim else ""
            raise InputError(f"{where}: {name}, {told}{_shorten(value)} {_explain(wanted, value)}; {way_out}")


def _shorten(value: np.ndarray) -> str:
    text = str(value.tolist())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _explain(wanted: Array, value: np.ndarray) -> str:
    if np.isinf(value).any():
        return "is infinite"
    if np.isnan(value).any() and not wanted.unknown:
        return "is not a number"
    return f"is not within {wanted.low:g} and {wanted.high:g}"
