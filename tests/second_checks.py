"""What must be the same along a stream, whichever it is: a file of tests for each stream shares these."""

from itertools import chain, combinations

import numpy as np
import pytest

from second_streams import FRAMES
from side_by_side import EXACT, follow, small_system

EXTENSIONS = ("unscented", "mixture", "attenuation")
_ALL = list(chain.from_iterable(combinations(EXTENSIONS, count) for count in range(4)))
SUBSETS = [
    pytest.param(use, marks=pytest.mark.long if len(use) == 2 else (), id="+".join(use) or "none") for use in _ALL
]
"""Pairs take as long as the others and are of the same parts: they are for the long suite."""


def follow_subset(use, stream):
    """Both versions along a whole stream with some of U, G and H."""
    ours, second = follow(small_system(places__use=use), stream)
    assert len(ours.reasons) == FRAMES
    return ours, second


class SameOnBothSides:
    """Frame after frame the package says what the second version says; `sides` are both."""

    def test_both_learn_the_same_places(self, sides):
        ours, second = sides
        assert ours.lessons == second.lessons

    def test_both_find_the_same_references(self, sides):
        ours, second = sides
        assert ours.references == second.references

    def test_both_see_the_same_in_what_they_find(self, sides):
        ours, second = sides
        np.testing.assert_allclose(np.concatenate(ours.looks), np.concatenate(second.looks), **EXACT)

    def test_both_give_the_same_verdicts(self, sides):
        ours, second = sides
        assert ours.reasons == second.reasons

    def test_both_are_as_confident(self, sides):
        ours, second = sides
        np.testing.assert_allclose(np.array(ours.verdicts, float), np.array(second.verdicts, float), **EXACT)

    def test_both_believe_the_same(self, sides):
        ours, second = sides
        np.testing.assert_allclose(ours.means, second.means, **EXACT)
        np.testing.assert_allclose(ours.covariances, second.covariances, **EXACT)

    def test_both_have_the_same_classifier_in_the_end(self, sides):
        ours, second = sides
        for matrix, again in zip(ours.classifier, second.classifier, strict=True):
            np.testing.assert_allclose(matrix, again, **EXACT)
