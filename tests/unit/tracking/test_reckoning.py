"""Dead reckoning against plane geometry: where way and turns lead, and which places they contradict."""

import numpy as np
import pytest

from tmapr.tracking import RouteModel
from tmapr.tracking.reckoning import Reckoning, Turned

MODEL = RouteModel(believed=4.0)
RADIUS = 10.0
BELIEVED = 40.0
"""Four radii: the metres after which a contradicted place is believed."""
LOST = 0.5
"""Radians of doubt from which on there is no direction."""
ROUNDING = 1e-12
"""Some dozens of additions of metres and radians in float64."""
NOWHERE = np.zeros(0)
START = np.array([3.0, -4.0])


def turned(*turns):
    """Frame by frame; None where nobody knows."""
    since = Turned()
    for turn in turns:
        since.add(turn)
    return since


def settled(heading=0.0, spot=START):
    """At a certain place that is firmly known."""
    reckoning = Reckoning(RADIUS, MODEL)
    reckoning.settle(np.array(spot), heading)
    return reckoning


def drive_straight(reckoning, metres, views=1):
    for _ in range(views):
        reckoning.advance(turned(0.0), metres)


@pytest.mark.parametrize("left", [1.0, -1.0])
def test_around_a_square_it_ends_where_it_began(left):
    reckoning = settled(heading=0.7)
    for _ in range(4):
        for _ in range(5):
            reckoning.advance(turned(0.0), 6.0)
        reckoning.advance(turned(*[left * np.pi / 8] * 4), 0.0)
    np.testing.assert_allclose(reckoning.position, START, rtol=0, atol=ROUNDING)
    assert np.angle(np.exp(1j * (reckoning.heading - 0.7))) == pytest.approx(0.0, abs=ROUNDING)


def test_a_bend_is_driven_along_its_chord():
    # The chord of an arc makes half of the arc's turn with the direction at its start.
    reckoning = settled()
    reckoning.advance(turned(0.3, 0.3), 8.0)
    np.testing.assert_allclose(
        reckoning.position, START + 8.0 * np.array([np.cos(0.3), np.sin(0.3)]), rtol=0, atol=ROUNDING
    )


def test_it_is_nowhere_before_the_first_certain_place():
    reckoning = Reckoning(RADIUS, MODEL)
    drive_straight(reckoning, 5.0, views=3)
    assert (reckoning.position, reckoning.known) == (None, False)
    assert not reckoning.doubts(np.array([1e6, 1e6]), np.array([0.0]))


STREETS = {
    "its own, however the angle is written": ([1.0 + 2 * np.pi], False),
    "one of them is its own": ([1.0 + np.pi, np.nan, 1.0], False),
    "another one beside unknown ones": ([np.nan, 1.0 + np.pi], True),
    "none that is known": ([np.nan, np.nan], False),
    "none": ([], False),
}


@pytest.mark.parametrize("mapped", STREETS)
def test_a_place_is_contradicted_where_all_known_headings_are_of_other_streets(mapped):
    headings, contradicted = STREETS[mapped]
    reckoning = settled(heading=1.0)
    drive_straight(reckoning, 5.0)
    assert reckoning.doubts(reckoning.position, np.array(headings, dtype=float)) is contradicted
    assert (reckoning.doubted > 0) is contradicted


@pytest.mark.parametrize(
    ("turns", "radians", "open_share"),
    [((0.05, -0.2), -0.15, 0.0), ((0.05, None), 0.1, 1 / 2), ((0.05, None, None), 0.15, 2 / 3), ((), 0.0, 1.0)],
)
def test_an_unknown_turn_goes_on_with_the_last_one_and_leaves_its_share_of_the_view_open(turns, radians, open_share):
    assert (turned(*turns).radians, turned(*turns).open) == pytest.approx((radians, open_share))


def test_what_is_open_of_a_view_and_a_tenth_of_its_turn_are_doubted():
    reckoning = settled()
    reckoning.advance(turned(0.2, None), 5.0)
    assert reckoning.doubt == pytest.approx(np.sqrt(0.2**2 + 0.4**2 / 2 + (0.1 * 0.4) ** 2))


