"""The Triton kernels that prepare images against OpenCV: on a GPU where there is one, otherwise interpreted.

Not collected with the others: Triton must be told to interpret before it is loaded, so test_device_pictures.py runs
this file in a process of its own. On a machine with a GPU: `pytest tests/device/picture_checks.py`.
"""

import cv2
import numpy as np
import pytest
import torch

from interpreting import DEVICE, numbers_as_numpy_has_them  # noqa: F401 (a fixture)
from tmapr.device.fused_preparation import FusedPreparation
from tmapr.device.preparation import FAULTS
from tmapr.perception.image import Image
from tmapr.types import Fault

pytestmark = pytest.mark.usefixtures("numbers_as_numpy_has_them")


def prepare_by_kernels(image, counts, size):
    prepare = FusedPreparation(image, counts.shape[1:], counts.dtype, size).to(DEVICE)
    pictures, faults = prepare(torch.from_numpy(counts).to(DEVICE))
    return pictures.cpu().numpy(), [FAULTS[code] for code in faults]


@pytest.mark.parametrize(
    ("image", "depth"),
    [
        (Image(tiles=3), np.uint16),
        (Image(tiles=2, clip_limit=4.0, low=0.0, high=100.0, crop=(1, 0, 2, 3)), np.uint8),
        (Image(clip_limit=0.0), np.uint16),
    ],
)
def test_pictures_are_opencv_s(image, depth):
    rng = np.random.default_rng(0)
    smooth = cv2.resize(rng.normal(3600, 300, (6, 8)), (37, 33), interpolation=cv2.INTER_CUBIC)
    counts = ((smooth + rng.normal(0, 9, (33, 37))) / (1 if depth is np.uint16 else 32)).astype(depth)[None]
    pictures, faults = prepare_by_kernels(image, counts, (12, 14))
    np.testing.assert_array_equal(pictures[0], image.prepare(counts[0], (12, 14), "area"))
    assert faults == [None]


def test_faults_are_the_host_s():
    lamps = np.zeros((32, 33), np.uint16)
    lamps[2, 3:6] = 50, 100, 65535
    flat = [np.full((32, 33), count, np.uint16) for count in (700, 65535)]
    counts = np.stack([*flat, lamps])
    pictures, faults = prepare_by_kernels(Image(clip_limit=0.0), counts, (6, 20))
    assert faults == [Fault.EMPTY, Fault.SATURATED, None]
    np.testing.assert_array_equal(pictures[2], Image(clip_limit=0.0).prepare(lamps, (6, 20), "area"))
