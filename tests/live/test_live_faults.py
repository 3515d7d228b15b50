"""Faults on a live drive along the packaged street: it goes on, says nothing wrong for them, and is soon back."""

import numpy as np
import pytest

import tmapr
from tmapr.types import NANOSECONDS, Fault, Percept, Status


@pytest.fixture(scope="module")
def night(scene):
    return list(tmapr.open_sequence(tmapr.locate_sample() / "night", frame=scene.localizer.frame))


def test_a_camera_that_shows_nothing_any_more_is_not_localized_for_ever(scene, night):
    """A robot that stood before is believed to stand; after a while it may be at another place all the same."""
    localizer = scene.localizer.fork()
    seen = [localizer.step(frame) for frame in night[:40]]
    blind = [
        localizer.observe(
            Percept(night[39].stamp + count * NANOSECONDS // 4, np.zeros_like(seen[0].percept.descriptor), fault=fault)
        )
        for count, fault in enumerate([Fault.INVALID] * 20, start=1)
    ]
    radius = localizer.tracker.placer.radius
    assert seen[-1].status is blind[0].status is Status.LOCALIZED
    assert max(each.belief.semi_axis for each in blind) > radius
    assert all(each.belief.semi_axis <= radius for each in blind if each.status is Status.LOCALIZED)
