"""The export of XFeat is what its network says."""

import numpy as np
import torch

from tmapr.perception.keypoint_export import export_keypoints
from tmapr.perception.onnx import INPUT, open_session
from tmapr.perception.xfeat import Xfeat

NEAR = {"rtol": 0, "atol": 1e-5}


def picture():
    rows, columns = np.mgrid[:96, :128]
    pattern = (rows * 37 + columns * columns * 11 + (rows // 9) * (columns // 7) * 53) % 256 // 2
    return (pattern + (rows // 13 + columns // 17) % 2 * 120).astype(np.uint8)


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
