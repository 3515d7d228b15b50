"""Stamps: every way of writing one, to the nanosecond, and no two ways in one column."""

from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from tmapr.data.stamps import format_stamps, is_stamp, parse_stamp, parse_stamps, stamps_in_names
from tmapr.exceptions import InputError

WHEN = 1_628_215_174_691_250_698
ANY_STAMP = st.integers(-(2**62) + 1, 2**62 - 1)


def row(number):
    return f"frames.csv, line {number + 2}"


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        ("1628215174691250698", WHEN),
        ("1628215174.691250698", WHEN),
        (" 1628215174.6912506980000 ", WHEN),
        ("1.628215174691250698e+09", WHEN),
        ("1628215174", 1_628_215_174 * 10**9),
        ("0", 0),
        ("0.000000e+00", 0),
        (".5", 500_000_000),
        ("-0.000000001", -1),
        ("+12.", 12 * 10**9),
        ("1e-999", 0),
        ("0.0000000004", 0),
        ("0.0000000006", 1),
        ("10000000001", 10_000_000_001),
        ("2021-08-06T01:59:34.691250698", WHEN),
        ("2021-08-06T10:59:34.691250698+09:00", WHEN),
        ("2021-08-05 18:29:34,691250698-0730", WHEN),
        ("20210806T015934.691250698Z", WHEN),
        ("2021-08-06t01:59:34z", WHEN // 10**9 * 10**9),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("2021-08-06T01:59:34.9999999999", (WHEN // 10**9 + 1) * 10**9),
    ],
)
def test_a_stamp_is_read_to_the_nanosecond(text, stamp):
    assert parse_stamp(text, "here") == stamp


@budget(derandomize=True)
@given(stamp=ANY_STAMP, zeros=st.integers(0, 20))
def test_seconds_with_any_number_of_decimals_are_exact(stamp, zeros):
    whole, rest = divmod(abs(stamp), 10**9)
    assert parse_stamp(f"{'-' if stamp < 0 else ''}{whole}.{rest:09d}{'0' * zeros}", "here") == stamp


@budget(derandomize=True)
@given(
    moment=st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    nanoseconds=st.integers(0, 10**9 - 1),
    offset=st.integers(-14 * 60, 14 * 60),
)
def test_a_moment_agrees_with_exact_arithmetic(moment, nanoseconds, offset):
    zoned = moment.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=offset)))
    text = zoned.isoformat()
    text = f"{text[:19]}.{nanoseconds:09d}{text[19:]}"
    seconds = Fraction((zoned - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1))
    assert parse_stamp(text, "here") == seconds * 10**9 + nanoseconds


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("noon", "is neither seconds, nor nanoseconds, nor ISO-8601"),
        ("", "is neither"),
        ("nan", "is neither"),
        ("inf", "is neither"),
        ("1_000", "is neither"),
        ("0x10", "is neither"),
        ("1,5", "is neither"),
        ("٣", "is neither"),
        ("1" * 65, "is neither"),
        ("2021-08-06", "is neither"),
        ("2021-08-06T10:59", "is neither"),
        ("2021-02-30T10:59:33", "is no moment (day is out of range"),
        ("2021-08-06T24:59:33", "is no moment (hour must be in"),
        ("2021-08-06T10:59:60", "is no moment (second must be in"),
        ("1628215174691250698.0", "is too large for seconds; nanoseconds are integers"),
        ("1.628215174691250698e18", "is too large for seconds"),
        ("1e999", "is too large for seconds"),
        ("9999999999", "lies outside the years 1823 to 2116"),
        ("9" * 40, "lies outside the years 1823 to 2116"),
        ("0001-01-01T00:00:00+14:00", "lies outside the years"),
        ("9999-12-31T23:59:59-14:00", "lies outside the years"),
    ],
)
def test_what_is_no_time_is_refused_with_the_place_and_the_text(text, answer):
    with pytest.raises(InputError) as refusal:
        parse_stamp(text, "frames.csv, line 7")
    assert str(refusal.value).startswith("frames.csv, line 7: stamp '")
    assert answer in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["1628215174.1", "1628215174691250698"], 3),
        (["1628215174691250698", "1628215174691250699", "1628215175"], 4),
        (["2021-08-06T10:59:33", "0"], 3),
        (["0", "2021-08-06T10:59:33"], 3),
        (["1.5", "0", "1628215174691250698"], 4),
        (["0", "1628215174691250698"], None),
        (["1", "2.5", "3e0"], None),
    ],
)
def test_a_column_has_one_kind_of_stamp(texts, line):
    if line is None:
        assert len(parse_stamps(texts, row)) == len(texts)
        return
    with pytest.raises(
        InputError, match=rf"line {line}: .* is in .*, those before are in .*; write all of them in one"
    ):
        parse_stamps(texts, row)


@pytest.mark.parametrize("unit", [10**3, 10**6])
def test_milliseconds_and_microseconds_are_not_taken_for_nanoseconds(unit):
    texts = [str((WHEN + frame * 66_000_000) // 10**9 * unit + frame * 66 * unit // 1000) for frame in range(20)]
    with pytest.raises(InputError, match=r"line 2: as nanoseconds the stamps are .* µs apart, faster than any thermal"):
        parse_stamps(texts, row)


def test_stamps_that_repeat_or_go_back_are_read_as_they_are():
    assert parse_stamps([str(WHEN), str(WHEN)], row).tolist() == [WHEN, WHEN]
    assert parse_stamps(["2.5", "1.5"], row).tolist() == [2_500_000_000, 1_500_000_000]


@budget(derandomize=True)
@given(stamps=st.lists(ANY_STAMP | st.integers(0, 10**11), max_size=5))
def test_what_is_written_is_read_back(stamps):
    assert parse_stamps(format_stamps(np.array(stamps, dtype=np.int64)), row).tolist() == stamps


def test_stamps_since_the_epoch_are_written_as_integers():
    assert format_stamps(np.array([WHEN, WHEN + 66_000_000])) == [str(WHEN), str(WHEN + 66_000_000)]
    assert format_stamps(np.array([0, 100_000_000])) == ["0.000000000", "0.100000000"]


@pytest.mark.parametrize(
    ("name", "stamped"),
    [
        ("1628215174691250698", True),
        ("1628215174", True),
        ("1628215174.691250", True),
        ("0.100000", True),
        ("2021-08-06T10:59:33.5", True),
        ("000123", False),
        ("20210806", False),
        ("20210806105933", False),
        ("frame_1628215174691250698", False),
    ],
)
def test_a_name_is_a_stamp_only_if_it_counts_no_frames(name, stamped):
    assert is_stamp(name) is stamped


def test_names_are_stamps_only_all_together():
    assert stamps_in_names(["0.5", "1.5"], row).tolist() == [500_000_000, 1_500_000_000]
    assert stamps_in_names(["0.5", "000001"], row) is None
