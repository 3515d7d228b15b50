"""A fleet, and what is published there."""

import pytest

from fleet_world import drive, make_run
from tmapr.fleet.folder import Fleet, found_fleet
from tmapr.fleet.publishing import publish


@pytest.fixture
def open_as(tmp_path):
    """Opens a new fleet, as whoever it is given."""
    found_fleet(tmp_path / "fleet")
    return lambda name: Fleet(tmp_path / "fleet", name)


@pytest.fixture(scope="session")
def mapped(tmp_path_factory):
    """A run folder with a map, not to be changed."""
    return make_run(tmp_path_factory.mktemp("mapped"))


@pytest.fixture(scope="session")
def learned(mapped, tmp_path_factory):
    """A run folder that has learned before it was published, and its lessons."""
    folder = make_run(tmp_path_factory.mktemp("learned"))
    return folder, drive(folder, range(30), seed=9)


@pytest.fixture
def published(open_as, mapped):
    """The map as the fleet's first release."""
    return publish(open_as("publisher"), mapped)
