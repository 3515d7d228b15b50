"""Straight roads whose views change smoothly, and place classifiers that were taught them."""

from itertools import combinations
from typing import get_args

import numpy as np
import pytest
from sklearn import linear_model

from tmapr.places.attenuation import Attenuation
from tmapr.places.classifier import Classifier, Extension, Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection

WIDTH, SPACING, PLACES = 24, 2.0, 9
ALL: tuple[Extension, ...] = get_args(Extension)
SUBSETS = [subset for size in range(4) for subset in combinations(ALL, size)]
every_subset = pytest.mark.parametrize("use", SUBSETS, ids=lambda use: "+".join(use) or "plain")
MINIMAX = Attenuation(mode="minimax")
_WAVES = np.random.default_rng(7)
FREQUENCIES, PHASES = 0.1 * _WAVES.normal(size=(2, WIDTH)), _WAVES.uniform(0, 2 * np.pi, size=WIDTH)


def drive(rng, count, start=(0.0, 0.0), heading=(1.0, 0.0)):
    """Descriptors and positions along a straight road: the view changes smoothly, with noise."""
    positions = np.array(start) + SPACING * np.arange(count)[:, None] * np.array(heading)
    views = np.cos(positions @ FREQUENCIES + PHASES) + 0.3 * rng.normal(size=(count, WIDTH))
    return views / np.linalg.norm(views, axis=1, keepdims=True), positions


def chosen(use=ALL, **parts):
    small = {"ridge": 0.01, "projection": Projection(dimension=64), "mixture": Mixture(dimension=8)}
    return Places(cell=10.0, use=use, **(small | parts))


def fresh(settings):
    """Fitted to one and the same reference traverse, and untaught."""
    return Classifier.fit(settings, *drive(np.random.default_rng(1), 40))


def teach(classifier, frames):
    return [classifier.learn(*frame) for frame in zip(*frames, strict=True)]


def mapped(settings):
    """Taught the reference traverse: 40 frames, 9 places."""
    classifier = fresh(settings)
    teach(classifier, drive(np.random.default_rng(1), 40))
    return classifier


def copied(classifier, settings):
    return Classifier.from_arrays(settings, classifier.projection_arrays(), classifier.arrays())


def assert_same_bits(left, right):
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.dtype == right[name].dtype
        np.testing.assert_array_equal(array, right[name], err_msg=name)


def batch_weights(lessons, places, classes, ridge):
    """Ridge regression over the lessons' rows with their recorded weights, all at once."""
    rows = np.concatenate([lesson.rows for lesson in lessons])
    weights = np.concatenate([lesson.weights for lesson in lessons])
    targets = np.repeat(np.eye(classes)[places], [len(lesson.rows) for lesson in lessons], axis=0)
    model = linear_model.Ridge(alpha=ridge, fit_intercept=False, solver="cholesky")
    return model.fit(rows, targets, sample_weight=weights).coef_.T
