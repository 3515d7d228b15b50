"""Which frames train, which validate, and in which order they come."""

import numpy as np
import pytest
import torch

from tmapr.perception.normaliser import Normaliser
from tmapr.training.batches import Examples, batches, divide, joined, shuffled

CPU = torch.device("cpu")


def examples(count, rng, grid=(2, 3)):
    tokens = rng.normal(size=(count, grid[0] * grid[1], 4)).astype(np.float16)
    return Examples(tokens, rng.uniform(-50, 50, (count, 2)), rng.uniform(-3, 3, count), grid)


@pytest.mark.parametrize("count", [400, 1000, 5003])
def test_no_validation_frame_lies_within_the_guard_of_a_training_frame(count):
    rows = np.arange(count)
    train, validation, guarded = divide(rows, 0.1, 120)
    assert guarded
    assert rows[validation].min() - rows[train].max() == 121


def test_the_guard_counts_frames_of_the_sequence_and_not_usable_ones():
    rows = np.arange(0, 4000, 4)
    train, validation, _ = divide(rows, 0.1, 120)
    assert 120 < rows[validation].min() - rows[train].max() <= 124


def test_the_last_tenth_is_held_out():
    _, validation, _ = divide(np.arange(1000), 0.1, 120)
    assert np.flatnonzero(validation).tolist() == list(range(900, 1000))


def test_a_sequence_that_the_guard_would_eat_up_is_divided_without_one():
    train, validation, guarded = divide(np.arange(60), 0.1, 120)
    assert not guarded
    assert (train.sum(), validation.sum()) == (54, 6)


@pytest.mark.parametrize(("count", "guarded"), [(266, False), (267, True)])
def test_the_guard_never_takes_more_frames_than_it_leaves(count, guarded):
    assert divide(np.arange(count), 0.1, 120).guarded is guarded


def test_one_frame_at_least_is_held_out():
    assert divide(np.arange(3), 0.1, 0).validation.tolist() == [False, False, True]


def test_no_frame_both_trains_and_validates():
    train, validation, _ = divide(np.arange(60), 0.1, 120)
    assert not (train & validation).any()


def test_an_epoch_s_order_is_a_permutation_that_seed_and_epoch_alone_determine():
    order = shuffled(50, 3, 7)
    assert sorted(order.tolist()) == list(range(50))
    np.testing.assert_array_equal(order, shuffled(50, 3, 7))


def test_every_epoch_and_every_seed_has_an_order_of_its_own():
    orders = {tuple(shuffled(50, seed, epoch)) for seed in range(3) for epoch in range(3)}
    assert len(orders) == 9


def test_batches_give_every_frame_once_and_in_order(rng):
    given, order = examples(10, rng), shuffled(10, 0, 1)
    seen = list(batches(given, order, 4, Normaliser((0.0, 0.0), 1.0), CPU))
    assert [len(batch.positions) for batch in seen] == [4, 4, 2]
    tokens = torch.cat([batch.features.tokens for batch in seen]).numpy()
    np.testing.assert_array_equal(tokens, given.tokens[order].astype(np.float32))
    np.testing.assert_array_equal(torch.cat([batch.headings for batch in seen]), given.headings[order].astype("f4"))


def test_positions_in_a_batch_are_normalised_before_they_lose_digits(rng):
    far = np.array([331_000.0, 4_149_000.0])
    given = examples(5, rng)
    given = Examples(given.tokens, given.positions + far, given.headings, given.grid)
    (batch,) = batches(given, np.arange(5), 5, Normaliser((331_000.0, 4_149_000.0), 50.0), CPU)
    np.testing.assert_allclose(batch.positions * 50.0, given.positions - far, atol=1e-5)


def test_a_batch_knows_the_grid_of_its_tokens(rng):
    (batch,) = batches(examples(2, rng), np.arange(2), 2, Normaliser((0.0, 0.0), 1.0), CPU)
    assert (batch.features.rows, batch.features.columns) == (2, 3)


def test_sequences_are_joined_one_after_another(rng):
    first, second = examples(3, rng), examples(2, rng)
    both = joined([first, second])
    np.testing.assert_array_equal(both.positions, np.concatenate([first.positions, second.positions]))
    np.testing.assert_array_equal(both.take(np.array([3, 4])).tokens, second.tokens)
    np.testing.assert_array_equal(both.headings[:3], first.headings)


def test_grids_that_differ_are_not_joined(rng):
    with pytest.raises(ValueError, match="one grid"):
        joined([examples(2, rng), examples(2, rng, grid=(3, 2))])
