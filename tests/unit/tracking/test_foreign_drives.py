"""Drives of another place, and maps whose views are all alike: hardly a frame of them is localized, or none."""

import numpy as np
import pytest

from descriptor_field import DescriptorField
from routes import LOOP, RATE, STEP, around, film, follow, look, remember_drives, ring
from tmapr.fusion.capf import Fusion
from tmapr.tracking import RouteModel, RouteTracker, Tracking
from tmapr.types import NANOSECONDS, Percept, Status

DIM = 16
"""So few that places of other fields resemble those of the map now and then."""
FIELD = DescriptorField.from_seed(8, dimension=DIM)


def remember_views(positions):
    return remember_drives(positions, views=look(positions, np.random.default_rng(1), field=FIELD))


MEMORY, SMALL = remember_views(LOOP), remember_views(ring(20))
WAY = around(STEP * np.arange(60))
MOST = 0.005
"""Share of the frames that may be localized."""


def elsewhere(seed):
    """A place that has nothing in common with the map but the kind of its views."""
    return DescriptorField.from_seed(100 + seed, dimension=DIM)


def share_localized(memory, percepts, model=None):
    estimates = follow(RouteTracker(Tracking(model=model or RouteModel()), Fusion(), memory), memory, percepts)
    return np.mean([each.status is Status.LOCALIZED for each in estimates])


@pytest.mark.parametrize("memory", [MEMORY, SMALL], ids=["a lap", "twenty references"])
@pytest.mark.parametrize("seed", range(5))
def test_a_drive_of_another_place_is_hardly_localized(memory, seed):
    assert share_localized(memory, film(WAY, field=elsewhere(seed), seed=seed)) <= MOST


def test_views_without_any_order_are_not_localized(rng):
    views = rng.normal(size=(60, DIM))
    percepts = [Percept(number * 250_000_000, view / np.linalg.norm(view)) for number, view in enumerate(views)]
    assert share_localized(MEMORY, percepts) == 0.0


def blend(views, share):
    """Views of which so much is the same everywhere."""
    hub = np.ones(views.shape[1]) / np.sqrt(views.shape[1])
    mixed = share * hub + (1.0 - share) * views
    return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_in_a_map_whose_views_are_alike_a_foreign_drive_is_hardly_localized(share, seed):
    memory = remember_drives(LOOP, views=blend(look(LOOP, np.random.default_rng(1), noise=0.1, field=FIELD), share))
    seen = film(WAY, field=elsewhere(seed), seed=seed)
    alike = blend(np.array([each.descriptor for each in seen]), share)
    assert share_localized(memory, [Percept(one.stamp, view) for one, view in zip(seen, alike, strict=True)]) <= MOST


def test_one_reference_that_looks_like_everything_draws_no_foreign_drive():
    views = look(LOOP, np.random.default_rng(1), field=FIELD)
    seen = film(WAY, field=elsewhere(1))
    hub = np.mean([each.descriptor for each in seen], axis=0)
    views[40] = hub / np.linalg.norm(hub)
    assert share_localized(remember_drives(LOOP, views=views), seen) <= MOST


def test_a_drive_backwards_along_a_map_driven_one_way_is_hardly_localized():
    """What it sees is mapped, but in the wrong order: that is what the null map expects of it."""
    assert share_localized(MEMORY, film(WAY[::-1], field=FIELD)) <= 0.1


def test_the_proof_is_what_keeps_foreign_drives_off():
    """Without one, some frame of these drives would be localized: so the tests here can fail."""
    careless = RouteModel(proof=1e-9)
    drives = [film(WAY, field=elsewhere(seed), seed=seed) for seed in range(2)]
    assert max(share_localized(MEMORY, percepts, careless) for percepts in drives) > 0.1
    assert share_localized(MEMORY, film(WAY, field=FIELD)) > 0.8


@pytest.fixture(scope="module")
def left():
    """Errors of a drive that leaves the map, frame by frame, in twelve places; NaN where it is not localized."""
    tracker = RouteTracker(Tracking(), Fusion(), MEMORY)
    follow(tracker, MEMORY, film(WAY, field=FIELD))
    begun = {name: array.copy() for name, array in tracker.arrays().items()}
    away = WAY[-1] + np.arange(1, 41)[:, None] * (WAY[-1] - WAY[-2])
    errors = []
    for seed in range(12):
        tracker.restore(begun)
        percepts = film(away, field=elsewhere(seed), start=10**12 + 60 * NANOSECONDS // RATE)
        estimates = follow(tracker, MEMORY, percepts)
        errors.append(
            [
                np.hypot(*(each.position - spot)) if each.status is Status.LOCALIZED else np.nan
                for each, spot in zip(estimates, away, strict=True)
            ]
        )
    return np.array(errors)


def test_who_leaves_the_map_is_seldom_localized_wrongly(left):
    assert (left > MEMORY.reference.place).mean() <= 0.15


def test_sixty_metres_after_leaving_the_map_hardly_anything_is_localized(left):
    assert np.isfinite(left[:, 30:]).mean() <= 0.2
