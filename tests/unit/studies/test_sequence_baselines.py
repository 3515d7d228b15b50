"""The best line through ten frames, against every line tried in turn."""

import numpy as np
import pytest

from tmapr.studies.sequence_baselines import find_lines


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.3])
def test_lines_are_those_of_a_plain_loop(rng, ratio):
    scores = rng.normal(size=(25, 40))
    plain = []
    for frame in range(25):
        lines = [[(frame - back, end - round(back * ratio)) for back in range(min(10, frame + 1))] for end in range(40)]
        means = [np.mean([scores[at] for at in line if at[1] >= 0]) for line in lines]
        plain.append(int(np.argmax(means)))
    assert find_lines(scores, ratio).tolist() == plain


def test_a_line_outvotes_a_single_frame(rng):
    scores = 0.1 * rng.normal(size=(20, 20)) + np.eye(20)
    scores[15, 3] = 2.0
    assert find_lines(scores, 1.0)[15] == 15
