"""W made on one machine and compared on another, small: an interrupted run goes on, and other rows are refused."""

import numpy as np
import pytest
import torch

import device_reference
from device_bench import Bench
from device_reference import Lessons, compare_with_reference, write_reference

LESSONS = Lessons(70, 5, 40)
BENCH = Bench(torch.device("cpu"), dim=70, classes=5, updates=1, check=1, check_dim=1, check_long=1)


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "weights.npz"
    write_reference(path, LESSONS)
    return path


def test_the_device_learns_what_the_reference_did(reference):
    count, error = compare_with_reference(reference, BENCH)
    assert count == 40
    assert error < 1e-12


def test_an_interrupted_run_goes_on_to_the_same_bits(reference, tmp_path, monkeypatch):
    monkeypatch.setattr(device_reference, "KEPT_EVERY", 15)

    def stop(*_, **__):
        raise KeyboardInterrupt

    other = tmp_path / "other.npz"
    with monkeypatch.context() as patched:
        patched.setattr("builtins.print", stop)
        with pytest.raises(KeyboardInterrupt):
            write_reference(other, LESSONS)
    assert not other.exists()
    write_reference(other, LESSONS)
    with np.load(other) as gone_on, np.load(reference) as at_once:
        np.testing.assert_array_equal(gone_on["weights"], at_once["weights"])


def test_a_reference_of_other_rows_is_refused(reference):
    with np.load(reference) as arrays:
        kept = dict(arrays)
    np.savez(reference, **kept | {"checksum": "0" * 64})
    with pytest.raises(ValueError, match="other rows were learned there"):
        compare_with_reference(reference, BENCH)
