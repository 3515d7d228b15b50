"""The one run that system tests share; who must change it gets a copy."""

import os
import shutil

import pytest

from street import list_contents, make_once, make_street


@pytest.fixture(scope="session")
def street(tmp_path_factory):
    """A home: street.toml, data/{noon,night}, runs/street as mapped, run, evaluated, reported, filmed and exported."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    home = make_once(shared / "street", make_street)
    before = list_contents(home)
    yield home
    assert list_contents(home) == before, "a test changed the run that all share: let it take `street_copy`"


@pytest.fixture
def street_copy(street, tmp_path):
    """The same home, to be changed; a copy of some megabytes."""
    return shutil.copytree(street, tmp_path / "street", symlinks=True)
