"""Stamps as people write them: seconds, integer nanoseconds or ISO-8601, each read to the nanosecond.

A number up to 10¹⁰ (the year 2286) is seconds and a larger integer nanoseconds; a moment without a zone is UTC. No
stamp passes through a float. They stay within ±2⁶² ns (1823 to 2116), so that the difference of two fits too.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal
from enum import StrEnum

import numpy as np
from jaxtyping import Int

from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(E[+-]?\d{1,3})?", re.ASCII)
_MOMENT = re.compile(r"(\d{4}-?\d\d-?\d\d[T ]\d\d:?\d\d:?\d\d)(?:[.,](\d+))?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_SECONDS = 10_000_000_000
_BOUND = 2**62
_SINCE_1973 = 10**17  # ns: file names that are smaller integers count frames
_SHORTEST_STEP = 500_000  # ns: no thermal camera takes 2000 frames a second
_LONGEST_TEXT = 64
_EXACT = Context(prec=100)  # the digits of the longest text in nanoseconds, and more


class _Kind(StrEnum):
    SECONDS = "seconds"
    NANOSECONDS = "integer nanoseconds"
    ISO = "ISO-8601"


def parse_stamp(text: str, where: str) -> int:
    """Nanoseconds since the epoch; `where` begins the refusal of what is no time. Digits beyond nine are rounded."""
    return _parse(text, where)[0]


def parse_nanoseconds(text: str, where: str) -> int:
    """A stamp that can be nothing but integer nanoseconds, however small."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and int(digits) < _BOUND):
        raise InputError(f"{where}: {text[:40]!r} is not a stamp in integer nanoseconds")
    return int(digits)


def parse_stamps(texts: Sequence[str], where_of_row: Callable[[int], str]) -> Int[np.ndarray, " rows"]:
    """A whole column of stamps, which must all be written in one way."""
    read = [_parse(text, where_of_row(row)) for row, text in enumerate(texts)]
    # Zero is as many nanoseconds as seconds.
    numbers = next((kind for stamp, kind in read if stamp != 0 and kind is not _Kind.ISO), _Kind.SECONDS)
    kinds = [numbers if stamp == 0 and kind is not _Kind.ISO else kind for stamp, kind in read]
    for row, kind in enumerate(kinds):
        if kind is not kinds[0]:
            raise InputError(
                f"{where_of_row(row)}: stamp {texts[row]!r} is in {kind}, those before are in {kinds[0]};"
                " write all of them in one way"
            )
    stamps = np.array([stamp for stamp, _ in read], dtype=np.int64)
    if _Kind.NANOSECONDS in kinds and 0 < _mean_step(stamps) < _SHORTEST_STEP:
        raise InputError(
            f"{where_of_row(0)}: as nanoseconds the stamps are {_mean_step(stamps) / 1000:g} µs apart, faster than any"
            " thermal camera; if they are milli- or microseconds, write them as seconds"
        )
    return stamps


def format_stamps(stamps: Int[np.ndarray, " rows"]) -> list[str]:
    """Stamps as `parse_stamps` reads them back: integers, or seconds where those would be taken for something else."""
    integers = (np.abs(stamps) > _LATEST_SECONDS).all() and not 0 < _mean_step(stamps) < _SHORTEST_STEP
    return [str(stamp) if integers else _format_seconds(stamp) for stamp in stamps.tolist()]


def stamps_in_names(names: Sequence[str], where_of_row: Callable[[int], str]) -> Int[np.ndarray, " rows"] | None:
    """The stamps that file names without their suffix are, or None unless each of them is one.

    Seconds with a decimal point, ISO-8601, or an integer that is a time after 1973: a smaller one counts frames.
    """
    return parse_stamps(names, where_of_row) if all(map(is_stamp, names)) else None


def is_stamp(name: str) -> bool:
    """Whether this can only be a stamp, and no number that counts something."""
    try:
        stamp, kind = _parse(name, name)
    except InputError:
        return False
    return kind is _Kind.ISO or "." in name or stamp >= _SINCE_1973


def _mean_step(stamps: Int[np.ndarray, " rows"]) -> float:
    return float(np.ptp(stamps) / max(len(stamps) - 1, 1)) if len(stamps) else 0.0


def _format_seconds(stamp: int) -> str:
    whole, rest = divmod(abs(stamp), NANOSECONDS)
    return f"{'-' if stamp < 0 else ''}{whole}.{rest:09d}"


def _parse(text: str, where: str) -> tuple[int, _Kind]:
    plain = text.strip().upper()
    if len(plain) <= _LONGEST_TEXT and _NUMBER.fullmatch(plain):
        stamp, kind = _parse_number(plain, where)
    elif len(plain) <= _LONGEST_TEXT and (found := _MOMENT.fullmatch(plain)):
        stamp, kind = _parse_moment(found, where), _Kind.ISO
    else:
        raise InputError(f"{where}: stamp {text[:40]!r} is neither seconds, nor nanoseconds, nor ISO-8601")
    if abs(stamp) >= _BOUND:
        raise InputError(f"{where}: stamp {text[:40]!r} lies outside the years 1823 to 2116")
    return stamp, kind


def _parse_number(plain: str, where: str) -> tuple[int, _Kind]:
    number = Decimal(plain)
    if _EXACT.abs(number) <= _LATEST_SECONDS:
        return int(_EXACT.to_integral_value(_EXACT.multiply(number, NANOSECONDS))), _Kind.SECONDS
    if not plain.lstrip("+-").isdecimal():
        raise InputError(
            f"{where}: stamp {plain!r} is too large for seconds; nanoseconds are integers without point or exponent"
        )
    return int(plain), _Kind.NANOSECONDS


def _parse_moment(found: re.Match[str], where: str) -> int:
    moment, fraction, zone = found.groups()
    try:
        since = datetime.fromisoformat(moment + (zone or "Z")) - _EPOCH
    except ValueError as error:
        raise InputError(f"{where}: stamp {found[0]!r} is no moment ({error})") from None
    # A datetime holds microseconds, so the fraction goes past it.
    rest = _EXACT.to_integral_value(_EXACT.multiply(Decimal(f"0.{fraction or 0}"), NANOSECONDS))
    return (since.days * 86_400 + since.seconds) * NANOSECONDS + int(rest)
