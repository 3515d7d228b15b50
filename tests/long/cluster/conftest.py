"""The walk, mapped in turn and in parts by this process: what all others must equal."""

import pytest

from clustered import map_walk, read_walk, write_hard_walk
from tmapr.artifacts.run import RunFolder
from tmapr.running.running import map_experiment


@pytest.fixture(scope="session")
def walked(tmp_path_factory):
    """Maps under `turn`, by one process in turn, and `alone`, in parts."""
    home = write_hard_walk(tmp_path_factory.mktemp("walked"))
    map_experiment(read_walk(home), RunFolder(home / "turn"))
    map_walk(home, "alone")
    return home
