"""What a time depends on beside the program: the processor, its threads, the versions of what computes."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_COMPUTING = ("tmapr", "numpy", "scipy", "numba", "opencv-python-headless", "onnxruntime", "torch")
_BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def processor() -> str:
    """The processor's name as the system tells it."""
    table = Path("/proc/cpuinfo")
    lines = table.read_text(encoding="utf-8", errors="replace").splitlines() if table.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """The cores that are there for this program, as far as the system counts them."""
    return os.cpu_count() or 1


def blas_threads() -> int:
    """Threads of a matrix product; OpenBLAS reads the first of these that is set, and takes all cores otherwise."""
    given = [os.environ.get(name, "") for name in _BLAS]
    return next((int(number) for number in given if number.isdecimal() and int(number)), cores())


def versions() -> dict[str, str]:
    """Of Python and of every package that computes, where it is installed."""
    found = {"python": platform.python_version()}
    for name in _COMPUTING:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
