"""Files of keypoints: rows read back as they were, from the disk; what does not fit is refused in one line."""

import numpy as np
import pytest

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays
from tmapr.artifacts.keypoints import KIND, VERSION, KeypointTable, save_keypoints
from tmapr.exceptions import InputError
from tmapr.keypoints import NOTHING, Keypoints


def some(rng, count):
    points = rng.integers(0, 65536, (count, 2)).astype(np.uint16)
    return Keypoints(points, rng.integers(-127, 128, (count, 64)).astype(np.int8))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "night.keypoints.npz"


def test_every_row_reads_back_as_it_was_and_stays_on_disk(path, rng):
    rows = [some(rng, 300), NOTHING, some(rng, 7), some(rng, 0), some(rng, 299)]
    save_keypoints(path, rows, list("abcde"), "maker", "")
    table = KeypointTable.load(path)
    assert (len(table), table.contents, table.maker, table.map) == (5, tuple("abcde"), "maker", "")
    assert isinstance(table.points, np.memmap)
    assert isinstance(table.descriptors, np.memmap)
    for row, wanted in enumerate(rows):
        np.testing.assert_array_equal(table[row].points, wanted.points)
        np.testing.assert_array_equal(table[row].descriptors, wanted.descriptors)


@pytest.mark.parametrize("rows", [[], [NOTHING]])
def test_none_at_all_are_kept_as_such(path, rows):
    save_keypoints(path, rows, ["a"] * len(rows), "maker", "map")
    assert len(KeypointTable.load(path)) == len(rows)


GOOD = {
    "offsets": np.array([0, 2, 2, 3]),
    "points": np.zeros((3, 2), np.uint16),
    "descriptors": np.zeros((3, 64), np.int8),
    "contents": np.array(["a", "b", "c"]),
}
MISFITS = {
    "rows that overlap": {"offsets": np.array([0, 3, 2, 3])},
    "rows that begin late": {"offsets": np.array([1, 2, 2, 3])},
    "rows beyond the end": {"offsets": np.array([0, 2, 2, 9])},
    "rows before the beginning": {"offsets": np.array([-4, 2, 2, 3])},
    "no offsets": {"offsets": np.zeros(0, np.int64)},
    "offsets in two columns": {"offsets": np.zeros((2, 2), np.int64)},
    "offsets of few bits": {"offsets": np.array([0, 2, 2, 3], np.int8)},
    "a row of 301": {
        "offsets": np.array([0, 301, 301, 301]),
        "points": np.zeros((301, 2), np.uint16),
        "descriptors": np.zeros((301, 64), np.int8),
    },
    "wide points": {"points": np.zeros((3, 2), np.uint64)},
    "points in space": {"points": np.zeros((3, 3), np.uint16)},
    "more points than descriptors": {"points": np.zeros((4, 2), np.uint16)},
    "descriptors that are floats": {"descriptors": np.zeros((3, 64), np.float32)},
    "wide descriptors": {"descriptors": np.zeros((3, 64), np.int64)},
    "short descriptors": {"descriptors": np.zeros((3, 32), np.int8)},
    "fewer names than rows": {"contents": np.array(["a"])},
}


@pytest.mark.parametrize("what", MISFITS)
def test_arrays_that_do_not_fit_are_refused_in_one_line(path, what):
    save_arrays(path, Header(KIND, VERSION, "", {"map": ""}), GOOD | MISFITS[what])
    with pytest.raises(InputError, match=r"night\.keypoints\.npz.*remove it to make it again") as refused:
        KeypointTable.load(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("missing", GOOD)
def test_a_file_without_an_array_is_refused(path, missing):
    save_arrays(path, Header(KIND, VERSION, "", {}), {name: each for name, each in GOOD.items() if name != missing})
    with pytest.raises(InputError, match=f"has no array '{missing}'"):
        KeypointTable.load(path)


def test_a_file_that_was_cut_or_changed_is_refused(path, rng):
    save_keypoints(path, [some(rng, 300)], ["a"], "maker", "")
    whole = path.read_bytes()
    for spoiled in (whole[:-700], whole[:500], whole[:9000] + bytes([whole[9000] ^ 1]) + whole[9001:]):
        path.write_bytes(spoiled)
        with pytest.raises(InputError, match="is damaged"):
            KeypointTable.load(path)


def test_a_file_of_another_kind_is_refused(path):
    save_arrays(path, Header("percepts", 1, "", {}), GOOD)
    with pytest.raises(InputError, match="holds 'percepts', not 'keypoints'"):
        KeypointTable.load(path)
    assert load_arrays(path, "percepts", 1)
