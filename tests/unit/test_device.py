"""Which perceiver a device has, and in which precision."""

import numpy as np
import pytest
import torch

from tmapr.device import choose_precision, open_perceiver
from tmapr.exceptions import InputError
from tmapr.perception.settings import Perception
from tmapr.types import Frame


def test_on_a_cpu_the_perceiver_is_the_ordinary_one(rng):
    counts = rng.integers(0, 9000, (120, 160)).astype(np.uint16)
    frame = Frame("drive", 0, 0, lambda: counts)
    np.testing.assert_array_equal(
        open_perceiver(Perception(), "cpu")(frame).descriptor, open_perceiver(Perception())(frame).descriptor
    )


@pytest.mark.parametrize(
    ("settings", "device", "expected"),
    [
        (Perception(), "cpu", "float32"),
        (Perception(), "auto", "float32"),  # what is shipped does without torch
        (Perception(), "cuda:0", "float16"),
        (Perception(size=(112, 112)), "auto", "float16"),
        (Perception(size=(112, 112), precision="float32"), "cuda", "float32"),
        (Perception(encoder="plugin:mine"), "cuda", "float32"),
        (Perception(encoder="mine.onnx"), "cuda", "float32"),
        (Perception(encoder="own"), "cuda", "float32"),
    ],
)
def test_torch_s_own_networks_see_with_half_the_bits_where_there_is_a_gpu(settings, device, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_precision(settings, device) == expected


@pytest.mark.parametrize("device", ["cuda", "tpu"])
def test_a_device_that_is_not_there_is_refused(device):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(InputError, match=f"--device {device}: "):
        open_perceiver(Perception(), device)
