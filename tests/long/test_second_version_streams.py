"""Along thousands of frames, drawn at random and rendered from noon to night, both versions say the same."""

import pytest

from second_checks import SUBSETS, assert_both_say_the_same, assert_same_classifier, follow_subset, name_subset
from second_streams import FRAMES, random_stream, rendered_stream


@pytest.mark.parametrize("stream", [random_stream, rendered_stream])
@pytest.mark.parametrize("use", SUBSETS, ids=name_subset)
def test_every_subset_of_the_extensions_means_the_same_to_both(use, stream):
    ours, second = follow_subset(use, stream)
    assert len(ours.reasons) == FRAMES
    assert_both_say_the_same(ours, second)
    assert_same_classifier(ours, second)
