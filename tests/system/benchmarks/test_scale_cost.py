"""What a map costs: the extrapolation is a sum of the coefficients, and numbers are told without exponents."""

import pytest

from scale_cost import Coefficients, extrapolate, say

FOUND = Coefficients(1000.0, 3000.0, 10_000.0, 1e6, 0.036, 0.0, 0.0, 0.1, 2.0, 0.01, 1e-8)


@pytest.mark.parametrize(
    ("number", "told"),
    [(0.0, "0"), (1234567.0, "1,230,000"), (0.00123456, "0.00123"), (20.0, "20.0"), (999.6, "1,000")],
)
def test_a_number_is_told_with_three_digits_and_no_exponent(number, told):
    assert say(number) == told


def test_a_city_is_the_sum_of_its_references_and_places():
    rows = {
        name.strip(): cells
        for name, *cells in (line.strip("|").split("|") for line in extrapolate(FOUND, 0.04, 0.02).splitlines())
    }
    city = {name: cells[2].strip() for name, cells in rows.items()}
    # 2 million references of 4 kB and a tenth of a place of 10 kB each; 0.036 s for each reference.
    assert city["shards, GB"] == "10.0"
    assert city["mapping, hours of a core"] == "20.0"
    assert city["mapping, dollars"] == "0.800"
    assert city["to find it anywhere, s"] == "0.0300"
