"""Labels are wrong as often as asked, and nothing else changes: on made-up percepts of a block."""

import numpy as np
import pytest

from descriptor_field import CONDITIONS, DescriptorField
from field import Trouble, mislead
from made_up import record_percepts
from tmapr.config import changed
from tmapr.labels import Labels
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.simulation.route import block_loop, drive
from tmapr.system import System, build, make_map

PLACES = Places(cell=15.0, projection=Projection(dimension=64), mixture=Mixture(dimension=8))
FUSED = changed(System(places=PLACES), {"labels": Labels(mode="fused")})
WORLD = DescriptorField.from_seed(3, dimension=32)
ROWS = 400


def traverse(seed, condition):
    rng = np.random.default_rng(seed)
    return record_percepts(WORLD, condition, drive(block_loop(120.0, 60.0), 8.0, rng), CONDITIONS[condition], rng)


@pytest.fixture(scope="module")
def environment():
    return make_map(FUSED, traverse(1, "noon"))


@pytest.fixture(scope="module")
def dusk():
    return traverse(2, "dusk")


@pytest.fixture(scope="module")
def right(environment, dusk):
    """Where lessons are, without any trouble."""
    return learn(environment, dusk)[0]


def learn(environment, recording):
    """The middles of the places that views were learned at, one after the other, and the localizer."""
    localizer, lessons = build(FUSED, environment), []
    for percept in recording.percepts[:ROWS]:
        lessons += [each for each in localizer.teach(localizer.observe(percept)) if not each.imagined]
    grid = localizer.classifier.grid
    return np.array([grid.origin + (np.array(lesson.cell) + 0.5) * grid.cell for lesson in lessons]), localizer


def measure(places, right):
    """How far lessons are from where they should be; those after a rollback are missing."""
    return np.hypot(*(places - right[: len(places)]).T)


def test_without_trouble_it_learns_what_it_learns(environment, dusk, right):
    with mislead(Trouble()):
        places, _ = learn(environment, dusk)
    np.testing.assert_array_equal(places, right)


def test_labels_are_wrong_as_often_as_asked(environment, dusk, right):
    with mislead(Trouble(0.4)):
        places, _ = learn(environment, dusk)
    assert len(places) > 10
    assert 0.2 < np.mean(measure(places, right) > PLACES.cell) < 0.6


def test_labels_that_are_all_moved_are_learned_elsewhere_and_then_taken_back(environment, dusk, right):
    with mislead(Trouble(1.0, 60.0)):
        places, localizer = learn(environment, dusk)
    assert len(places) > 0
    assert (measure(places, right) > PLACES.cell).all()
    assert localizer.rollbacks == 1
