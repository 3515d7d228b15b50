"""Rankings survive being written and read back; misfits are refused in one line."""

import numpy as np
import pytest

from tmapr.artifacts.arrays import Header, save_arrays
from tmapr.artifacts.candidates import RankedReferences
from tmapr.exceptions import InputError

REFERENCES, FRAMES = 900, 3
GOOD = {name: np.zeros((FRAMES, 10), dtype=np.int32) for name in ("searched", "cosine")}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "night.candidates.npz"


def load(path, digest="map"):
    return RankedReferences.load(path, digest, REFERENCES, FRAMES)


def test_every_frame_reads_back_with_its_own_references(path):
    searched, cosine = [(3, 899), (), range(10)], [(), range(10, 20), (0,)]
    RankedReferences.from_rows(searched, cosine).save(path, "settings", "map")
    read = load(path)
    for kept, given in ((read.searched, searched), (read.cosine, cosine)):
        assert [[row for row in ranked if row >= 0] for ranked in kept.tolist()] == [list(rows) for rows in given]
        assert kept.shape == (FRAMES, 10)


def test_rankings_over_another_map_are_refused(path):
    RankedReferences.from_rows([()] * FRAMES, [()] * FRAMES).save(path, "settings", "map")
    with pytest.raises(InputError, match="was made with another map; run `tmapr run` again"):
        load(path, "other")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"searched": np.full((FRAMES, 10), REFERENCES)}, "searched, row 0: .* is not within -1 and 899"),
        ({"cosine": np.full((FRAMES, 10), -2)}, "cosine, row 0: .* is not within -1 and 899"),
        ({"cosine": np.zeros((FRAMES + 1, 10), dtype=int)}, "cosine has 4 frames, .* 3"),
        ({"cosine": np.zeros((FRAMES, 9), dtype=int)}, r"cosine must not be int64 of shape \(3, 9\)"),
        ({"searched": np.zeros((FRAMES, 10))}, "searched must not be float64 of shape .*"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(path, changes, said):
    save_arrays(path, Header("candidates", 1, "", {"map": "map"}), GOOD | changes)
    with pytest.raises(InputError, match=f"{said}; run `tmapr run` again"):
        load(path)


def test_a_truncated_file_is_refused(path):
    save_arrays(path, Header("candidates", 1, "", {"map": "map"}), GOOD)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match=r"night.candidates.npz: is damaged .*; make it again"):
        load(path)