@pytest.mark.parametrize("way", [[1.0, 0.0], [0.0, -1.0], [0.6, 0.8]])
@pytest.mark.parametrize(("beyond", "contradicted"), [(-1e-6, False), (1e-6, True)])
def test_a_spot_beyond_the_radius_and_two_and_a_half_spreads_is_contradicted(way, beyond, contradicted):
    reckoning = settled()
    drive_straight(reckoning, 5.0, views=4)
    spot = reckoning.position + (RADIUS + 2.5 * reckoning.spread + beyond) * np.array(way)
    assert reckoning.doubts(spot, NOWHERE) == contradicted


def test_the_spread_grows_by_a_tenth_of_the_way():
    reckoning = settled()
    before = reckoning.spread
    drive_straight(reckoning, 5.0)
    assert reckoning.spread - before == pytest.approx(0.5, abs=ROUNDING)


@pytest.mark.parametrize("beyond", [-1e-6, 1e-6])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_street_is_another_beyond_half_a_radian_and_two_and_a_half_doubts(side, beyond):
    reckoning = settled(heading=3.0)  # near ±π, where a difference of angles wraps
    drive_straight(reckoning, 5.0)
    looks = 3.0 + side * (0.5 + 2.5 * reckoning.doubt + beyond)
    assert reckoning.doubts(reckoning.position, np.array([looks])) == (beyond > 0)


@pytest.mark.parametrize("mapped", [np.pi / 2, 0.0])
def test_a_turn_within_a_view_tells_streets_apart_before_the_view_ends(mapped):
    assert settled().looks_elsewhere(np.array([mapped]), turned=np.pi / 2) == (mapped == 0.0)


def test_without_a_direction_no_street_is_contradicted():
    reckoning = settled(heading=np.nan)
    drive_straight(reckoning, 1.0)
    assert not reckoning.known
    assert not reckoning.doubts(reckoning.position, np.array([np.pi]))


def test_without_a_direction_it_stays_and_its_spread_grows_by_six_tenths_of_the_way():
    reckoning = settled(heading=np.nan)
    drive_straight(reckoning, 5.0, views=4)
    np.testing.assert_array_equal(reckoning.position, START)
    assert reckoning.spread == pytest.approx(0.25 * RADIUS + 0.6 * 20.0, abs=ROUNDING)


FAR = np.array([1e4, 0.0])


def test_a_contradicted_place_is_doubted_for_four_radii_and_then_believed():
    reckoning, doubted = settled(), []
    for _ in range(10):
        reckoning.advance(turned(0.0), 5.0)
        doubted.append(reckoning.doubts(FAR, NOWHERE))
    metres = 5.0 * np.arange(1, 11)
    assert doubted == (metres < BELIEVED).tolist()


def test_where_nothing_is_driven_no_doubt_goes():
    reckoning = settled()
    for _ in range(100):
        reckoning.advance(turned(0.0), 0.0)
        assert reckoning.doubts(FAR, NOWHERE)


def test_once_a_place_is_taken_for_granted_the_next_is_doubted_as_long():
    reckoning = settled()
    reckoning.advance(turned(0.0), 35.0)
    assert reckoning.doubts(FAR, NOWHERE)
    reckoning.settle(START, 0.0)
    reckoning.advance(turned(0.0), 35.0)
    assert reckoning.doubts(FAR, NOWHERE)


def test_a_view_of_unknown_turns_leads_straight_on():
    reckoning, since = settled(), turned(0.3).begin_anew()
    since.add(None)
    reckoning.advance(since, 5.0)
    np.testing.assert_allclose(reckoning.position, START + np.array([5.0, 0.0]), rtol=0, atol=ROUNDING)


def test_after_a_view_of_unknown_turns_there_is_hardly_a_direction_and_after_two_none():
    # √(0.2² + 0.4²) = 0.45 of one; the second is beyond half a radian.
    reckoning, known = settled(), []
    for _ in range(4):
        reckoning.advance(turned(None), 5.0)
        known.append(reckoning.known)
    assert known == [True, False, False, False]


def test_the_doubt_never_exceeds_that_of_a_lost_direction():
    reckoning = settled()
    for _ in range(50):
        reckoning.advance(turned(None), 5.0)
    assert reckoning.doubt == LOST


