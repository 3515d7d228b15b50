"""A percept is the same, bit for bit, whether it was kept meanwhile or not, and whatever it was encoded with."""

import numpy as np
import pytest

import tmapr
from tmapr.artifacts.percepts import Recording
from tmapr.perception.opening import open_perceiver
from tmapr.perception.settings import Perception


@pytest.fixture(scope="module")
def percepts():
    perceiver = open_perceiver(Perception(), "cpu")
    frames = list(tmapr.open_sequence(tmapr.locate_sample() / "night"))[:10]
    return [perceiver(frame) for frame in frames], list(perceiver.stream(frames))


def test_alone_and_in_a_batch(percepts):
    alone, together = percepts
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.descriptor, other.descriptor)


def test_kept_and_fresh(percepts, tmp_path):
    alone, _ = percepts
    unknown = np.full((len(alone), 2), np.nan)
    Recording("night", tuple(alone), unknown, np.zeros(len(alone), dtype=bool)).save(tmp_path / "night.npz")
    for fresh, kept in zip(alone, Recording.load(tmp_path / "night.npz").percepts, strict=True):
        np.testing.assert_array_equal(fresh.descriptor, kept.descriptor)
        assert fresh.shift == kept.shift
