"""The similarity that reaches a precision, against counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmapr.exceptions import InputError
from tmapr.tracking import Threshold, threshold_for_precision


def cuts(similarities, correct):
    """Precision and recall of every possible threshold, by counting."""
    for value in sorted(set(similarities)):
        kept = [hit for similarity, hit in zip(similarities, correct, strict=True) if similarity >= value]
        yield Threshold(value, sum(kept) / len(kept), sum(kept) / max(sum(correct), 1))


STREAMS = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.8, 0.9, 0.95]), st.booleans()), min_size=1, max_size=30)


@given(stream=STREAMS, precision=st.sampled_from([0.2, 0.5, 2 / 3, 0.9, 0.99, 1.0]))
def test_the_threshold_is_the_lowest_cut_that_reaches_the_precision(stream, precision):
    similarities, correct = zip(*stream, strict=True)
    good = [cut for cut in cuts(similarities, correct) if cut.precision >= precision]
    if not good:
        with pytest.raises(InputError, match=f"no threshold gives precision {precision:g}"):
            threshold_for_precision(np.array(similarities), np.array(correct), precision)
        return
    assert threshold_for_precision(np.array(similarities), np.array(correct), precision) == good[0]


def test_equal_similarities_stand_together():
    similarities, correct = np.array([0.9, 0.8, 0.8, 0.7]), np.array([True, True, False, True])
    assert threshold_for_precision(similarities, correct, 0.9) == Threshold(0.9, 1.0, 1 / 3)


def test_a_precision_that_is_never_reached_is_refused_with_the_best():
    similarities, correct = np.array([0.9, 0.8, 0.7, 0.6]), np.array([False, True, True, False])
    with pytest.raises(InputError, match=r"no threshold gives precision 0\.9 .*the best is 0\.667"):
        threshold_for_precision(similarities, correct, 0.9)


def test_a_threshold_cannot_be_chosen_from_nothing():
    with pytest.raises(InputError, match="no candidate on the validation stream"):
        threshold_for_precision(np.zeros(0), np.zeros(0, dtype=bool), 0.9)


@pytest.mark.parametrize("precision", [0.0, -0.1, 1.01, float("nan")])
def test_a_precision_outside_its_range_is_refused(precision):
    with pytest.raises(ValueError, match=f"got {precision}"):
        threshold_for_precision(np.ones(1), np.ones(1, dtype=bool), precision)
