"""The kernels of one image without a GPU: interpreted they are right, and they compile for one."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from repository import SUPPORT

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")

ATTENTION = {"WIDTH": 768, "QUERIES": 64, "KEYS": 64, "FULL": 4, "REST": 0, "STAGES": 3}
PRODUCT = {"WIDTH": 3072, "DEPTH": 768, "SHARE": 768, "TALL": 64, "WIDE": 128, "DEEP": 128, "STAGES": 3}
SALAD = {"CLUSTERS": 64, "CHANNELS": 128, "CLUSTERS_UP": 64}
FIXED = {
    "embed": {"LEAD": 1, "SIDE": 14, "WIDTH": 768, "TALL": 64, "WIDE": 64, "DEEP": 256},
    "multiply": PRODUCT | {"ACTIVATION": "gelu"},
    "add_normalise": {"WIDTH": 768, "WIDTH_UP": 1024, "SPLITS": 4},
    "attend": ATTENTION | {"HEAD": 64, "HEAD_UP": 64, "LONE": True},
    "aggregate": SALAD | {"ITERATIONS": 3, "PATCHES_UP": 256, "WIDE": 32},
    "normalise_parts": SALAD | {"TOKEN": 256, "TOKEN_UP": 256, "CHANNELS_UP": 128},
    "average": {"WIDTH": 3072, "TALL": 256, "WIDE": 16},
    "multiply_vector": {"WIDTH": 768, "DEPTH": 3072, "ACTIVATION": "none", "TALL": 4, "DEEP": 1024},
    "tell_pose": {"DEPTH": 512, "DEPTH_UP": 512},
    "scale_row": {"WIDTH": 8448, "WIDTH_UP": 16384},
}
WARPS = {"embed": 8, "aggregate": 8, "normalise_parts": 8, "add_normalise": 8, "scale_row": 16}
HALVES = {"rows_of_weight", "weight", "bias", "gain", "shift", "normal", "packed", "local"}
REALS = {"least", "scale"}
NUMBERS = {"rows", "tokens", "across", "patches"}


def test_interpreted_they_equal_torch():
    checks = SUPPORT / "network_checks.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", str(checks)]
    done = subprocess.run(command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def name_type(kernel, argument, half):
    if argument in FIXED[kernel] or argument == "CHAINED":
        return "constexpr"
    if kernel == "multiply" and argument in {"given", "weight"}:
        tall = PRODUCT["TALL"] if argument == "given" else PRODUCT["WIDE"]
        return f"tensordesc<{half}[{tall}, {PRODUCT['DEEP']}]>"
    if argument in REALS or argument in NUMBERS:
        return "fp32" if argument in REALS else "i32"
    if argument == "picture":
        return "*u8"
    return f"*{half}" if argument in HALVES else "*fp32"


def build(name, half):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from tmapr.device import head_kernels, vit_kernels

    kernel = (vars(vit_kernels) | vars(head_kernels))[name]
    arguments = kernel.arg_names
    types = {argument: name_type(name, argument, half) for argument in arguments}
    fixed = FIXED[name] | {"CHAINED": True}
    constants = {(arguments.index(argument),): value for argument, value in fixed.items()}
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, argument in enumerate(arguments)
        if types[argument].startswith("*")
    }
    source = ASTSource(kernel, types, constants, aligned)
    return triton.compile(source, GPUTarget("cuda", 90, 32), {"num_warps": WARPS.get(name, 4)})


@pytest.mark.parametrize("half", ["fp16", "bf16"])
@pytest.mark.parametrize("name", FIXED)
def test_they_compile_for_a_gpu_that_is_not_there(name, half, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    ptx = build(name, half).asm["ptx"]
    # Each waits for the one before it: only then is the end of one the end of all before.
    assert ptx.count("griddepcontrol.wait") == 1
    assert ("wgmma.mma_async" in ptx) == (name in {"embed", "multiply", "attend"})
    assert ".local" not in ptx
