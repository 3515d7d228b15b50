"""A localizer in a small made-up world, new for every test; what the first one would pay for all is paid before."""

import gc
import sys
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taught import PAPER, SYSTEM, environment, fresh, traverse
from tmapr.running.progressive import localize
from tmapr.system import build


@pytest.fixture(scope="session")
def block():
    """The map of a block of streets."""
    return environment()


@pytest.fixture(scope="session", autouse=True)
def warm():
    """What the first test would pay for all others: numba's cache, Hypothesis' constants, half of torch."""
    given(st.integers())(lambda _: None)()
    if "torch" in sys.modules:
        for module in ("torch.distributed.tensor", "torch._dynamo"):
            import_module(module)
    localizer = fresh()
    for percept, truth in zip(traverse(2, "noon").percepts[:3], traverse(2, "noon").truth, strict=False):
        localizer.learn(localizer.observe(percept), truth)
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def stream():
    """A second drive around the same block; its shutter freezes in the middle."""
    return traverse(2, "noon")


@pytest.fixture
def localizer(block):
    return build(SYSTEM, block)


@pytest.fixture
def gated(block):
    """A localizer with the paper's gates."""
    return build(PAPER, block)


@pytest.fixture
def tracked(localizer, stream):
    """A localizer that has followed the first thirty frames."""
    localize(localizer, stream, range(30))
    return localizer


@pytest.fixture
def run(block, tmp_path):
    """A run folder with the map."""
    block.save(tmp_path / "map.npz")
    return tmp_path
