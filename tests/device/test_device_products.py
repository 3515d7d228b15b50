"""The search's kernel, interpreted, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
CHECKS = Path(__file__).with_name("product_checks.py")


def test_the_kernel_holds_its_checks():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", str(CHECKS)]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TRITON_INTERPRET": "1"})
    assert ran.returncode == 0, ran.stdout + ran.stderr
