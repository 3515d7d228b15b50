"""The Triton kernels without a GPU: interpreted they compute the right thing, and they compile for one."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from repository import SUPPORT
from tmapr.device.triangle import SLOTS, UPDATES, Tuning
from tmapr.places.triangle import TILE

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")

HERE = SUPPORT
TUNED = Tuning()
SHAPES = {
    "multiply_tiles": {
        "SLOTS": SLOTS,
        "CLASSES": 128,
        "BLOCK": 64,
        "TILE": TILE,
        "SPAN": TUNED.span,
        "STRIP": TUNED.strip,
        "TIMES": TUNED.times,
        "STAGES": TUNED.stages,
    },
    "gather_product": {
        "SLOTS": SLOTS,
        "SLOTS_UP": 64,
        "CLASSES": 128,
        "BLOCK": 64,
        "PANELS_UP": 256,
        "TILE": TILE,
        "PART": 64,
    },
    "absorb": {"PLACES": UPDATES, "CLASSES": 128, "BLOCK": 128, "LINES": TILE, "PLACE": False},
    "flush_tiles": {"LEAST": UPDATES, "SLOTS": SLOTS, "SLOTS_UP": 64, "TILE": TILE, "STAGES": TUNED.flush_stages},
}
INTEGERS = {"chunks", "starts", "counters", "tally"}
COUNTS = {"width"}


def test_interpreted_they_equal_numpy_and_the_cpu():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "kernel_checks.py")]
    done = subprocess.run(command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SHAPES)
def test_they_compile_for_a_gpu_that_is_not_there(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from tmapr.device import kernels, updates

    kernel = vars(kernels).get(name) or vars(updates)[name]
    fixed, types, hints = SHAPES[name], {}, {}
    for position, argument in enumerate(kernel.arg_names):
        address = "*i32" if argument in INTEGERS else "i32" if argument in COUNTS else "*fp64"
        types[argument] = "constexpr" if argument in fixed else address
        hints[(position,)] = [["tt.divisibility", 16]] if argument not in fixed else []
    constants = {(kernel.arg_names.index(argument),): value for argument, value in fixed.items()}
    source = ASTSource(kernel, types, constants, hints)
    built = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": TUNED.warps})
    # A load of 16 bytes for every thread is what fills the memory's width.
    assert "v2.b64" in built.asm["ptx"]
    assert name != "flush_tiles" or "mma.sync.aligned.m16n8k16.row.col.f64" in built.asm["ptx"]
