"""The route filter against a dense one that is written out plainly, and what always holds of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plain_filter import PlainFilter
from routes import SPEED, WAYS, lay, line, random_evidence, random_motion, ring, shake
from tmapr.tracking import RouteModel
from tmapr.tracking.route import TILE
from tmapr.tracking.route_filter import Motion, RouteFilter

ROUTES = {name: lay(*drives) for name, drives in WAYS.items()}
DENSE = RouteModel(dropped=0.0)
STEP = Motion(0.25, 2.0, None, 0.4)
"""Of a drive at the mapped speed."""


def dense_mass(arrays, name, route):
    """[cell, speed], where every tile is live."""
    mass = arrays[f"{name}.mass"] * arrays[f"{name}.factor"]
    return mass.transpose(0, 2, 1).reshape(-1, len(DENSE.speeds))[route.used]


@pytest.mark.parametrize("name", ROUTES)
def test_every_state_equals_the_plain_filter_s_after_every_step(name, rng):
    route = ROUTES[name]
    ours, plain = RouteFilter(route, DENSE), PlainFilter(route, DENSE)
    for _ in range(24):
        motion, evidence = random_motion(rng), random_evidence(rng, len(route.rows))
        assert ours.observe(evidence, motion) == pytest.approx(plain.observe(evidence, motion), abs=1e-12)
        arrays = ours.arrays()
        np.testing.assert_allclose(dense_mass(arrays, "on", route), plain.on, rtol=0, atol=1e-12)
        np.testing.assert_allclose(dense_mass(arrays, "null", route), plain.null, rtol=0, atol=1e-12)
        assert ours.off == pytest.approx(plain.off, abs=1e-12)
        np.testing.assert_allclose(ours.where[route.used], plain.on.sum(axis=1), rtol=0, atol=1e-12)
        shares = plain.on.sum(axis=0) / plain.on.sum()
        assert ours.velocity[0] == pytest.approx(shares @ DENSE.speeds * route.speed, abs=1e-10)
        assert ours.pace == pytest.approx(shares @ np.abs(DENSE.speeds) * route.speed, abs=1e-8)


def test_the_routes_are_what_they_are_called():
    assert {name: route.closed.tolist() for name, route in ROUTES.items() if route.closed.any()} == {
        "a loop": [True],
        "a small loop": [True],
        "two traverses": [False, True],
    }
    assert [ROUTES[name].cells[0] < TILE for name in ("a short way", "one reference")] == [True, True]
    assert all((route.cells % TILE != 0).all() for route in ROUTES.values())


@pytest.mark.parametrize(
    "model",
    [
        RouteModel(speeds=(-1.0, 0.0, 1.0, 4.0), dropped=0.0),
        RouteModel(dropped=0.0, leave=0.1, come_back=0.2, backwards=0.5),
    ],
    ids=["speeds", "rates"],
)
def test_other_numbers_of_the_model_are_heeded_alike(model, rng):
    route = ROUTES["two traverses"]
    ours, plain = RouteFilter(route, model), PlainFilter(route, model)
    for _ in range(8):
        motion, evidence = random_motion(rng), random_evidence(rng, len(route.rows))
        assert ours.observe(evidence, motion) == pytest.approx(plain.observe(evidence, motion), abs=1e-12)
    np.testing.assert_allclose(ours.where[route.used], plain.on.sum(axis=1), rtol=0, atol=1e-12)
    assert ours.off == pytest.approx(plain.off, abs=1e-12)


def drive_around(filters, route, frames, lapses, rng):
    """A lap at the mapped speed whose evidence is one sharp peak, sometimes elsewhere; yields after each frame."""
    count = len(route.rows)
    for frame in range(frames):
        apart = np.abs((np.arange(count) - frame + count // 2) % count - count // 2)
        seen = 0.05 + 0.95 * np.exp(-0.5 * (apart / 2.0) ** 2) / 0.02
        if rng.random() < lapses:
            seen = np.roll(seen, int(rng.integers(count)))
        for each in filters:
            each.observe(np.log(seen / seen.mean()), STEP)
        yield frame


def measure_difference(one, other):
    """Total variation of two beliefs."""
    return 0.5 * (np.abs(one.where - other.where).sum() + abs(one.off - other.off))


@pytest.mark.parametrize("lapses", [0.0, 0.15])
def test_what_is_dropped_changes_no_belief_by_more(lapses, rng):
    route = lay(shake(ring(600), 7))
    whole, pruned = RouteFilter(route, DENSE), RouteFilter(route, RouteModel())
    apart, live = [], []
    for _ in drive_around((whole, pruned), route, 60, lapses, rng):
        apart.append(measure_difference(whole, pruned))
        live.append(len(pruned.arrays()["on.tiles"]))
    assert min(live) < len(route.before) / TILE / 3
    # What was dropped in a frame may be what the next ones show.
    assert max(apart) <= 5.0 * RouteModel().dropped * len(route.before) / TILE


def test_memory_does_not_grow(rng):
    route = lay(shake(ring(200), 7))
    belief, sizes = RouteFilter(route, RouteModel()), []
    for _ in drive_around([belief], route, 500, 0.1, rng):
        sizes.append(sum(array.nbytes for array in belief.arrays().values()))
    assert max(sizes[250:]) <= max(sizes[:250])


@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(sorted(ROUTES)), sharp=st.floats(0.0, 300.0))
def test_a_belief_is_never_negative_and_sums_to_one(seed, name, sharp):
    rng, belief = np.random.default_rng(seed), RouteFilter(ROUTES[name], RouteModel())
    for _ in range(8):
        # Evidence has a floor, and a reference of a millionth of the way can be no likelier than a million to one.
        evidence = np.clip(sharp * random_evidence(rng, len(belief.route.rows)), -5.0, 15.0)
        assert np.isfinite(belief.observe(evidence, random_motion(rng)))
        assert min(belief.off, belief.where.min()) >= 0.0
        assert belief.where.sum() + belief.off == pytest.approx(1.0, abs=1e-5)
        assert belief.weigh_references().sum() + belief.off == pytest.approx(1.0, abs=1e-5)
        assert belief.pace >= 0.0


@pytest.mark.parametrize("told", [300.0, -300.0, 3.0, 0.0])
def test_what_drives_over_an_open_end_is_off_the_map_and_a_loop_has_none(told):
    for name, route in ROUTES.items():
        model = RouteModel(leave=0.0, come_back=1e-12, dropped=0.0)
        belief = RouteFilter(route, model)
        belief.observe(np.zeros(len(route.rows)), Motion(1.0, abs(told), told, 1.0))
        left = belief.off - model.start_off
        if route.closed.all() or told == 0.0:
            assert left == pytest.approx(0.0, abs=1e-9), name
        elif abs(told) > route.cells.sum() * route.cell:
            ends = 1 - route.cells[route.closed].sum() / route.cells.sum()
            assert left == pytest.approx((1 - model.start_off) * ends, abs=1e-6)


def test_a_view_that_says_nothing_proves_nothing(rng):
    for route in ROUTES.values():
        belief = RouteFilter(route, RouteModel())
        for _ in range(5):
            assert belief.observe(np.zeros(len(route.rows)), random_motion(rng)) == pytest.approx(0.0, abs=1e-9)


def test_what_stands_shows_no_new_views_and_odometry_says_more_than_they_do():
    def pace(new_view, told):
        belief = RouteFilter(lay(line(120)), RouteModel(views_weight=1.0))
        for _ in range(20):
            belief.observe(np.zeros(120), Motion(0.25, 2.0, told, 0.4, new_view))
        return belief.pace / SPEED

    assert pace(False, None) < 0.5 < 1.0 < pace(True, None)
    assert pace(False, 2.0) == pace(True, 2.0)


@pytest.mark.parametrize(("backwards", "proven"), [(False, True), (True, False)])
def test_a_drive_in_the_mapped_order_gains_and_one_in_the_reverse_order_loses(backwards, proven):
    route, gain = lay(line(120)), 0.0
    belief = RouteFilter(route, RouteModel(backwards=0.0))
    for at in range(10, 60):
        seen = 0.05 + np.exp(-0.5 * (np.arange(120) - (120 - at if backwards else at)) ** 2)
        gain += belief.observe(np.log(seen / seen.mean()), STEP)
    assert (gain > 5.0) == proven
    assert (gain < 1.0) == (not proven)


@pytest.mark.parametrize("at", [0, 1, 40])
def test_from_its_arrays_it_goes_on_bit_for_bit(at, rng):
    route = lay(shake(ring(300), 7))
    whole, resumed = RouteFilter(route, RouteModel()), RouteFilter(route, RouteModel())
    drive = drive_around([whole], route, 50, 0.1, rng)
    for _ in range(at):
        next(drive)
    saved = {name: array.copy() for name, array in whole.arrays().items()}
    for _ in drive_around([resumed], route, 7, 0.5, rng):
        pass  # something else, that is forgotten
    resumed.restore(saved)
    for _ in range(10):
        motion, evidence = random_motion(rng), random_evidence(rng, len(route.rows))
        assert resumed.observe(evidence, motion) == whole.observe(evidence, motion)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(resumed.arrays()[name], array, err_msg=name)


BROKEN = {
    "more than all": ({"off": np.array(0.9)}, "add up to"),
    "nothing of the null map": ({"null.speeds": np.zeros(10)}, "add up to"),
    "another tile": ({"on.mass": np.zeros((2, 10, 32))}, "expected were"),
    "other speeds": ({"on.speeds": np.zeros(9)}, "expected were"),
    "tiles of a larger map": ({"on.tiles": np.array([0, 99])}, "tiles"),
    "tiles in another order": ({"on.tiles": np.array([1, 0])}, "tiles"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_arrays_of_another_route_or_model_are_refused(name):
    change, why = BROKEN[name]
    belief = RouteFilter(ROUTES["a loop"], RouteModel())
    with pytest.raises(ValueError, match=why):
        belief.restore(belief.arrays() | change)


def test_a_start_is_a_bell_around_where_somebody_said():
    route = lay(line(60))
    belief, model = RouteFilter(route, RouteModel()), RouteModel()
    belief.start_around(np.array([60.0, 1.0]), 6.0)
    on = 1.0 - model.start_off**2
    told = belief.where[route.used] - on * model.start_off / len(route.used)
    along = route.spots[route.used][:, 0]
    mean = float(told @ along / told.sum())
    assert mean == pytest.approx(60.0, abs=0.1)
    assert np.sqrt(told @ (along - mean) ** 2 / told.sum()) == pytest.approx(6.0, rel=0.02)
    assert belief.off == pytest.approx(model.start_off**2)


def test_a_start_that_was_wrong_leaves_every_cell_its_share():
    route, model = lay(line(60)), RouteModel()
    belief = RouteFilter(route, model)
    belief.start_around(np.array([1e6, 1e6]), 1e-3)
    on = 1.0 - model.start_off**2
    assert belief.where[route.used].min() >= on * model.start_off / len(route.used) * (1 - 1e-12)
    assert belief.where.sum() + belief.off == pytest.approx(1.0)


def test_two_traverses_of_one_street_are_one_place():
    route = lay(line(40), line(40, beside=1.5)[::-1])
    belief, nothing = RouteFilter(route, DENSE), np.zeros(len(route.rows))
    seen = np.exp(-0.5 * ((route.positions[:, 0] - 40.0) / 2.0) ** 2) + 1e-3
    for _ in range(4):
        belief.observe(np.log(seen / seen.mean()), Motion(0.0, 0.0, 0.0, 1.0))
    peak = belief.find_peak(nothing, 10.0)
    ahead, back = belief.where[: TILE * route.first[1]].sum(), belief.where[TILE * route.first[1] :].sum()
    assert ahead == pytest.approx(back, rel=0.05)
    assert peak.probability == pytest.approx(ahead + back, rel=0.02)
    assert peak.position == pytest.approx([40.0, 0.75], abs=0.3)
    assert {bool(row < 40) for row in peak.near} == {True, False}


def test_the_peak_is_where_most_lies_and_the_last_view_sharpens_it(rng):
    route = lay(line(60))
    belief, view = RouteFilter(route, DENSE), random_evidence(rng, 60)
    for frame in range(20):
        belief.observe(np.where(np.abs(np.arange(60) - 10 - frame) < 6, 2.0, -2.0), STEP)
    blunt, peak = belief.find_peak(np.zeros(60), 10.0), belief.find_peak(view, 10.0)
    near = np.hypot(*(route.spots[route.used] - blunt.position).T) <= 10.0
    where = belief.where[route.used]
    assert blunt.probability == pytest.approx(where[near].sum(), abs=0.01)
    share = route.between[route.used]
    seen = (1 - share) * view[route.before[route.used]] + share * view[route.after[route.used]]
    sharpened = where * np.exp(seen) * near
    assert peak.position[0] == pytest.approx(sharpened @ route.spots[route.used][:, 0] / sharpened.sum(), abs=0.2)
    spread = np.sqrt(sharpened @ (route.spots[route.used][:, 0] - peak.position[0]) ** 2 / sharpened.sum())
    beside = RouteModel().beside
    assert np.sqrt(peak.covariance[0, 0]) == pytest.approx(np.hypot(spread, beside), abs=0.2)
    assert peak.covariance[1, 1] == pytest.approx(beside**2)  # the route is straight
    assert peak.reference == route.before[route.used][np.argmax(sharpened)]  # at it or midway to the next one


def test_all_references_of_the_peak_s_cells_are_named_and_the_nearest_is_its_likeliest():
    belief = RouteFilter(lay(line(60), cells_per_spacing=4.0), DENSE)
    belief.start_around(np.array([61.5, 0.0]), 0.1)
    peak = belief.find_peak(np.zeros(60), 3.0)
    assert peak.reference == 31
    assert peak.near.tolist() == [29, 30, 31, 32, 33]


def test_an_unlikely_place_has_the_second_moment_of_all_the_others_too(rng):
    route, belief = ROUTES["two traverses"], RouteFilter(ROUTES["two traverses"], RouteModel())
    belief.observe(evidence := random_evidence(rng, len(route.rows)), STEP)
    peak = belief.find_peak(evidence, 5.0)
    (_, sure), (_, unsure) = (belief.describe(peak, certainty) for certainty in (0.0, 1.0))
    away = route.spots[route.used] - peak.position
    spread = np.einsum("n,ni,nj->ij", belief.where[route.used], away, away) / belief.where.sum()
    np.testing.assert_allclose((unsure - sure)[:2, :2], (1.0 - peak.probability) * spread)


def test_of_a_long_route_the_null_map_has_parts_and_keeps_them_when_saved(rng):
    route, model = lay(shake(line(4000, spacing=1.0), 3)), RouteModel(null_way=1000.0)
    belief, whole = RouteFilter(route, model), RouteFilter(route, RouteModel())
    evidence = rng.normal(0.0, 0.5, (10, 4000))
    gains = np.array([[each.observe(view, STEP) for each in (belief, whole)] for view in evidence])
    assert len(belief.arrays()["null.tiles"]) < len(whole.arrays()["null.tiles"]) / 2
    np.testing.assert_allclose(gains[:, 0], gains[:, 1], atol=0.05)
    again = RouteFilter(route, model)
    again.restore(belief.arrays())
    assert again.observe(evidence[0], STEP) == belief.observe(evidence[0], STEP)
