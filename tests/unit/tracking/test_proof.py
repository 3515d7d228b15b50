"""What a proof adds up, and how much of it begins a claim and keeps one."""

import numpy as np
import pytest

from tmapr.tracking import RouteModel
from tmapr.tracking.proof import Proof
from tmapr.tracking.route_filter import Motion, Peak

HERE = Peak(0.95, np.zeros(2), np.eye(2), 0, np.array([0]))
STANDING = Motion(1.0, 0.0, None, 1.0)


@pytest.mark.parametrize(
    ("gains", "claimed"),
    [((8.0, -2.0, -1.5), [True, True, True]), ((8.0, -4.5, 3.0), [True, False, False]), ((6.5,), [False])],
)
def test_what_the_null_map_explains_better_is_taken_off_and_less_keeps_a_claim_than_begins_it(gains, claimed):
    proof = Proof(10.0, 0.9, RouteModel())
    assert [proof.judge(HERE, gain, STANDING) for gain in gains] == claimed
