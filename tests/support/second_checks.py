"""What must be the same along a stream, whichever it is."""

from itertools import chain, combinations

import numpy as np

from side_by_side import EXACT, follow, small_system

EXTENSIONS = ("unscented", "mixture", "attenuation")
SUBSETS = list(chain.from_iterable(combinations(EXTENSIONS, count) for count in range(4)))


def name_subset(use):
    return "+".join(use) or "none"


def follow_subset(use, stream):
    """Both versions along a whole stream with some of U, G and H."""
    return follow(small_system(places__use=use), stream)


def assert_same_classifier(ours, second):
    """Of a random lift: a principal subspace has axes of either sign."""
    for matrix, again in zip(ours.classifier, second.classifier, strict=True):
        np.testing.assert_allclose(matrix, again, **EXACT)


def assert_both_say_the_same(ours, second):
    """Frame after frame the package says what the second version says."""
    assert ours.lessons == second.lessons
    assert ours.references == second.references
    assert ours.reasons == second.reasons
    for part in ("looks", "verdicts", "means", "covariances"):
        told = (getattr(side, part) for side in (ours, second))
        one, other = (np.concatenate([np.ravel(each).astype(float) for each in frames]) for frames in told)
        np.testing.assert_allclose(one, other, **EXACT, err_msg=part)
