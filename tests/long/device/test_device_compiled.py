"""What is compiled for a GPU, without one: the kernels of a search and of all that recognition does beside it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from repository import SUPPORT

HERE = SUPPORT
KINDS = {"CENTRED": True, "PLACED": True, "GATED": True}
FIXED = {
    "remove_shared": {"BLOCK": 512},
    "exchange_shared": {"PARTS": 32, "BLOCK": 512},
    "find_medians": {"MINE": 8, "OTHERS": 256, "CENTRED": True},
    "find_deviations": {"MINE": 8, "OTHERS": 256, "AROUND": 9},
    "compare_references": {"BLOCK": 128, "FIRST": 10, "LIKELIHOODS": True} | KINDS,
    "merge_first": {"FIRST": 10, "MINE": 8, "OTHERS": 2048},
    "find_rivals": {"CANDIDATES": 1, "BLOCK": 256},
    "pack": {"CANDIDATES": 1, "LIKELY": 10, "FIRST": 10, "FIRST_UP": 16, "BLOCKS": 128} | KINDS,
}
WARPS = {"pack": 1}
WHOLE = ("dim", "probe_count", "capacity", "best", "count", "size", "blocks", "voters", "closest_of", "room")
TYPES = (
    dict.fromkeys(WHOLE, "i32")
    | dict.fromkeys(("queries", "products", "plain"), "*fp32")
    | dict.fromkeys(("probes", "middle", "places_middle", "around", "places"), "*i64")
    | dict.fromkeys(("first_rows", "best_rows"), "*i32")
    | {"used": "*i1", "probed": "*i1", "allowed": "*i8", "marked": "*i8"}
)


@pytest.mark.parametrize("checks", ["compiled_checks.py", "recognition_checks.py"])
def test_interpreted_they_hold_their_checks(checks):
    pytest.importorskip("triton")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / checks)]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TRITON_INTERPRET": "1"})
    assert ran.returncode == 0, ran.stdout + ran.stderr


def build(kernel, fixed, types, warps):
    """For a GPU of Hopper's kind."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = kernel.arg_names
    given = {name: "constexpr" if name in fixed else types.get(name, "*fp64") for name in names}
    aligned = {(names.index(name),): [["tt.divisibility", 16]] for name in names if given[name][0] == "*"}
    constants = {(names.index(name),): value for name, value in fixed.items()}
    source = ASTSource(kernel, given, constants, aligned)
    options = {"num_warps": warps, "enable_fp_fusion": False}
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


def test_a_search_has_the_next_blocks_on_their_way(tmp_path, monkeypatch):
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    from tmapr.device.products import Cut, _multiply

    cut = Cut()
    fixed = {"DIM": 8448, "ROWS": cut.rows, "COLUMNS": cut.columns, "BOTH": True, "STAGES": cut.stages}
    types = {"rows": "*fp16", "queries": "*fp32", "products": "*fp32", "count": "i32"}
    # 16 bytes for each thread at a time, while one is summed.
    ptx = build(_multiply, fixed, types, cut.warps).asm["ptx"]
    assert "cp.async.cg.shared.global [ %r" in ptx.replace("  ", " ")


@pytest.mark.parametrize("name", FIXED)
def test_the_kernels_of_recognition_keep_all_in_registers(name, tmp_path, monkeypatch):
    """Entries are compared by thousands: a kernel that keeps some of them in memory takes ten times as long."""
    triton = pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    from tmapr.device import ranking_kernels, recognition_kernels, standardising_kernels

    kernel = (vars(recognition_kernels) | vars(standardising_kernels) | vars(ranking_kernels))[name]
    built = build(kernel, FIXED[name], TYPES, WARPS.get(name, 4))
    assert "atom." not in built.asm["ptx"]
    (tmp_path / "kernel").write_bytes(built.asm["cubin"])
    reader = Path(triton.__path__[0]) / "backends" / "nvidia" / "bin" / "cuobjdump"
    used = subprocess.run([reader, "--dump-resource-usage", tmp_path / "kernel"], capture_output=True, text=True)
    assert re.findall(r"STACK:(\d+)", used.stdout) == ["0"]
