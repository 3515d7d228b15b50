"""Beliefs over the route survive being written and read back, as far as a byte can tell; misfits are refused."""

import numpy as np
import pytest

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays
from tmapr.artifacts.beliefs import load_beliefs, save_beliefs
from tmapr.exceptions import InputError
from tmapr.types import Belief, Estimate, Percept, Reason, RouteBelief, Status, Verdict

REFERENCES = 900
GOOD = {
    "offsets": np.array([0, 0, 2], dtype=np.int64),
    "references": np.array([4, 899], dtype=np.int32),
    "roots": np.array([255, 8], dtype=np.uint8),
}


def estimate(route):
    belief = Belief(1, np.zeros(4), np.eye(4))
    return Estimate(belief, Percept(1, np.ones(1)), None, Verdict(Reason.ACCEPTED), Status.LOCALIZED, None, None, route)


def route(rng, count):
    masses = np.maximum(rng.dirichlet(np.full(count, 0.3)), 1e-3) if count else np.zeros(0)
    return RouteBelief(0.9, 0.05, rng.choice(REFERENCES, count, replace=False), masses)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "night.belief.npz"


def test_every_frame_reads_back_with_its_own_references(path, rng):
    given = [None, route(rng, 5), route(rng, 0), route(rng, 40), None]
    save_beliefs(path, "settings", "map", [estimate(each) for each in given])
    read = load_beliefs(path, "map", REFERENCES)
    assert len(read) == len(given)
    for frame, each in enumerate(given):
        references, masses = read.after(frame)
        assert references.tolist() == ([] if each is None else each.rows.tolist())
        # Half a step of the root, and what its square adds.
        np.testing.assert_allclose(masses, [] if each is None else each.masses, atol=0.004)


def test_a_drive_without_beliefs_leaves_no_file_and_takes_the_old_one_away(path, rng):
    save_beliefs(path, "settings", "map", [estimate(route(rng, 3))])
    assert path.exists()
    save_beliefs(path, "settings", "map", [estimate(None)] * 2)
    assert not path.exists()


def test_the_file_is_of_the_usual_kind_and_small(path, rng):
    save_beliefs(path, "settings", "map", [estimate(route(rng, 25)) for _ in range(600)])
    header, arrays = load_arrays(path, "belief", 1)
    assert (header.settings, header.notes) == ("settings", {"map": "map"})
    assert {name: array.dtype.name for name, array in arrays.items()} == {
        "offsets": "int64",
        "references": "int32",
        "roots": "uint8",
    }
    assert path.stat().st_size < 100_000


def test_the_beliefs_of_another_map_are_refused(path, rng):
    save_beliefs(path, "settings", "map", [estimate(route(rng, 3))])
    with pytest.raises(InputError, match="was made with another map; run `tmapr run` again"):
        load_beliefs(path, "other", REFERENCES)


@pytest.mark.parametrize(
    "changes",
    [
        {"offsets": np.array([0, 0, 1])},
        {"offsets": np.array([0, 3, 2])},
        {"offsets": np.array([1, 2])},
        {"offsets": np.zeros(0, dtype=np.int64)},
        {"references": np.array([4, 900], dtype=np.int32)},
        {"references": np.array([-1, 3], dtype=np.int32)},
        {"references": np.array([4, 5])},
        {"roots": np.zeros(3, dtype=np.uint8)},
        {"roots": np.zeros((2, 1), dtype=np.uint8)},
        {"more": np.zeros(1)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(path, changes):
    save_arrays(path, Header("belief", 1, "", {"map": "map"}), GOOD | changes)
    with pytest.raises(InputError, match="is damaged"):
        load_beliefs(path, "map", REFERENCES)
