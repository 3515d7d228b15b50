"""Laps of a rendered campus from noon to night: with every subset of U, G and H both versions say the same."""

import pytest

from second_checks import SUBSETS, SameOnBothSides, follow_subset
from second_streams import rendered_stream

pytestmark = pytest.mark.long  # random streams, in the file beside this one, are enough for every day


@pytest.fixture(scope="module", params=SUBSETS)
def sides(request):
    return follow_subset(request.param, rendered_stream)


class TestAlongARenderedStream(SameOnBothSides):
    """The checks, on this stream."""
