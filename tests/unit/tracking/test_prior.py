"""What is localized was seen: that a map has hardly another place proves nothing."""

import numpy as np
import pytest

from routes import line, look, record, shake
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.system import System, build, make_map
from tmapr.tracking.placing import raise_certainty
from tmapr.tracking.speeds import START_OFF
from tmapr.types import NANOSECONDS, Percept, Status

SYSTEM = System(places=Places(use=(), projection=Projection(dimension=32)))


def open_map(positions):
    return build(SYSTEM, make_map(SYSTEM, record("mapped", positions, 1)))


def watch(localizer, descriptors):
    stamps = np.arange(len(descriptors)) * (NANOSECONDS // 4)
    pairs = zip(stamps.tolist(), descriptors, strict=True)
    return [localizer.observe(Percept(stamp, descriptor)) for stamp, descriptor in pairs]


@pytest.mark.parametrize("references", [1, 2])
@pytest.mark.parametrize("seed", [4, 5])
def test_in_a_map_of_one_place_no_foreign_frame_is_localized(references, seed):
    foreign = np.random.default_rng(seed).normal(size=(12, 48))
    told = watch(open_map(line(references)), foreign / np.linalg.norm(foreign, axis=1, keepdims=True))
    assert Status.LOCALIZED not in [each.status for each in told]


def test_in_a_map_of_many_places_its_own_way_is():
    told = watch(open_map(line(40)), look(shake(line(20), 2), np.random.default_rng(2), noise=0.1))
    assert [each.status for each in told[3:]] == [Status.LOCALIZED] * 17


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5 / (1 - START_OFF)])
def test_a_place_that_is_less_likely_than_not_needs_what_the_setting_says(share):
    assert raise_certainty(0.9, share) == pytest.approx(0.9, abs=1e-12)


@pytest.mark.parametrize("share", [0.6, 0.8, 1.0])
@pytest.mark.parametrize("certainty", [0.6, 0.95])
def test_what_was_seen_has_to_lead_there_from_even_odds(share, certainty):
    needed, prior = raise_certainty(certainty, share), (1 - START_OFF) * share
    seen = needed / (1 - needed) * (1 - prior) / prior
    assert seen == pytest.approx(certainty / (1 - certainty))
