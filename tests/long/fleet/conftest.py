"""A real PostgreSQL server for the fleet's tests, one for each process that runs them."""

import pytest

from fleet_world import drive, make_run
from postgres_server import find_binaries, serving
from tmapr.fleet.enrolling import enrol
from tmapr.fleet.folder import FolderFleet, found_fleet
from tmapr.fleet.migrating import migrate
from tmapr.fleet.postgres import PostgresFleet
from tmapr.fleet.publishing import publish

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
        while self._open:
            self._open.pop().close()


def _make_folder(tmp_path):
    found_fleet(tmp_path / "fleet")
    return Fleets(str(tmp_path / "fleet"), lambda name: FolderFleet(tmp_path / "fleet", name), tmp_path / "fleet")


@pytest.fixture(scope="session")
def logins(server, tmp_path_factory):
    """A fleet on the server, whose logins are made when they are asked for."""
    address, store = server.address(), tmp_path_factory.mktemp("store")
    migrate(address, store=str(store), insecure=False)
    passwords = {}

    def open_as(name):
        if name not in passwords:
            passwords[name] = enrol(address, name, "publisher" if name == "publisher" else "robot")
        return PostgresFleet(server.address(name, passwords[name]))

    return Fleets(address, open_as, store)


@pytest.fixture
def database(server, logins):
    """The same as if nobody had published or pushed anything."""
    server.execute("TRUNCATE tmapr.releases, tmapr.parts, tmapr.pushes, tmapr.pulled RESTART IDENTITY CASCADE")
    yield logins
    logins.close()


@pytest.fixture(params=["folder", "postgresql"])
def fleets(request, tmp_path):
    """A fleet of either kind: what follows holds for both."""
    return _make_folder(tmp_path) if request.param == "folder" else request.getfixturevalue("database")


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