def test_the_doubt_of_a_direction_grows_with_the_turns():
    straight, bent = settled(), settled()
    straight.advance(turned(0.0), 5.0)
    bent.advance(turned(1.0), 5.0)
    assert straight.doubt == pytest.approx(0.2)
    assert bent.doubt == pytest.approx(np.hypot(0.2, 0.1))


@pytest.mark.parametrize(("heading", "mapped", "drawn"), [(0.0, 0.5, 0.1), (0.1, -0.4, 0.0), (0.2, 2 * np.pi, 0.16)])
def test_a_certain_place_draws_the_heading_a_fifth_of_the_way_to_the_mapped_one(heading, mapped, drawn):
    reckoning = settled(heading=heading)
    reckoning.settle(START, mapped)
    assert np.angle(np.exp(1j * (reckoning.heading - drawn))) == pytest.approx(0.0, abs=ROUNDING)


def test_a_place_without_a_heading_leaves_the_direction_alone():
    reckoning = settled(heading=1.0)
    before = reckoning.heading, reckoning.doubt
    reckoning.settle(FAR, np.nan)
    assert (reckoning.heading, reckoning.doubt) == before
    np.testing.assert_array_equal(reckoning.position, FAR)


def test_a_place_that_is_believed_in_the_end_brings_its_own_direction():
    """Otherwise the next view would contradict it again."""
    reckoning = settled(heading=0.0)
    far = START + np.array([500.0, 0.0])
    drive_straight(reckoning, BELIEVED)
    assert not reckoning.doubts(far, np.array([np.pi]))
    reckoning.settle(far, np.pi)
    assert reckoning.heading == np.pi
    assert not reckoning.doubts(far, np.array([np.pi]))


def give_in():
    """It followed a place five hundred metres away, against what it said, and took that for granted."""
    reckoning = settled()
    drive_straight(reckoning, 5.0, views=8)
    reckoning.doubted = BELIEVED
    back, elsewhere = reckoning.position, reckoning.position + np.array([0.0, 500.0])
    assert not reckoning.doubts(elsewhere, NOWHERE)
    reckoning.settle(elsewhere, 0.0)
    return reckoning, back, elsewhere


def test_after_it_gave_in_the_place_that_it_had_said_is_contradicted_no_more():
    reckoning, back, elsewhere = give_in()
    assert not reckoning.contradicts(back)
    assert reckoning.contradicts(elsewhere + np.array([0.0, 600.0]))


def test_what_it_gave_in_to_is_doubted_only_as_far_as_it_was_followed():
    reckoning, *_ = give_in()
    drive_straight(reckoning, 5.0)
    assert not reckoning.doubts(reckoning.position, NOWHERE)
    reckoning.settle(reckoning.position, 0.0)
    for doubted in (True, False):
        drive_straight(reckoning, 5.0)
        assert reckoning.doubts(FAR * 10, NOWHERE) == doubted


def test_a_proven_place_takes_a_fifth_of_the_spread_a_view_down_to_a_quarter_of_the_radius():
    reckoning = settled(heading=np.nan)
    drive_straight(reckoning, 50.0)
    for spread in (0.8 * (2.5 + 30.0), 0.8**2 * (2.5 + 30.0)):
        reckoning.settle(START, np.nan)
        assert reckoning.spread == pytest.approx(spread, abs=ROUNDING)
    for _ in range(20):
        reckoning.settle(START, np.nan)
    assert reckoning.spread == 2.5


def test_who_rolls_back_goes_back():
    reckoning = settled(heading=np.pi / 2)
    before = reckoning.spread
    reckoning.advance(turned(0.0), -4.0)
    np.testing.assert_allclose(reckoning.position, START - np.array([0.0, 4.0]), rtol=0, atol=ROUNDING)
    assert reckoning.spread > before


def test_with_nothing_to_be_believed_in_the_end_nothing_is_doubted():
    reckoning = Reckoning(RADIUS, RouteModel(believed=0.0))
    reckoning.settle(START, 0.0)
    reckoning.advance(turned(0.0), 5.0)
    assert not reckoning.doubts(FAR, NOWHERE)


def test_for_the_next_view_only_the_last_turn_is_remembered():
    assert turned(0.1, -0.3).begin_anew() == Turned(last=-0.3)
