"""Same results: the same content has the same line, and only a difference that nobody meant fails."""

import numpy as np
import pytest

from same_results import compare, describe, describe_cells, flatten, plain

MACHINE = {"processor": "P", "numpy": "2"}


def kept(**items):
    return {"commit": "b4aa333", "machine": MACHINE, "items": items}


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), ("1.0", 1), (True, "1"), (None, ""), (0.0, -0.0), ("0.10", 0.1)])
def test_a_value_has_one_spelling(one, other):
    assert plain(one) == plain(other)


def test_stamps_of_neighbouring_nanoseconds_differ():
    stamp = 1_679_572_800_000_000_000
    assert plain(stamp) != plain(str(stamp + 1))
    assert describe(np.array([stamp])) != describe(np.array([stamp + 1]))


def test_an_array_is_the_same_in_a_wider_type_and_differs_in_its_last_bit():
    array = np.array([0.1, np.nan, 3.0], dtype=np.float32)
    assert describe(array) == describe(array.astype(np.float64))
    assert describe(array) != describe(np.nextafter(array, np.float32(9)))


def test_the_order_of_cells_counts():
    assert describe_cells(["lost", "localized"]) != describe_cells(["localized", "lost"])


def test_times_and_digests_are_left_out_wherever_they_stand():
    tree = {"night": {"step_ms": {"p50": 1.0}, "rmse": 2.0}, "settings_sha256": "ab", "empty": []}
    assert dict(flatten(tree)) == {"night.rmse": 2.0, "empty": []}


@pytest.mark.parametrize(
    ("found", "intended", "code"),
    [
        ({"a/x": "1", "a/new": "9"}, {}, 0),
        ({"a/x": "2"}, {}, 1),
        ({}, {}, 1),
        ({"a/x": "2"}, {"a/*": "on purpose"}, 0),
        ({"a/x": "2"}, {"b/*": "on purpose"}, 1),
    ],
)
def test_only_a_difference_that_is_not_intended_fails(found, intended, code):
    assert compare(kept(**{"a/x": "1"}), found, intended, MACHINE) == code


def test_a_difference_is_printed_with_both_values_and_its_reason(capsys):
    compare(kept(**{"a/x": "1", "b/x": "3"}), {"a/x": "2", "b/x": "3"}, {"a/*": "on purpose"}, MACHINE)
    printed = capsys.readouterr().out
    assert all(part in printed for part in ("a/x [intended: on purpose]", "was 1", "is  2", "1 of 2 items"))


def test_another_machine_is_told_with_the_command_that_makes_the_reference_anew(capsys):
    compare(kept(), {}, {}, MACHINE | {"processor": "Q"})
    printed = capsys.readouterr().out
    assert "processor P, here Q" in printed
    assert "--make b4aa333" in printed
