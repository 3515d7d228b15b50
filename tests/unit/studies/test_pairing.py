"""Whether a difference between two runs is told from noise."""

import pytest

from tmapr.evaluation.bootstrap import Interval
from tmapr.studies.comparison import Difference, Standing
from tmapr.studies.pairing import Measure


@pytest.mark.parametrize(
    ("low", "high", "smaller_wins", "larger_wins"),
    [
        (-2.0, -1.0, Standing.BETTER, Standing.WORSE),
        (1.0, 2.0, Standing.WORSE, Standing.BETTER),
        (-1.0, 2.0, Standing.UNDECIDED, Standing.UNDECIDED),
        (0.0, 0.0, Standing.UNDECIDED, Standing.UNDECIDED),
    ],
)
def test_an_interval_on_one_side_of_zero_decides(low, high, smaller_wins, larger_wins):
    difference = Difference((low + high) / 2, Interval(low, high))
    assert Measure("RMSE m", 9, 1.0, 2.0, difference).standing is smaller_wins
    assert Measure("F1", 9, 1.0, 2.0, difference, higher_is_better=True).standing is larger_wins
