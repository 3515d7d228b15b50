"""What several tests of files need."""

import pytest


@pytest.fixture
def stored(tmp_path):
    def store(content):
        path = tmp_path / "frame"
        path.write_bytes(content)
        return path

    return store
