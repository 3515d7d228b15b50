"""The Triton kernels that prepare images without a GPU: interpreted they are right, and they compile for one."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from repository import SUPPORT

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")

FIXED = {
    "count_counts": {"MASK": 65535, "COPIES": 8, "BLOCK": 2048},
    "sum_groups": {"MASK": 65535, "COPIES": 8, "ROWS": 16},
    "find_levels": {"MASK": 65535, "GROUPS": 256, "HIGHEST": 16383, "OTHER_HIGHEST": 65535},
    "make_tables": {"TILES": 8, "MASK": 65535, "BLOCK": 1024},
    "resize_areas": {"TILES": 8, "DOWN": 4, "ACROSS": 4, "MASK": 65535, "BLOCK": 256},
}
SMALL = {"counts": "*i16", "tables": "*u8", "pictures": "*u8"}
REALS = {"gains", "downs", "acrosses", "row_shares", "column_shares"}
NUMBERS = {"pixels", "low", "high", "height", "width", "tile_height", "tile_width", "limit", "top", "tall", "wide"}


def test_interpreted_they_equal_opencv():
    checks = SUPPORT / "picture_checks.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", str(checks)]
    done = subprocess.run(command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def name_type(kernel, argument):
    if argument in FIXED[kernel]:
        return "constexpr"
    if argument == "scale":
        return "fp32"
    number = argument in NUMBERS or (kernel, argument) == ("resize_areas", "beside")
    return "i32" if number else SMALL.get(argument, "*fp32" if argument in REALS else "*i32")


@pytest.mark.parametrize("name", FIXED)
def test_they_compile_for_a_gpu_that_is_not_there_and_round_every_product(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from tmapr.device import picture_kernels

    kernel = vars(picture_kernels)[name]
    types = {argument: name_type(name, argument) for argument in kernel.arg_names}
    constants = {(kernel.arg_names.index(argument),): value for argument, value in FIXED[name].items()}
    built = triton.compile(
        ASTSource(kernel, types, constants, {}), GPUTarget("cuda", 90, 32), {"enable_fp_fusion": False}
    )
    assert not re.search(r"fma\.\w+\.f32", built.asm["ptx"])
    assert ("div.rn.f64" in built.asm["ptx"]) == (name == "find_levels")
