"""Rows on disk: what goes in comes out, whichever shard it lies in."""

import numpy as np
import pytest

from tmapr.exceptions import InputError
from tmapr.training.store import Store, read_shards, write_shards


@pytest.fixture
def rows(rng):
    return rng.normal(size=(23, 3, 5)).astype(np.float16)


def write(folder, rows, size=300, batch=4):
    batches = (rows[start : start + batch] for start in range(0, len(rows), batch))
    return write_shards(folder, batches, "origin", size)


def test_rows_come_back_in_the_order_that_is_asked_for(tmp_path, rows, rng):
    store = read_shards(tmp_path, write(tmp_path, rows))
    order = rng.permutation(len(rows))
    assert len(store) == len(rows)
    np.testing.assert_array_equal(store.take(order), rows[order])
    assert store.take(order).dtype == np.float16


def test_shards_are_about_as_large_as_asked_for(tmp_path, rows):
    # Four rows of 30 bytes are a batch; three batches reach 300 bytes.
    assert write(tmp_path, rows) == 2
    assert write(tmp_path, rows, size=10**6) == 1
    assert write(tmp_path, rows, size=1) == 6


def test_what_is_taken_is_a_copy_that_may_be_written_to(tmp_path, rows):
    store = read_shards(tmp_path, write(tmp_path, rows))
    taken = store.take(np.array([3]))
    taken[:] = 0
    np.testing.assert_array_equal(store.take(np.array([3]))[0], rows[3])


def test_a_shard_whose_bytes_changed_is_refused(tmp_path, rows):
    count = write(tmp_path, rows)
    shard = tmp_path / "0001.npz"
    content = bytearray(shard.read_bytes())
    content[-200] ^= 0xFF
    shard.write_bytes(content)
    with pytest.raises(InputError, match=r"0001\.npz: is damaged"):
        read_shards(tmp_path, count)


def test_a_shard_that_is_gone_is_refused(tmp_path, rows):
    count = write(tmp_path, rows)
    (tmp_path / "0000.npz").unlink()
    with pytest.raises(InputError, match=r"0000\.npz: no such file"):
        read_shards(tmp_path, count)


def test_stores_lie_beside_each_other(rows):
    both = Store.concatenate([Store([rows[:4]]), Store([rows[4:5], rows[5:9]])])
    np.testing.assert_array_equal(both.take(np.array([8, 0, 4])), rows[[8, 0, 4]])


def test_rows_of_two_kinds_are_refused(rows):
    with pytest.raises(ValueError, match="rows of one kind"):
        Store([rows, rows[:, :2]])
