"""A real PostgreSQL server for the fleet's tests, one for each process that runs them."""

from itertools import count

import pytest

from fleet_world import drive, make_run
from postgres_server import find_binaries, serving
from tmapr.fleet.enrolling import enrol
from tmapr.fleet.folder import FolderFleet, found_fleet
from tmapr.fleet.migrating import migrate
from tmapr.fleet.postgres import PostgresFleet
from tmapr.fleet.publishing import publish

_NUMBERS = count(1)
QUICK = ("fsync=off", "full_page_writes=off")
"""A killed process leaves what it wrote to the system; only a power cut would not."""


@pytest.fixture(scope="session")
def server():
    binaries = find_binaries()
    if not binaries:
        pytest.skip("no PostgreSQL server: install the package pgserver, or Debian's postgresql")
    with serving(binaries[0], settings=QUICK) as running:
        yield running


class Fleets:
    """A new fleet, opened by as many as want to."""

    def __init__(self, address, logins, store):
        self.address, self._logins, self.store = address, logins, store
        self._open = []

    def open(self, name):
        opened = self._logins(name)
        self._open.append(opened)
        return opened

    def close(self):
        for each in self._open:
            each.close()


def _make_folder(tmp_path):
    found_fleet(tmp_path / "fleet")
    return Fleets(str(tmp_path / "fleet"), lambda name: FolderFleet(tmp_path / "fleet", name), tmp_path / "fleet")


def _make_database(server, tmp_path):
    number = next(_NUMBERS)
    database = f"fleet{number}"
    server.execute(f"CREATE DATABASE {database}")
    address = server.address(database=database)
    migrate(address, store=str(tmp_path / "store"), insecure=False)
    passwords = {}

    def open_as(name):
        login = f"{name}_{number}"
        if name not in passwords:
            passwords[name] = enrol(address, login, "publisher" if name == "publisher" else "robot")
        return PostgresFleet(server.address(login, passwords[name], database))

    return Fleets(address, open_as, tmp_path / "store")


@pytest.fixture
def database(server, tmp_path):
    """A fleet on the server."""
    made = _make_database(server, tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["folder", "postgresql"])
def fleets(request, tmp_path):
    """A fleet of either kind: what follows holds for both."""
    if request.param == "folder":
        made = _make_folder(tmp_path)
    else:
        made = _make_database(request.getfixturevalue("server"), tmp_path)
    yield made
    made.close()


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
def published(fleets, mapped):
    """The map as the fleet's first release."""
    return publish(fleets.open("publisher"), mapped)
