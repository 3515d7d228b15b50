"""The map that shards are made of, and a store."""

import pytest

from sharded import make_sharded
from tmapr.store import FolderStore


@pytest.fixture(scope="session")
def environment():
    return make_sharded()


@pytest.fixture
def store(tmp_path):
    return FolderStore(tmp_path / "store")
