"""The kernels of places and condition without a GPU: interpreted they do what torch does, and they compile for one."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from repository import SUPPORT

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")

BLOCKS = {"BLOCK": 128, "BLOCKS_UP": 128}
GAUSSIANS = {"M": 3, "M_UP": 4, "DIM": 32, "DIM_UP": 32}
SHAPES = {
    "note_view": {"BLOCK": 128},
    "measure_mean": {"COUNTS": True, "BLOCKS_UP": 128},
    "measure_points": {"BLOCK": 128},
    "lay_points": {"ON_SPHERE": True, **BLOCKS},
    "square_blocks": {"BLOCK": 128},
    "survey": {"DIM": 32, "DIM_UP": 32, "FOLLOWS": True, "BLOCK": 128, "PART": 64},
    "weigh_places": {**GAUSSIANS, "PLACES": 2, "BLOCKS_UP": 128},
    "conclude_places": {"WEIGHS": True, "CAPACITY": 128},
    "absorb_view": {"ATTENUATES": True, **GAUSSIANS, "CAPACITY": 128, **BLOCKS},
    "renew": {**GAUSSIANS, **BLOCKS},
}
TYPES = {"place": "*i64", "learned": "*i1", "queries": "*fp32"} | dict.fromkeys(
    ("width", "blocks", "columns", "stride"), "i32"
)


def test_interpreted_they_do_what_torch_does():
    checks = SUPPORT / "place_checks.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(checks)]
    done = subprocess.run(command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SHAPES)
def test_they_compile_for_a_gpu_that_is_not_there(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from tmapr.device import block_sums, condition_kernels, lesson_kernels, place_kernels

    modules = (block_sums, condition_kernels, lesson_kernels, place_kernels)
    kernel = next(vars(module)[name] for module in modules if name in vars(module))
    constants = {(kernel.arg_names.index(each),): value for each, value in SHAPES[name].items()}
    types = {each: "constexpr" if each in SHAPES[name] else TYPES.get(each, "*fp64") for each in kernel.arg_names}
    built = triton.compile(ASTSource(kernel, types, constants), target=GPUTarget("cuda", 90, 32))
    # Sums are added in a fixed order, in float64 and by nobody else.
    assert "atom" not in built.asm["ptx"]
    assert "add.f32" not in built.asm["ptx"]
