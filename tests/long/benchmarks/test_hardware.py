"""The operations that benchmarks/hardware.py counts in an ONNX graph are those that torch counts while it runs."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from hardware import Board, Stage, count_network
from tmapr.perception.network import assemble
from tmapr.perception.onnx import SHIPPED
from tmapr.perception.settings import Perception


def test_the_multiply_adds_of_the_default_perceiver_are_torchs():
    network, _ = assemble(Perception())
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        network(torch.zeros(1, 224, 224, dtype=torch.uint8))
    multiplied, moved = count_network(SHIPPED)
    assert multiplied == pytest.approx(counter.get_total_flops() / 2, rel=0.02)
    assert moved > SHIPPED.stat().st_size


def test_a_board_is_as_slow_as_the_slower_of_its_cores_and_its_memory():
    here, stage = Board("here", 80e9, 20e9), Stage("a stage", 1.0, 1.0, 0.010)
    assert stage.scale_to(Board("slow cores", 20e9, 40e9), here) == pytest.approx(0.040)
    assert stage.scale_to(Board("slow memory", 160e9, 2e9), here) == pytest.approx(0.100)
