"""Shapes and types in annotations are promises: here, and only here, every call of the package is checked."""

import os
from collections.abc import Callable
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


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator, new for every test."""
    return np.random.default_rng(20260210)


@pytest.fixture(scope="session")
def write_block() -> Callable[[Path, float], None]:
    """Writes a made-up block's experiment file, block.toml, and its percepts under runs/block."""
    from tmapr.artifacts.run import RunFolder
    from tmapr.simulation.percepts import CONDITIONS, World, record
    from tmapr.simulation.route import block_loop, drive, with_detour

    def write(home: Path, size: float) -> None:
        (home / "block.toml").write_text(BLOCK)
        rng, world, corners = np.random.default_rng(5), World.seeded(5), block_loop(size, 0.6 * size)
        ways = {"noon": corners, "dusk": corners, "night": with_detour(corners, leg=2, depth=60.0)}
        for name, way in ways.items():
            recording = record(world, name, drive(way, speed=8.0, rng=rng), CONDITIONS[name], rng)
            recording.save(RunFolder(home / "runs/block").percepts(name))

    return write


BLOCK = """
name = "block"
perception.encoder = "own"
[data]
reference = "noon"
adapt = ["dusk"]
test = ["night"]
[places]
projection = { dimension = 64 }
[gating]
min_similarity = 0.4
"""
