"""Frames and networks for what is measured on a GPU machine, which may have no OpenCV: import this before the package.

Without it the package is imported all the same: nothing that runs on a device needs it.
"""

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tmapr.perception.network import Network

OPENCV = find_spec("cv2") is not None
if not OPENCV:
    sys.modules["cv2"] = ModuleType("cv2")

SIDES, SIZE = (512, 640), (224, 224)
SCENES = 16


def make_scenes() -> list[np.ndarray]:
    """Smooth 14-bit scenes with some noise and a few hot pixels, without OpenCV."""
    rng = np.random.default_rng(0)
    scenes = []
    for _ in range(SCENES):
        coarse = rng.normal(3600, 300, (17, 21))
        rows, columns = (np.linspace(0, n - 1.001, side) for n, side in zip(coarse.shape, SIDES, strict=True))
        top, left = rows.astype(int), columns.astype(int)
        down, right = (rows - top)[:, None], columns - left
        upper = coarse[top][:, left] * (1 - right) + coarse[top][:, left + 1] * right
        lower = coarse[top + 1][:, left] * (1 - right) + coarse[top + 1][:, left + 1] * right
        counts = upper * (1 - down) + lower * down + rng.normal(0, 4, SIDES)
        counts[rng.integers(0, SIDES[0], 50), rng.integers(0, SIDES[1], 50)] = 16000
        scenes.append(counts.astype(np.uint16))
    return scenes


def make_network(*, small: bool) -> "Network":
    """The paper's widths, or a network for a test."""
    import torch

    from tmapr.latency.random_vit import make_random_network
    from tmapr.perception.apr import AprHead
    from tmapr.perception.card import CLIP, Input
    from tmapr.perception.network import Network
    from tmapr.perception.pooling import Joined
    from tmapr.perception.salad import Salad
    from tmapr.perception.settings import Perception
    from tmapr.perception.vit import VisionTransformer

    torch.manual_seed(0)
    if not small:
        return make_random_network(Perception(size=SIZE))[0]
    vit = VisionTransformer(64, 2, 2)
    with torch.no_grad():
        for parameter in vit.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    parts = Salad(64, clusters=8, cluster_dim=4, token_dim=8, hidden=16), AprHead(64, layers=1, heads=2, hidden=8)
    given = Input(mean=CLIP[0], std=CLIP[1], size=SIZE)
    return Network(vit.fix_size(*SIZE), Joined([parts[0]], (1.0,)), parts[1], given).eval().requires_grad_(False)
