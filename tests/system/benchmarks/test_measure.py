"""What benchmarks share, against SciPy."""

import numpy as np
import pytest
from scipy.stats import binomtest

from measure import wilson


@pytest.mark.parametrize(("successes", "trials"), [(28, 29), (0, 5), (5, 5), (3, 7)])
def test_wilsons_interval_is_scipys(successes, trials):
    theirs = binomtest(successes, trials).proportion_ci(method="wilson")
    ours = wilson(successes, trials)
    np.testing.assert_allclose([ours.low, ours.high], [theirs.low, theirs.high], atol=1e-12)


def test_a_share_of_nothing_has_no_interval():
    with pytest.raises(ValueError, match="0 of 0"):
        wilson(0, 0)
