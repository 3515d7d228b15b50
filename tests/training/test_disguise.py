"""Pictures in disguise: what each kind of it does, and that nothing is done that was not asked for."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

from tmapr.perception.recipes import Disguise
from tmapr.training.disguise import blur, disguise, make_curves

SIDE = 48


@pytest.fixture
def pictures(rng):
    """Eight of them, smooth enough that a bent curve shows."""
    drawn = gaussian_filter(rng.uniform(0, 255, (8, SIDE, SIDE)), (0, 3, 3))
    low, high = drawn.min(axis=(1, 2), keepdims=True), drawn.max(axis=(1, 2), keepdims=True)
    return torch.from_numpy((255 * (drawn - low) / (high - low)).astype(np.uint8))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_without_a_disguise_a_picture_stays_as_it_is(pictures):
    assert torch.equal(disguise(pictures, Disguise(), seeded()), pictures)


def test_an_inverted_picture_is_the_negative(pictures):
    assert torch.equal(disguise(pictures, Disguise(inverted=1.0), seeded()), 255 - pictures)


def test_a_share_of_one_half_inverts_about_half(pictures):
    many = pictures[:1].expand(400, -1, -1)
    inverted = (disguise(many, Disguise(inverted=0.5), seeded()) == 255 - many).all(dim=2).all(dim=1)
    assert 150 < int(inverted.sum()) < 250


@given(st.integers(0, 2**31))
def test_a_curve_rises_from_black_to_white(seed):
    curves = make_curves(5, seeded(seed))
    assert torch.allclose(curves[:, 0], torch.zeros(5))
    assert torch.allclose(curves[:, -1], torch.ones(5))
    assert (curves.diff(dim=1) >= 0).all()


def test_a_remapped_picture_keeps_the_order_of_its_levels(pictures):
    for before, after in zip(pictures, disguise(pictures, Disguise(remapped=1.0), seeded()), strict=True):
        order = before.flatten().argsort()
        assert (after.flatten()[order].int().diff() >= 0).all()
        assert not torch.equal(before, after)


def test_a_mixed_picture_is_the_picture_in_some_parts_and_its_negative_in_others(pictures):
    pictures = torch.full_like(pictures, 220)
    mixed = disguise(pictures, Disguise(mixed=1.0), seeded()).float()
    assert ((mixed >= 35) & (mixed <= 220)).all()
    assert (mixed < 60).float().mean() > 0.2
    assert (mixed > 195).float().mean() > 0.2


def test_the_blur_is_the_gaussian_of_scipy(pictures):
    seen, deviations = pictures.float(), torch.linspace(0.6, 2.0, len(pictures))
    expected = [
        gaussian_filter(each.numpy(), float(deviation), mode="nearest", radius=6)
        for each, deviation in zip(seen, deviations, strict=True)
    ]
    np.testing.assert_allclose(blur(seen, deviations).numpy(), expected, atol=1e-3)


def test_no_deviation_is_no_blur(pictures):
    torch.testing.assert_close(blur(pictures.float(), torch.zeros(len(pictures))), pictures.float())


def test_what_hides_a_part_is_of_another_picture(pictures):
    flat = torch.arange(8, dtype=torch.uint8)[:, None, None].expand(8, SIDE, SIDE) * 20
    shown = disguise(flat, Disguise(hidden=0.9), seeded())
    others = flat.roll(4, dims=0)
    assert ((shown == flat) | (shown == others)).all()
    assert (shown == others).float().mean() > 0.02


def test_a_picture_moves_no_further_than_it_may():
    middle = torch.zeros(64, SIDE, SIDE, dtype=torch.uint8)
    middle[:, SIDE // 2 - 2 : SIDE // 2 + 2, SIDE // 2 - 2 : SIDE // 2 + 2] = 255
    moved = disguise(middle, Disguise(shift=0.25), seeded()).float()
    at = torch.arange(SIDE) - (SIDE - 1) / 2
    columns = (moved.sum(dim=1) * at).sum(dim=1) / moved.sum(dim=(1, 2))
    assert columns.abs().max() <= 0.25 * SIDE + 1
    assert columns.abs().max() > 0.15 * SIDE


def test_zoom_turn_and_tilt_leave_the_middle_where_it_is():
    middle = torch.zeros(32, SIDE, SIDE, dtype=torch.uint8)
    middle[:, SIDE // 2 - 1 : SIDE // 2 + 1, SIDE // 2 - 1 : SIDE // 2 + 1] = 255
    shown = disguise(middle, Disguise(zoom=0.3, turn=0.3, tilt=0.2), seeded())
    assert (shown[:, SIDE // 2 - 1 : SIDE // 2 + 1, SIDE // 2 - 1 : SIDE // 2 + 1] > 100).all()


def test_a_seed_gives_the_same_disguise_and_the_next_draw_another(pictures):
    settings = Disguise(remapped=1.0, shift=0.1, hidden=0.5)
    generator = seeded(3)
    first, second = (disguise(pictures, settings, generator) for _ in range(2))
    assert torch.equal(first, disguise(pictures, settings, seeded(3)))
    assert not torch.equal(first, second)
