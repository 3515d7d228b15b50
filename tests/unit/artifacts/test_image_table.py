"""Bits × channels × container: each combination gives its counts or is refused in one line, never other counts."""

import numpy as np
import pytest

from image_table import TABLE
from tmapr.artifacts.images import read_image
from tmapr.artifacts.probe import ImageHeader, probe
from tmapr.exceptions import InputError


@pytest.mark.parametrize("what", TABLE)
def test_a_combination_gives_its_counts_or_is_refused(what, stored, capfd):
    content, expected = TABLE[what]
    path = stored(content)
    if isinstance(expected, str):
        with pytest.raises(InputError) as caught:
            read_image(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert expected in str(caught.value)
        assert "\n" not in str(caught.value)
    else:
        counts = read_image(path)
        np.testing.assert_array_equal(counts, expected, strict=True)
        assert probe(path) == ImageHeader.of(counts)
    assert capfd.readouterr() == ("", "")
