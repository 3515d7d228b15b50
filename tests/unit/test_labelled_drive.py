"""What labels taught beside the classifier outlives a stop and a drive."""

import numpy as np
import pytest

from routes import line, look
from tmapr.artifacts.percepts import Recording
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.system import System, build, make_map
from tmapr.types import NANOSECONDS, Percept

SYSTEM = System(places=Places(cell=15.0, projection=Projection(dimension=24), mixture=Mixture(dimension=4)))
WAY = line(40)
STAMPS = np.arange(40) * NANOSECONDS


@pytest.fixture
def environment(rng):
    return make_map(SYSTEM, Recording.from_arrays("noon", STAMPS, look(WAY, rng), truth=WAY))


@pytest.fixture
def taught(environment, rng):
    localizer = build(SYSTEM, environment)
    localizer.expect_head(3.0)
    for stamp, descriptor, position in zip(STAMPS[:20].tolist(), look(WAY, rng), WAY, strict=False):
        localizer.learn(Percept(stamp, descriptor), position)
    return localizer


def test_a_restored_localizer_has_the_condition_of_the_labels_before(taught, environment):
    again = build(SYSTEM, environment)
    again.restore(taught.arrays(), "route")
    for name in ("lessons.mean", "lessons.views", "lessons.stamp"):
        np.testing.assert_array_equal(again.moment()[name], taught.moment()[name])
    assert taught.moment()["lessons.views"] > 3


def test_another_drive_knows_how_far_frames_and_the_pose_head_can_be_trusted(taught):
    before, after = taught.tracker.learned(), taught.fork().tracker.learned()
    assert before["labelled"].any()
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array, err_msg=name)
