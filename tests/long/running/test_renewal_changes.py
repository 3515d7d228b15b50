"""Whatever changes in a recording, the next run is that of a fresh folder and encodes only what it must."""

import pytest

from renewed import CHANGES, assert_renewed, copy_walk, finish_walk


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    return finish_walk(tmp_path_factory.mktemp("walked"))


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_recording_gives_what_a_fresh_folder_gives_and_only_what_changed_is_encoded(walked, tmp_path, what):
    assert_renewed(copy_walk(walked, tmp_path / "home"), what)
