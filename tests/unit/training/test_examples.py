"""Which frames train, which validate, in which order they come and which make a clip."""

import numpy as np
import pytest

from tmapr.baselines.regressor import Clip
from tmapr.training.examples import Examples, divide, join_examples, shuffle
from tmapr.training.store import Store


def examples(count, rng, width=4):
    return Examples(
        Store([rng.normal(size=(count, width)).astype(np.float16)]),
        rows=np.arange(count),
        numbers=np.arange(count),
        sequences=np.zeros(count, dtype=int),
        positions=rng.uniform(-50, 50, (count, 2)),
        headings=rng.uniform(-3, 3, count),
    )


@pytest.mark.parametrize("count", [400, 1000, 5003])
def test_no_validation_frame_lies_within_the_guard_of_a_training_frame(count):
    numbers = np.arange(count)
    train, validation, guarded = divide(numbers, 0.1, 120)
    assert guarded
    assert numbers[validation].min() - numbers[train].max() == 121


def test_the_guard_counts_frames_of_the_sequence_and_not_usable_ones():
    numbers = np.arange(0, 4000, 4)
    train, validation, _ = divide(numbers, 0.1, 120)
    assert 120 < numbers[validation].min() - numbers[train].max() <= 124


def test_a_sequence_that_the_guard_would_eat_up_is_divided_without_one():
    train, validation, guarded = divide(np.arange(60), 0.1, 120)
    assert not guarded
    assert (train.sum(), validation.sum()) == (54, 6)


@pytest.mark.parametrize(("count", "guarded"), [(266, False), (267, True)])
def test_the_guard_never_takes_more_frames_than_it_leaves(count, guarded):
    assert divide(np.arange(count), 0.1, 120).guarded is guarded


def test_an_epoch_s_order_is_a_permutation_that_seed_and_epoch_alone_determine():
    order = shuffle(50, 3, 7)
    assert sorted(order.tolist()) == list(range(50))
    np.testing.assert_array_equal(order, shuffle(50, 3, 7))


def test_every_epoch_and_every_seed_has_an_order_of_its_own():
    orders = {tuple(shuffle(50, seed, epoch)) for seed in range(3) for epoch in range(3)}
    assert len(orders) == 9


def test_some_frames_keep_what_belongs_to_them(rng):
    given = examples(6, rng)
    which = np.array([True, False, True, False, False, True])
    taken = given.take(which)
    assert len(taken) == 3
    np.testing.assert_array_equal(taken.numbers, [0, 2, 5])
    np.testing.assert_array_equal(taken.store.take(taken.rows), given.store.take(np.array([0, 2, 5])))
    np.testing.assert_array_equal(taken.positions, given.positions[which])
    np.testing.assert_array_equal(taken.headings, given.headings[which])


def test_sequences_are_joined_one_after_another(rng):
    first, second = examples(3, rng), examples(4, rng)
    kept = second.take(np.array([False, True, False, True]))
    both = join_examples([first, kept])
    np.testing.assert_array_equal(both.positions, np.concatenate([first.positions, kept.positions]))
    np.testing.assert_array_equal(both.store.take(both.rows[3:]), second.store.take(np.array([1, 3])))
    np.testing.assert_array_equal(both.headings, np.concatenate([first.headings, kept.headings]))
    assert both.sequences.tolist() == [0, 0, 0, 1, 1]
    assert both.numbers.tolist() == [0, 1, 2, 1, 3]


def test_a_clip_reaches_as_far_to_both_sides_and_never_into_another_sequence(rng):
    both = join_examples([examples(20, rng), examples(10, rng)])
    frames = both.clips(np.array([10, 1, 21, 29]), Clip(frames=5, spacing=3)).reshape(4, 5)
    assert frames[0].tolist() == [4, 7, 10, 13, 16]
    assert frames[1].tolist() == [0, 0, 1, 4, 7]
    assert frames[2].tolist() == [20, 20, 21, 24, 27]
    assert frames[3].tolist() == [23, 26, 29, 29, 29]
