"""A pose head counts as far as it was right: where the route filter is sure, its error is measured."""

import numpy as np
import pytest

from tmapr.tracking import head
from tmapr.tracking.head import HeadTrust

WAY = np.column_stack([np.linspace(0.0, 400.0, 101), 20.0 * np.sin(np.linspace(0.0, 6.0, 101))])
SHARE = np.full(len(WAY), 1 / len(WAY))
EXTENT = float(np.hypot(*WAY.std(axis=0))) * 2.0


def measured(say, views=200):
    """The trust in a head after a drive along the way, every view of which was certain."""
    trust = HeadTrust(EXTENT)
    for view in range(views):
        there = WAY[view % len(WAY)]
        trust.measure(say(there), there)
    return trust


USELESS = {
    "constant": lambda there: np.array([200.0, 0.0]),
    "mirrored": lambda there: np.array([400.0, 0.0]) - there,
    "far away": lambda there: there + 5000.0,
}


@pytest.mark.parametrize("name", USELESS)
@pytest.mark.parametrize("promised", [None, 2.0])
def test_a_useless_head_ends_without_any_say(name, promised):
    trust = HeadTrust(EXTENT)
    if promised is not None:
        trust.expect(promised)
    for view in range(100):
        there = WAY[view]
        trust.measure(USELESS[name](there), there)
    np.testing.assert_array_equal(trust.weigh(WAY[30], WAY, SHARE, first=False), 0.0)


def test_a_head_that_guesses_ends_without_any_say(rng):
    trust = measured(lambda there: WAY[rng.integers(len(WAY))])
    np.testing.assert_array_equal(trust.weigh(WAY[30], WAY, SHARE, first=True), 0.0)


def test_nobody_knows_a_new_head():
    assert not HeadTrust(EXTENT).known
    np.testing.assert_array_equal(HeadTrust(EXTENT).weigh(WAY[30], WAY, SHARE, first=True), 0.0)


def test_a_good_head_speaks_for_where_it_points(rng):
    trust = measured(lambda there: there + rng.normal(0.0, 5.0, 2))
    evidence = trust.weigh(WAY[30], WAY, SHARE, first=True)
    assert np.argmax(evidence) == 30
    assert evidence[30] > head.AT_FIRST
    assert evidence[90] < 0.0


def test_its_error_is_found_from_above(rng):
    errors = [
        np.sqrt(measured(lambda there: there + rng.normal(0.0, 5.0, 2), views).variance) for views in (20, 100, 800)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == pytest.approx(5.0, rel=0.2)


@pytest.mark.parametrize("error", [0.0, 3.0, 20.0])
def test_the_exponential_of_its_evidence_is_one_in_the_mean_over_the_route(error, rng):
    trust = measured(lambda there: there + rng.normal(0.0, error, 2))
    assert trust.known
    evidence = trust.weigh(WAY[30] + 1.0, WAY, SHARE, first=True) / head.AT_FIRST
    assert np.exp(evidence) @ SHARE == pytest.approx(1.0)


def test_later_views_say_less_than_the_first(rng):
    trust = measured(lambda there: there + rng.normal(0.0, 5.0, 2))
    first, later = (trust.weigh(WAY[30], WAY, SHARE, first=first) for first in (True, False))
    assert 0.0 < later[30] < 0.5 * first[30]


def test_far_off_the_map_its_evidence_fades(rng):
    trust = measured(lambda there: there + rng.normal(0.0, 5.0, 2))
    beside = [np.ptp(trust.weigh(WAY[30] + [0.0, away], WAY, SHARE, first=True)) for away in (0.0, 20.0, 40.0, 400.0)]
    assert beside == sorted(beside, reverse=True)
    assert beside[-1] == pytest.approx(0.0, abs=1e-9)


def test_a_validation_counts_until_a_few_views_were_measured():
    trust = HeadTrust(EXTENT)
    trust.expect(6.0)
    assert trust.known
    assert 2.0 * trust.variance == pytest.approx(36.0)
    trust.measure(WAY[0], WAY[0])
    before = trust.variance
    trust.expect(50.0)
    assert trust.variance == before


def test_a_head_that_becomes_good_again_is_believed_again(rng):
    trust = measured(USELESS["constant"])
    assert not trust.known
    for view in range(1000):
        there = WAY[view % len(WAY)]
        trust.measure(there + rng.normal(0.0, 3.0, 2), there)
    assert trust.known
