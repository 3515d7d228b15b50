"""Every kernel of a frame's way compiles for a GPU as it would be launched, for the sizes that are asked of it."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from repository import SUPPORT

DRY_RUN = SUPPORT / "dry_run.py"


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.parametrize(("references", "width"), [(2000, 8448), (70, 8448)])
def test_every_kernel_compiles_as_it_would_be_launched(references, width, tmp_path):
    command = [sys.executable, str(DRY_RUN), str(references), str(width)]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TRITON_CACHE_DIR": str(tmp_path)})
    assert ran.returncode == 0, ran.stderr[-3000:]
    compiled = set(ran.stdout.split())
    assert {"kernels.multiply_tiles", "updates.flush_tiles", "settle_kernels.settle", "vit_kernels.attend"} <= compiled
    assert len(compiled) > 40
