"""A camera that is kidnapped, lied to and broken: with every subset of U, G and H both versions say the same."""

import pytest

from second_checks import SUBSETS, SameOnBothSides, follow_subset
from second_streams import random_stream


@pytest.fixture(scope="module", params=SUBSETS)
def sides(request):
    return follow_subset(request.param, random_stream)


class TestAlongARandomStream(SameOnBothSides):
    """The checks, on this stream."""
