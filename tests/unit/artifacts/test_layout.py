"""Arrays against their layout: the first that does not fit is named, with what is wrong and the way out."""

import numpy as np
import pytest

from tmapr.artifacts.layout import Array, check_arrays
from tmapr.exceptions import InputError

LAYOUT = {
    "stamps": Array("i", "rows", 0, 100),
    "places": Array("f", "rows 2", -1e3, 1e3, unknown=True),
    "looks": Array("f", "rows width"),
    "names": Array("U", "rows"),
    "count": Array("i", "", 1),
    "mark": Array("f", "width", optional=True),
}
GOOD = {
    "stamps": np.arange(3),
    "places": np.array([[0.0, 1.0], [np.nan, np.nan], [2.0, 3.0]]),
    "looks": np.ones((3, 4), np.float32),
    "names": np.array(["a", "", "é"]),
    "count": np.array(7),
}
WRONG = {
    "has no array 'looks'; again": {"looks": None},
    "stamps must not be float64 of shape (3,); again": {"stamps": np.zeros(3)},
    "places must not be float64 of shape (3, 3); again": {"places": np.zeros((3, 3))},
    "looks must not be float64 of shape (12,); again": {"looks": np.zeros(12)},
    "names has 2 rows, stamps has 3; again": {"names": np.array(["a", "b"])},
    "mark has 5 width, looks has 4; again": {"mark": np.zeros(5)},
    "stamps, row 1: 101 is not within 0 and 100; again": {"stamps": np.array([1, 101, 2])},
    "count, 0 is not within 1 and 1e+15; again": {"count": np.array(0)},
    "places, row 2: [inf, 0.0] is infinite; again": {"places": np.array([[0.0, 0], [0, 0], [np.inf, 0]])},
    "looks, row 0: [nan, nan, nan, nan] is not a number; again": {"looks": np.full((3, 4), np.nan)},
    "looks, row 0: [1e+300, 1e+300, 1e+300, 1e+300] is not within": {"looks": np.full((3, 4), 1e300)},
    "names holds what are no characters; again": {"names": np.full(3, 0x7FFFFFFF, np.uint32).view("<U1")},
}


def test_what_fits_gives_the_lengths_of_its_axes():
    assert check_arrays("file", GOOD, LAYOUT, "again") == {"rows": 3, "width": 4}


@pytest.mark.parametrize("answer", WRONG)
def test_what_does_not_fit_is_named(answer):
    arrays = {name: array for name, array in (GOOD | WRONG[answer]).items() if array is not None}
    with pytest.raises(InputError) as refused:
        check_arrays("file", arrays, LAYOUT, "again")
    assert str(refused.value).startswith(f"file: {answer}")


def test_a_length_known_beforehand_counts():
    with pytest.raises(InputError, match="looks has 4 width, there are 9; again"):
        check_arrays("file", GOOD, LAYOUT, "again", width=9)
