"""Decisions over time: counted by hand on a straight road, and against a plain loop on random drives."""

import numpy as np
import pytest

from tmapr.evaluation.decisions import Judged, Mapped, judge_decisions
from tmapr.types import CHI2_95

FRAMES = 100
ROAD = np.stack([np.arange(float(FRAMES)), np.zeros(FRAMES)], axis=1)
MAP = Mapped(ROAD)
ALWAYS, NEVER = np.ones(FRAMES, dtype=bool), np.zeros(FRAMES, dtype=bool)


def judged(truth=ROAD, estimated=None, localized=ALWAYS, deviation=1.0, first=None, nearest=None):
    """A drive along the road; what is not given is right."""
    count = len(truth)
    return Judged(
        truth=truth,
        estimated=truth if estimated is None else estimated,
        covariances=np.broadcast_to(deviation**2 * np.eye(2), (count, 2, 2)),
        localized=localized,
        first=truth if first is None else first,
        nearest=truth if nearest is None else nearest,
    )


def moved(rows, aside):
    """The road with some frames put aside."""
    road = ROAD.copy()
    road[rows, 1] += aside
    return road


def test_a_drive_that_is_right_is_localized_everywhere_and_never_wrong():
    found = judge_decisions(judged(), MAP)
    assert (found.frames, found.on_map, found.localized, found.wrong, found.rmse) == (100, 100, 1.0, 0, 0.0)
    assert (found.first_right, found.global_right, found.off_map, found.recovered_after) == (1.0, 1.0, 0, 0.0)


@pytest.mark.parametrize(("aside", "wrong"), [(9.9, 0), (10.1, 5)])
def test_wrong_is_localized_and_more_than_ten_metres_off(aside, wrong):
    assert judge_decisions(judged(estimated=moved(slice(20, 25), aside)), MAP).wrong == wrong


def test_what_is_not_called_localized_is_not_wrong():
    assert judge_decisions(judged(estimated=moved(slice(20, 25), 50.0), localized=NEVER), MAP).wrong == 0


def test_in_a_sparse_map_two_references_are_the_tolerance():
    sparse = Mapped(ROAD[::8])
    assert sparse.spacing == 8.0
    assert judge_decisions(judged(estimated=moved(slice(20, 25), 15.9)), sparse).wrong == 0
    assert judge_decisions(judged(estimated=moved(slice(20, 25), 16.1)), sparse).wrong == 5


def test_a_stop_does_not_make_a_map_denser():
    assert Mapped(np.concatenate([ROAD[:50], ROAD[[50] * 200], ROAD[50:]])).spacing == 1.0


def test_metres_driven_wrong_are_those_of_the_longest_unbroken_stretch():
    off = moved([*range(10, 14), *range(30, 42)], 30.0)
    localized = ALWAYS.copy()
    localized[35] = False
    assert judge_decisions(judged(estimated=off, localized=localized), MAP).wrong_metres == 6.0
    assert judge_decisions(judged(estimated=off), MAP).wrong_metres == 12.0


def test_recovery_is_counted_in_metres_from_the_end_of_the_disturbance():
    localized = NEVER.copy()
    localized[[5, 72]] = True
    assert judge_decisions(judged(localized=localized), MAP).recovered_after == 5.0
    assert judge_decisions(judged(localized=localized), MAP, since=60).recovered_after == 12.0
    assert judge_decisions(judged(localized=localized), MAP, since=80).recovered_after is None


def test_what_is_far_from_every_reference_is_off_the_map_and_twins_count_apart():
    away = ROAD + np.array([0.0, 25.0])
    found = judge_decisions(judged(truth=away), MAP)
    assert (found.on_map, found.off_map, found.off_localized, found.localized, found.rmse) == (0, 100, 100, None, None)
    twins = Mapped(ROAD, twins=(np.array([[0.0, 25.0], [30.0, 25.0]]),))
    found = judge_decisions(judged(truth=away), twins)
    assert (found.twin_frames, found.twin_localized, found.off_map) == (46, 46, 54)


def test_the_ellipse_holds_what_lies_within_its_deviations():
    reach = np.sqrt(CHI2_95)
    estimated = moved(slice(0, 30), 2 * reach + 0.01)
    assert judge_decisions(judged(estimated=estimated, deviation=2.0), MAP).coverage95 == pytest.approx(0.7)


def test_a_first_candidate_that_is_missing_or_elsewhere_is_not_right():
    first, nearest = ROAD.copy(), moved(slice(0, 20), 40.0)
    first[:10] = np.nan
    found = judge_decisions(judged(first=first, nearest=nearest), MAP)
    assert (found.first_right, found.global_right) == (0.9, 0.8)


def test_a_detour_is_over_where_it_stays_on_the_map():
    assert MAP.return_row(moved(slice(40, 60), 30.0)) == 60
    assert MAP.return_row(ROAD) == 0


def test_a_u_turn_is_over_where_the_map_s_direction_is_driven_again():
    there_and_back = np.concatenate([ROAD[:60], ROAD[60:20:-1], ROAD[20:]])
    assert MAP.return_row(there_and_back) == pytest.approx(100, abs=1)


def test_figures_equal_a_plain_loop(rng):
    truth = np.cumsum(rng.normal(1.0, 0.7, size=(300, 2)), axis=0)
    mapped = Mapped(np.cumsum(rng.normal(1.0, 0.5, size=(300, 2)), axis=0))
    estimated = truth + rng.normal(scale=8.0, size=truth.shape)
    localized = rng.random(300) < 0.7
    found = judge_decisions(judged(truth, estimated, localized), mapped)
    on = wrong = said = off = 0
    squares, run, longest = [], 0.0, 0.0
    for row, point in enumerate(truth):
        nearest = min(np.hypot(*(reference - point)) for reference in mapped.positions)
        error = np.hypot(*(estimated[row] - point))
        is_wrong = localized[row] and error > mapped.tolerance
        if nearest <= mapped.tolerance:
            on += 1
            said += localized[row]
            squares.append(error**2)
        off += nearest > 20
        wrong += is_wrong
        step = np.hypot(*(truth[row + 1] - point)) if row + 1 < len(truth) else 0.0
        run = run + step if is_wrong else 0.0
        longest = max(longest, run)
    assert (found.on_map, found.wrong, found.off_map) == (on, wrong, off)
    assert found.localized == pytest.approx(said / on)
    assert found.rmse == pytest.approx(np.sqrt(np.mean(squares)))
    assert found.wrong_metres == pytest.approx(longest)
