"""The kernels of U, G, H and a drive's condition against torch: on a GPU where there is one, otherwise interpreted.

Not collected with the others: Triton must be told to interpret before it is loaded, so that a process of its own runs
this file, see test_device_places.py. On a machine with a GPU: `pytest tests/device/place_checks.py`.
"""

import numpy as np
import pytest
import torch

from dense_ridge import DenseRidge
from interpreting import DEVICE, numbers_as_numpy_has_them  # noqa: F401 (a fixture)
from tmapr.device import condition, places
from tmapr.device.condition import DeviceCondition
from tmapr.device.places import DevicePlaces
from tmapr.places.attenuation import Attenuation
from tmapr.places.classifier import Classifier, Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.places.unscented import Unscented

pytestmark = pytest.mark.usefixtures("numbers_as_numpy_has_them", "room_for_few")

DIM = 300
"""Of which the last block of a descriptor is not full."""
IDENTITY = {"projection": Projection(kind="identity")}
KINDS = {
    "all": IDENTITY | {"mixture": Mixture(components=2, dimension=6, novelty=0.9, max_count=3.0)},
    "one Gaussian": IDENTITY | {"mixture": Mixture(components=1, dimension=4), "use": ("mixture",)},
    "lift": {"projection": Projection(dimension=40), "use": ("unscented", "attenuation")},
    "strong weights": IDENTITY | {"attenuation": Attenuation(gain=5.0, floor=0.2), "use": ("attenuation",)},
    "symmetric points": IDENTITY | {"unscented": Unscented(on_sphere=False), "use": ("unscented",)},
}
each_kind = pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS.keys())


def put(array):
    return torch.as_tensor(np.array(array)).to(DEVICE)


def draw(rng, count):
    """Views along a line, and where they are: those of a place look alike."""
    along = rng.uniform(0.0, 60.0, size=count)
    looks = np.random.default_rng(1).normal(size=(8, DIM))
    views = looks[(along // 15.0).astype(int)] + 0.8 * rng.normal(size=(count, DIM))
    return views / np.linalg.norm(views, axis=1, keepdims=True), np.column_stack([along, np.zeros(count)])


def make(settings, classifier):
    ridge = DenseRidge.copy(classifier.ridge, DEVICE)
    return DevicePlaces(settings, classifier, ridge, DEVICE), ridge


@pytest.fixture
def room_for_few(monkeypatch):
    """Every place that there is room for has a program, which takes some time to interpret."""
    monkeypatch.setattr(places, "_FIRST_CAPACITY", 4)


@pytest.fixture
def by_torch(monkeypatch):
    """A call that makes something which leaves the kernels alone."""

    def call(function, *given):
        with monkeypatch.context() as patch:
            for module in (condition, places):
                patch.setattr(module, "runs_kernels", lambda _: False)
            return function(*given)

    return call


def assert_same(found, wanted, tolerance=1e-12):
    np.testing.assert_allclose(found.cpu(), wanted.cpu(), rtol=tolerance, atol=tolerance)


@each_kind
def test_views_are_scored_and_learned_as_by_torch(changes, by_torch, rng):
    settings = Places(**changes)
    views, positions = draw(rng, 12)
    classifier = Classifier.fit(settings, views, positions)
    for view, position in zip(views, positions, strict=True):
        classifier.learn(view, position)
    (ours, ridge), (theirs, other) = make(settings, classifier), by_torch(make, settings, classifier)
    for view, position in zip(*draw(rng, 2), strict=True):
        place = classifier.grid.enter(position)
        for each, state in ((ours, ridge), (theirs, other)):
            each.note_places(classifier.grid)
            each.enter(place)
            state.grow(len(classifier.grid))
        found, wanted = ours.score(put(view)), theirs.score(put(view))
        assert_same(found.scores, wanted.scores, 1e-10)
        if wanted.log_likelihoods is not None:
            assert_same(found.log_likelihoods, wanted.log_likelihoods)
        lessons = [each.learn(put(view), put([place])) for each in (ours, theirs)]
        assert_same(lessons[0].rows, lessons[1].rows)
        assert_same(lessons[0].weights, lessons[1].weights)
        for state, lesson in ((ridge, lessons[0]), (other, lessons[1])):
            state.absorb_place(lesson.place, lesson.weights)
    wanted = theirs.arrays()
    for name, array in ours.arrays().items():
        np.testing.assert_allclose(array, wanted[name], rtol=1e-11, atol=1e-13, err_msg=name)
    again = DevicePlaces(settings, classifier.continue_from(classifier.arrays() | ours.arrays()), ridge, DEVICE)
    assert torch.equal(again.step, ours.step)


def drive_on(conditions, rng, frames):
    for stamp, share in enumerate(rng.choice([0.0, 0.4, 1.0], size=frames)):
        view = put(draw(rng, 1)[0][0])
        for each in conditions:
            each.turn_to(stamp)
            each.note(view, put(share))
            each.keep(stamp)
    for each in conditions:
        each.turn_to(frames)


@pytest.mark.parametrize("frames", [0, 1, 10])
def test_a_view_is_counted_as_by_torch(frames, by_torch, rng):
    here, there = DeviceCondition(DIM, DEVICE), by_torch(DeviceCondition, DIM, DEVICE)
    drive_on([here, there], rng, frames)
    assert_same(here.mean, there.mean)
    assert_same(here.state, there.state)
    again = DeviceCondition(DIM, DEVICE)
    again.restore(here.arrays())
    again.turn_to(frames)
    assert torch.equal(again.state, here.state)


def test_a_point_without_a_direction_stays_at_the_view(rng):
    settings = Places(**IDENTITY, use=("unscented",))
    classifier = Classifier.fit(settings, *draw(rng, 12))
    placed, _ = make(settings, classifier)
    view = put(draw(rng, 1)[0][0])
    placed.step.copy_(view / placed.coefficients[1, 1])
    rows = placed.spread(placed.coefficients[1, 1] * placed.step)
    assert_same(rows[2], rows[0])
    assert_same(rows[1], rows[0])
