"""Shapes and types in annotations are promises: here, and only here, every call of the package is checked."""

import os
from pathlib import Path

from jaxtyping import install_import_hook

# Before torch is loaded: on busy cores its second thread turns 20 ms into 300.
os.environ.setdefault("OMP_NUM_THREADS", "1")

COMPILED = {"tmapr.places.triangle", "tmapr.places.recursion", "tmapr.places.lift", "tmapr.simulation.render"}
SOURCE = Path(__file__).parents[1] / "src"
MODULES = {".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in SOURCE.rglob("[!_]*.py")}

install_import_hook(sorted(MODULES - COMPILED), "beartype.beartype").__enter__()

import numpy as np  # noqa: E402
import pytest  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow files first: with the quick ones last, no worker ends alone with minutes to go."""
    items.sort(key=lambda item: not item.nodeid.startswith(("tests/end_to_end", "tests/studies")))


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator, new for every test."""
    return np.random.default_rng(20260210)


@pytest.fixture(scope="session")
def noon_detour():
    """A drive at noon that leaves its map for a while, recognised."""
    from made_up import drive_noon_detour

    return drive_noon_detour()
