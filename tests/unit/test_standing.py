"""How a reference stands among the others, against a plain sort."""

import numpy as np
import pytest

from tmapr.track.standing import stand_out


@pytest.mark.parametrize("size", [1, 7, 10, 11, 500])
def test_support_and_lead_are_those_of_a_sort(size, rng):
    similarity, place = rng.normal(size=(2, size))
    total, row = similarity + place, int(rng.integers(size))
    around = np.flatnonzero(np.abs(np.arange(size) - row) < 3)
    best, far = np.argsort(-total)[:10], np.setdiff1d(np.arange(size), around)
    score, support, margin = stand_out(similarity, place, row, around, 10)
    assert score == total[row]
    assert support == pytest.approx(np.isin(best, around).mean())
    assert margin == pytest.approx(total[row] - total[far].max(initial=total.min()))
