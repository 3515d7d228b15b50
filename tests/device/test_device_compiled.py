"""What is compiled for a GPU, without one: the search's kernel, and a frame's steps as torch's compiler sees them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).with_name("compiled_checks.py")


def test_interpreted_and_traced_they_hold_their_checks():
    pytest.importorskip("triton")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", str(CHECKS)]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TRITON_INTERPRET": "1"})
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_kernel_compiles_for_a_gpu_that_is_not_there(tmp_path, monkeypatch):
    triton = pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from tmapr.device.products import Cut, _multiply

    cut, names = Cut(), _multiply.arg_names
    fixed = {"DIM": 8448, "ROWS": cut.rows, "COLUMNS": cut.columns, "BOTH": True, "STAGES": cut.stages}
    types = {"rows": "*fp16", "queries": "*fp32", "products": "*fp32", "count": "i32"} | dict.fromkeys(
        fixed, "constexpr"
    )
    aligned = {(names.index(name),): [["tt.divisibility", 16]] for name in names if name not in fixed}
    constants = {(names.index(name),): value for name, value in fixed.items()}
    source = ASTSource(_multiply, types, constants, aligned)
    built = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": cut.warps})
    # The next blocks are on their way, 16 bytes for each thread at a time, while one is summed.
    assert "cp.async.cg.shared.global [ %r" in built.asm["ptx"].replace("  ", " ")
