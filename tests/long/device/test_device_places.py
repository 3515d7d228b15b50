"""U, G and H on the device against the classifier on the CPU: what is scored, what is learned, what is written down."""

import numpy as np
import pytest
import torch

from dense_ridge import DenseRidge
from tmapr.device.mixtures import DeviceMixtures
from tmapr.device.places import DevicePlaces, Scorer
from tmapr.places.attenuation import Attenuation
from tmapr.places.classifier import Classifier, Places
from tmapr.places.mixture import Mixture, Mixtures
from tmapr.places.projection import Projection
from tmapr.places.unscented import Unscented

DIM = 24
CPU = torch.device("cpu")
KINDS = {
    "lift": {"projection": Projection(kind="lift", dimension=40)},
    "pca": {"projection": Projection(kind="pca", dimension=12)},
    "identity": {"projection": Projection(kind="identity")},
    "symmetric points": {"projection": Projection(kind="identity"), "unscented": Unscented(on_sphere=False)},
    "no extension": {"use": ()},
    "mixtures alone": {"use": ("mixture",)},
    "strong weights": {"attenuation": Attenuation(gain=5.0, floor=0.2)},
    "minimax": {"attenuation": Attenuation(mode="minimax")},
    "few components": {"mixture": Mixture(components=1, dimension=4)},
    "short memory": {"mixture": Mixture(components=4, dimension=6, max_count=3.0, novelty=0.5)},
}
each_kind = pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS.keys())


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def drive(rng, frames, length):
    """Views along a line; those of a cell look alike, and vary along a direction that all share."""
    along = rng.uniform(0, length, size=frames)
    cells = np.floor(along / 15.0).astype(int)
    looks = np.random.default_rng(1).normal(size=(64, DIM)) + 0.5
    shared = np.random.default_rng(2).normal(size=DIM)
    views = looks[cells] + 0.3 * rng.normal(size=(frames, DIM)) + 0.5 * rng.normal(size=(frames, 1)) * shared
    return unit(views), np.column_stack([along, np.zeros(frames)])


def settings_with(**changes):
    return Places(**{"projection": Projection(dimension=40), "mixture": Mixture(dimension=8)} | changes)


def taught(settings, rng, frames=60, length=300.0):
    views, positions = drive(rng, frames, length)
    classifier = Classifier.fit(settings, views, positions)
    for view, position in zip(views, positions, strict=True):
        classifier.learn(view, position)
    return classifier


def on_device(settings, classifier):
    return DevicePlaces(settings, classifier, DenseRidge.copy(classifier.ridge, CPU), CPU)


def predict(places, view):
    return places.score(torch.as_tensor(view))


def teach_both(classifier, places, ridge, views, positions):
    """A lesson after the other to both; the weights that each gave."""
    given = []
    for view, position in zip(views, positions, strict=True):
        lesson = classifier.learn(view, position)
        places.note_places(classifier.grid)
        places.enter(lesson.place)
        learned = places.learn(torch.as_tensor(view), torch.tensor([lesson.place]))
        ridge.grow(len(classifier.grid))
        ridge.absorb_place(learned.place, learned.weights)
        given.append((lesson.weights, learned.weights.numpy()[: len(lesson.weights)]))
    return given


def test_a_dense_ridge_is_a_scorer(rng):
    assert isinstance(DenseRidge.copy(taught(settings_with(), rng).ridge, CPU), Scorer)


