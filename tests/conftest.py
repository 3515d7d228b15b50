"""Three tiers: unit (no process, little time), system (commands, on one shared run), long (everything slow).

Shapes and types in annotations of the numeric core are promises: here, and only here, every call of it is checked; not
in system tests, where checking would take most of the time.
"""

import os
from pathlib import Path

# Before NumPy, OpenCV and torch are loaded: on busy cores a second thread turns 20 ms into 300.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import jaxtyping
from jaxtyping import install_import_hook

CORE = ("fusion", "places", "retrieval", "tracking")
COMPILED = {
    "tmapr.fusion.joseph",
    "tmapr.places.triangle",
    "tmapr.places.recursion",
    "tmapr.places.lift",
    "tmapr.tracking.motion",
    "tmapr.tracking.margin",
}
SOURCE = Path(__file__).parents[1] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for package in CORE
    for path in (SOURCE / "tmapr" / package).rglob("[!_]*.py")
}

install_import_hook(sorted(MODULES - COMPILED), "beartype.beartype").__enter__()

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

from tiers import MOST_SECONDS, watch_tier  # noqa: E402

hypothesis.settings.register_profile("quick", max_examples=15, deadline=None)
hypothesis.settings.register_profile("thorough", max_examples=200, deadline=None)
hypothesis.settings.load_profile("quick")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the fixtures, which are most of what a whole run costs."""
    jaxtyping.config.update("jaxtyping_disable", item.nodeid.startswith("tests/system/"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """A unit test starts no process and takes little time."""
    with watch_tier(item.nodeid, item.user_properties):
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Unit tests that took longer than their tier allows."""
    for report in terminalreporter.getreports("passed"):
        for taken in (value for name, value in report.user_properties if name == "above its tier"):
            terminalreporter.write_line(f"{report.nodeid}: {taken:.2f} CPU s, allowed are {MOST_SECONDS:g}")


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


@pytest.fixture(scope="session")
def drive(tmp_path_factory):
    """The scene of a real drive and its answers, by day mapped and at night localized."""
    from answered import answer_drive

    return answer_drive(tmp_path_factory.mktemp("mapped") / "map")


@pytest.fixture(scope="session")
def scene(drive):
    return drive[0]


@pytest.fixture(scope="session")
def answers(drive):
    return drive[1]
