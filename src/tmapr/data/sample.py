"""The recording that comes with the package: a street by day and by night, rendered by `benchmarks/sample.py`."""

from pathlib import Path


def locate_sample() -> Path:
    """The folder of a small recording, with the drives `noon` and `night`: the same 130 m, 70 frames each.

    Read it from there and write elsewhere; its pictures are 8-bit gray, its positions longitude and latitude.
    """
    return Path(__file__).with_name("street")
