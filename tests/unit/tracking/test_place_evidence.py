"""How much a frame proves: no more than is new in it, and a labelled view once."""

from dataclasses import replace

import numpy as np
import pytest

from routes import lay, line, look
from tmapr.tracking.evidence import Scale, weigh
from tmapr.tracking.level import Levels
from tmapr.tracking.place import Placer
from tmapr.types import NANOSECONDS, Comparison, Percept

WAY = line(40)
ROUTE = lay(WAY)
VIEWS = look(WAY, np.random.default_rng(1))
RADIUS = 6.0


def compare(descriptor):
    cosines = VIEWS @ descriptor
    return Comparison((cosines - np.median(cosines)) / 0.2, np.zeros(len(VIEWS)))


def seen(number, descriptor):
    return Percept(number * NANOSECONDS, descriptor)


def turn(one, other, change):
    """A view between two whose cosine with the first is 1 − change."""
    across = other - (other @ one) * one
    return (1.0 - change) * one + np.sqrt(1.0 - (1.0 - change) ** 2) * across / np.linalg.norm(across)


def test_what_was_seen_within_a_view_is_new_once():
    placer, half = Placer(ROUTE, RADIUS), turn(VIEWS[5], VIEWS[9], ROUTE.view / 2)
    looks = [VIEWS[5], half, VIEWS[5], half, VIEWS[5], half]
    shares = [placer.observe(seen(n, each), compare(each), None).share for n, each in enumerate(looks)]
    assert shares == pytest.approx([1.0, 0.5, 0.0, 0.0, 0.0, 0.0], abs=1e-9)


def test_a_view_that_is_shorter_than_usual_proves_as_much_less():
    route = replace(ROUTE, lengths=np.where(np.arange(len(ROUTE)) % 5 < 3, 10.0, 1.0))
    placer, compared = Placer(route, RADIUS), compare(VIEWS[20])
    new = placer.filter.metres_a_view / 10.0
    assert new < 0.8
    placer.observe(seen(0, VIEWS[20]), compared, None)
    proved = np.log(placer.filter.where / placer.filter.share)
    expected = new * weigh(compared, placer.filter.share, placer.scale.weights)
    np.testing.assert_allclose(proved - proved[20], expected - expected[20], atol=1e-9)


def test_a_labelled_view_is_scored_once_however_often_it_is_shown():
    placer, compared = Placer(ROUTE, RADIUS), compare(VIEWS[20])
    assert placer.learn(seen(0, VIEWS[20]), compared, WAY[20])
    scored = placer.scale.likelihoods.copy()
    assert not placer.learn(seen(1, VIEWS[20]), compared, WAY[20])
    np.testing.assert_array_equal(placer.scale.likelihoods, scored)


def test_weights_go_a_quarter_of_the_way_to_what_fits_labels_best_in_logarithms():
    scale = Scale()
    usual = np.log(scale.weights)
    scale.likelihoods[:] = -1.0
    scale.likelihoods[0, -1] = 0.0  # similarity 1/2, place 4
    np.testing.assert_allclose(np.log(scale.weights) - usual, 0.25 * (np.log([0.5, 4.0]) - usual))


def test_a_match_better_than_usual_says_what_a_usual_one_says(rng):
    levels = Levels(1)
    for right, wrong in zip(rng.normal(3.3, 0.5, (40, 1)), rng.normal(3.0, 0.5, (40, 1)), strict=True):
        levels.weigh(right, wrong)
        levels.learn(right, wrong, certain=True, new=1.0)
    usual = levels.weigh(levels.means[0], levels.means[1])
    assert 0.0 < usual < 0.8
    assert levels.weigh(levels.means[0] + 5.0, levels.means[1]) == usual


def test_a_place_that_is_only_likely_teaches_nothing_of_right_matches():
    levels = Levels(1)
    levels.learn(np.array([5.0]), np.array([3.0]), certain=False, new=1.0)
    assert (levels.means.tolist(), levels.views.tolist()) == ([[0.0], [3.0]], [0.0, 1.0])


@pytest.mark.parametrize(("usual", "nearer"), [(1.0, True), (1000.0, False)])
def test_a_match_as_good_as_the_drive_s_own_speaks_for_the_map_and_a_worse_one_against_it(usual, nearer):
    known, fresh = Placer(ROUTE, RADIUS), Placer(ROUTE, RADIUS)
    known.levels.means[:], known.levels.views[:] = [[usual], [0.0]], 20.0
    on, off = (each.observe(seen(0, VIEWS[20]), compare(VIEWS[20]), None).p_off_map for each in (known, fresh))
    assert (on < 0.9 * off) if nearer else (on > 1.1 * off)
