"""A small map with everything that a map may have, and a store."""

import pytest

from sharded import SYSTEM, make_sharded
from tmapr.store import FolderStore


@pytest.fixture(scope="session")
def system():
    return SYSTEM


@pytest.fixture(scope="session")
def environment():
    return make_sharded()


@pytest.fixture
def store(tmp_path):
    return FolderStore(tmp_path / "store")
