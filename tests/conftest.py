"""Shapes and types in annotations are promises: here, and only here, every call of the package is checked."""

from pathlib import Path

from jaxtyping import install_import_hook

COMPILED = {"tmapr.places.triangle", "tmapr.places.recursion", "tmapr.places.lift"}
SOURCE = Path(__file__).parents[1] / "src"
MODULES = {".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in SOURCE.rglob("[!_]*.py")}

install_import_hook(sorted(MODULES - COMPILED), "beartype.beartype").__enter__()

import numpy as np  # noqa: E402
import pytest  # noqa: E402


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator, new for every test."""
    return np.random.default_rng(20260210)
