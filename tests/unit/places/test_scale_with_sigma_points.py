"""Evidence is measured on one scale whether or not U is in use: an ablation compares U, not a smaller λ."""

import numpy as np
import pytest

from descriptor_field import CONDITIONS, DescriptorField
from made_up import record_percepts
from tmapr.places.classifier import Classifier, Places
from tmapr.places.projection import Projection
from tmapr.simulation.route import block_loop, drive

WORLD = DescriptorField.from_seed(3, dimension=32)


def traverse(condition, seed):
    rng = np.random.default_rng(seed)
    return record_percepts(WORLD, condition, drive(block_loop(120.0, 60.0), 8.0, rng), CONDITIONS[condition], rng)


@pytest.fixture(scope="module")
def measure():
    """The median leverage and best score of a dusk in a map of noon."""
    noon, dusk = traverse("noon", 1), traverse("dusk", 2)
    looks = np.array([percept.descriptor for percept in noon.percepts])

    def medians(**places):
        classifier = Classifier.fit(Places(projection=Projection(dimension=64), **places), looks, noon.truth)
        for look, position in zip(looks[::3], noon.truth[::3], strict=True):
            classifier.learn(look, position)
        answers = [classifier.predict(percept.descriptor) for percept in dusk.percepts[::5]]
        return np.median([[each.leverage, each.scores.max()] for each in answers], axis=0)

    return medians


def test_leverage_and_scores_are_on_one_scale_with_and_without_U(measure):  # noqa: N802
    np.testing.assert_allclose(measure(use=("unscented",)), measure(use=()), rtol=0.15)


def test_with_the_papers_weight_they_are_not(measure):
    assert measure(use=(), weight=1.0)[0] > 1.25 * measure(use=("unscented",))[0]