@each_kind
def test_places_are_scored_as_on_the_cpu(changes, rng):
    settings = settings_with(**changes)
    classifier = taught(settings, rng)
    places, count = on_device(settings, classifier), len(classifier.grid)
    for view in drive(rng, 40, 300.0)[0]:
        expected, found = classifier.predict(view), predict(places, view)
        np.testing.assert_allclose(found.scores[:count], expected.scores, atol=1e-9)
        np.testing.assert_allclose(found.leverage, expected.leverage, atol=1e-9)
        if expected.log_likelihoods is None:
            assert found.log_likelihoods is None
            continue
        np.testing.assert_allclose(found.log_likelihoods[:count], expected.log_likelihoods, rtol=1e-9)
        np.testing.assert_allclose(places.find_posterior(found)[:count], expected.posterior, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_hundreds_of_lessons_leave_what_they_leave_on_the_cpu(kind, rng):
    settings, lessons = settings_with(**KINDS[kind]), 300 if kind in ("lift", "short memory") else 50
    classifier = taught(settings, rng, frames=20)
    ridge = DenseRidge.copy(classifier.ridge, CPU)
    places = DevicePlaces(settings, classifier, ridge, CPU)
    weights = teach_both(classifier, places, ridge, *drive(rng, lessons, 300.0))
    np.testing.assert_allclose(*map(np.concatenate, zip(*weights, strict=True)), rtol=1e-12)
    expected = classifier.arrays()
    for name, array in places.arrays().items():
        assert array.shape == expected[name].shape
        assert array.dtype == expected[name].dtype
        np.testing.assert_allclose(array, expected[name], rtol=1e-12, atol=1e-12 * np.abs(expected[name]).max())


def test_what_was_learned_on_the_device_goes_on_on_the_cpu(rng):
    settings = settings_with()
    classifier = taught(settings, rng)
    ridge = DenseRidge.copy(classifier.ridge, CPU)
    places = DevicePlaces(settings, classifier, ridge, CPU)
    before = classifier.arrays()
    teach_both(classifier, places, ridge, *drive(rng, 50, 300.0))
    assert set(places.arrays()) == {name for name in before if name.startswith(("variation.", "mixtures."))}
    again = classifier.continue_from(classifier.arrays() | places.arrays())
    for view in drive(rng, 20, 300.0)[0]:
        expected, found = classifier.predict(view), again.predict(view)
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-12)
        np.testing.assert_allclose(found.log_likelihoods, expected.log_likelihoods, rtol=1e-12)


@pytest.mark.parametrize("seen", [0, 1])
def test_places_nothing_was_learned_of_are_as_likely_as_on_the_cpu(seen, rng):
    settings = Mixture(dimension=8)
    mixtures = Mixtures(settings, 8)
    mixtures.grow(5)
    for place in range(seen):
        mixtures.learn(rng.normal(size=8), place)
    row, found = rng.normal(size=8), DeviceMixtures(settings, mixtures.arrays(), 64, CPU)
    expected = mixtures.log_likelihoods(row)
    np.testing.assert_allclose(found.log_likelihoods(torch.as_tensor(row))[:5], expected, rtol=1e-12)


def test_more_places_than_there_is_room_for_double_it_and_change_no_score(rng):
    settings = settings_with(cell=1.0)
    classifier = taught(settings, rng, frames=40, length=900.0)
    ridge = DenseRidge.copy(classifier.ridge, CPU)
    places = DevicePlaces(settings, classifier, ridge, CPU)
    before = places.capacity
    teach_both(classifier, places, ridge, *drive(rng, 60, 900.0))
    assert before == 64 < len(classifier.grid) <= places.capacity == 128
    count = len(classifier.grid)
    for view in drive(rng, 20, 900.0)[0]:
        expected, found = classifier.predict(view), predict(places, view)
        np.testing.assert_allclose(found.scores[:count], expected.scores, atol=1e-9)
        np.testing.assert_allclose(found.log_likelihoods[:count], expected.log_likelihoods, rtol=1e-9)


def test_the_places_around_are_those_of_the_grid(rng):
    settings = settings_with()
    classifier = taught(settings, rng)
    places = on_device(settings, classifier)
    for best in ([0], [3, 7, 7], [1, len(classifier.grid) - 1]):
        marked = torch.isin(torch.arange(places.capacity), torch.tensor(best))
        assert np.flatnonzero(places.find_allowed(marked)).tolist() == classifier.neighbourhood(best)
    for place, around in enumerate(places.mark_around(torch.arange(len(classifier.grid)))):
        assert np.flatnonzero(around).tolist() == classifier.neighbourhood([place])


def test_an_unseen_direction_has_no_points_beside_it(rng):
    settings = settings_with()
    classifier = Classifier.fit(settings, *drive(rng, 30, 300.0))
    view = torch.as_tensor(drive(rng, 1, 300.0)[0][0])
    rows = on_device(settings, classifier).spread(view)
    torch.testing.assert_close(rows[1], rows[0], rtol=0, atol=0)
