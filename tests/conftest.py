"""Shapes and types in annotations are promises: here, and only here, every call of the package is checked.

Whole runs call the same functions thousands of times, and checking takes most of their time: there it is left to the
long suite.
"""

import os
from pathlib import Path

import jaxtyping
from jaxtyping import install_import_hook

# Before torch is loaded: on busy cores its second thread turns 20 ms into 300.
os.environ.setdefault("OMP_NUM_THREADS", "1")

COMPILED = {
    "tmapr.artifacts.jpeg_scan",
    "tmapr.device.kernels",
    "tmapr.device.products",
    "tmapr.device.updates",
    "tmapr.artifacts.png_rows",
    "tmapr.device.picture_kernels",
    "tmapr.device.motion_kernels",
    "tmapr.fusion.joseph",
    "tmapr.device.off_map_kernels",
    "tmapr.device.peak_kernels",
    "tmapr.device.route_sums",
    "tmapr.device.settle_kernels",
    "tmapr.device.survey_kernels",
    "tmapr.device.weigh_kernels",
    "tmapr.device.block_sums",
    "tmapr.device.condition_kernels",
    "tmapr.device.lesson_kernels",
    "tmapr.device.place_kernels",
    "tmapr.device.ranking_kernels",
    "tmapr.device.recognition_kernels",
    "tmapr.device.standardising_kernels",
    "tmapr.device.vit_kernels",
    "tmapr.device.head_kernels",
    "tmapr.places.triangle",
    "tmapr.places.recursion",
    "tmapr.places.lift",
    "tmapr.reports.film.lzw",
    "tmapr.shards.kernels",
    "tmapr.simulation.render",
    "tmapr.tracking.motion",
    "tmapr.track.standing",
    "tmapr.tracking.profile",
}
SOURCE = Path(__file__).parents[1] / "src"
MODULES = {".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in SOURCE.rglob("[!_]*.py")}

install_import_hook(sorted(MODULES - COMPILED), "beartype.beartype").__enter__()

import numpy as np  # noqa: E402
import pytest  # noqa: E402

WHOLE_RUNS = (
    "tests/benchmarks",
    "tests/contracts/test_foreign",
    "tests/contracts/test_newcomers",
    "tests/contracts/test_places_to_run",
    "tests/end_to_end",
    "tests/evaluation/test_assessment",
    "tests/fleet",
    "tests/journal/test_journal_moment",
    "tests/journal/test_journal_redo",
    "tests/latency",
    "tests/learning/test_student",
    "tests/live/test_live_faults",
    "tests/live/test_pipeline",
    "tests/live/test_ros",
    "tests/live/test_viewer_finished",
    "tests/reports",
    "tests/running",
    "tests/simulation/test_record",
    "tests/simulation/test_streets",
    "tests/simulation/test_style",
    "tests/snippets",
    "tests/studies",
    "tests/test_localizer",
    "tests/test_offered",
    "tests/test_ranges",
    "tests/test_second_version",
    "tests/test_track",
    "tests/tracking/test_between",
    "tests/tracking/test_known_turns",
    "tests/tracking/test_place",
)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the fixtures, which are most of what a whole run costs."""
    fast = item.config.getoption("markexpr") == "not long"
    jaxtyping.config.update("jaxtyping_disable", fast and item.nodeid.startswith(WHOLE_RUNS))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow files first: with the quick ones last, no worker ends alone with minutes to go."""
    slow = ("tests/end_to_end", "tests/studies", "tests/test_second_version")
    items.sort(key=lambda item: not item.nodeid.startswith(slow))


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator, new for every test."""
    return np.random.default_rng(20260210)


@pytest.fixture(scope="session")
def noon_detour():
    """A drive at noon that leaves its map for a while, recognised."""
    from made_up import drive_noon_detour

    return drive_noon_detour()


@pytest.fixture(scope="session")
def city_lap():
    """The frames of a lap of a rendered city block, with their images and headings."""
    from tmapr.simulation.camera import Camera
    from tmapr.simulation.record import film
    from tmapr.simulation.streets import build_world
    from tmapr.simulation.texture import make_texture
    from tmapr.simulation.traverse import Traverse
    from tmapr.simulation.weather import find_weather
    from tmapr.types import CoordinateFrame

    camera = Camera(width=128, height=96, focal=100.0)
    lap = Traverse("noon", find_weather("noon"), seed=5, frames=200)
    return list(film(build_world("city", 3, length=300.0), lap, camera, make_texture(3), CoordinateFrame()))
