"""The kernels of motion without a GPU: interpreted they move what torch moves, and they compile for one."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")

FIXED = {
    "note_moves": {"SPEEDS": 15, "BACKWARDS": 2, "STEPS": 15, "BLOCK": 128},
    "sum_chunks": {"CHUNK": 512},
    "deal_out": {"CHUNKS": 64, "CHUNK": 512},
}
TYPES = {"count": "i32", "closed": "*i1"} | dict.fromkeys(("first", "last", "opened", "ends", "sums"), "*i64")


def test_interpreted_they_move_what_torch_moves():
    checks = Path(__file__).with_name("motion_checks.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(checks)]
    done = subprocess.run(command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", FIXED)
def test_they_compile_for_a_gpu_that_is_not_there(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from tmapr.device import motion_kernels

    kernel = vars(motion_kernels)[name]
    constants = {(kernel.arg_names.index(each),): value for each, value in FIXED[name].items()}
    types = {each: "constexpr" if each in FIXED[name] else TYPES.get(each, "*fp64") for each in kernel.arg_names}
    built = triton.compile(ASTSource(kernel, types, constants), target=GPUTarget("cuda", 90, 32))
    # Sums of whole numbers: any order gives the same.
    assert set(re.findall(r"atom[\w.]+", built.asm["ptx"])) <= {"atom.global.gpu.relaxed.add.u64"}
