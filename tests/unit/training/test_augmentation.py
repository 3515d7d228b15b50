"""What a training picture suffers: what is asked for, reproducibly, and nothing else."""

import numpy as np
import pytest
import torch

from tmapr.perception.recipes import Augmentation
from tmapr.training.augmentation import augment

IMAGES, HEIGHT, WIDTH = 40, 48, 64


def pictures(value=None):
    if value is not None:
        return torch.full((IMAGES, HEIGHT, WIDTH), value, dtype=torch.uint8)
    ramp = torch.linspace(60, 190, WIDTH).round().to(torch.uint8)
    return ramp.expand(IMAGES, HEIGHT, WIDTH).contiguous()


def augment_pictures(settings, given=None, seed=0):
    return augment(pictures() if given is None else given, settings, torch.Generator().manual_seed(seed)).float()


def test_without_settings_nothing_changes():
    np.testing.assert_array_equal(augment_pictures(Augmentation()), pictures())
    assert not Augmentation().active
    assert Augmentation(shift=0.01).active


def test_a_seed_is_a_version():
    settings = Augmentation(gain=0.3, offset=0.1, gamma=0.2, columns=0.02, noise=0.02, shift=0.05)
    np.testing.assert_array_equal(augment_pictures(settings), augment_pictures(settings))
    assert not torch.equal(augment_pictures(settings), augment_pictures(settings, seed=1))


def test_gain_stretches_around_the_mean_and_leaves_it():
    found = augment_pictures(Augmentation(gain=0.4))
    spread = found.std(dim=(1, 2)) / pictures().float().std(dim=(1, 2))
    assert 0.6 <= spread.min() < 0.75
    assert 1.25 < spread.max() <= 1.41
    np.testing.assert_allclose(found.mean(dim=(1, 2)), pictures().float().mean(dim=(1, 2)), atol=0.5)


def test_an_offset_moves_every_pixel_alike():
    found = augment_pictures(Augmentation(offset=0.2), pictures(128))
    moved = found[:, 0, 0] - 128
    assert (found == found[:, :1, :1]).all()
    assert -0.2 * 255 - 1 <= moved.min() < -25
    assert 25 < moved.max() <= 0.2 * 255 + 1


def test_gamma_keeps_black_and_white_and_the_order_between():
    for value in (0, 255):
        assert (augment_pictures(Augmentation(gamma=0.5), pictures(value)) == value).all()
    found = augment_pictures(Augmentation(gamma=0.5))
    assert (found.diff(dim=2) >= 0).all()
    assert not torch.equal(found, pictures().float())


def test_columns_keep_their_noise_from_top_to_bottom():
    found = augment_pictures(Augmentation(columns=0.05), pictures(128))
    assert (found == found[:, :1]).all()
    assert found[:, 0].std().item() == pytest.approx(0.05 * 255, rel=0.1)


def test_pixels_have_noise_of_their_own():
    found = augment_pictures(Augmentation(noise=0.05), pictures(128))
    assert found.std().item() == pytest.approx(0.05 * 255, rel=0.05)
    assert found.mean(dim=1).std().item() < 0.05 * 255 / 4


def test_a_shift_moves_the_picture_by_no_more_than_asked_for():
    found = augment_pictures(Augmentation(shift=0.1))
    slope = 130 / (WIDTH - 1)
    middle = slice(HEIGHT // 4, 3 * HEIGHT // 4), slice(WIDTH // 4, 3 * WIDTH // 4)
    moved = (found - pictures().float())[:, *middle].mean(dim=(1, 2)) / slope
    assert 0.05 * WIDTH < moved.abs().max() <= 0.1 * WIDTH + 0.5
    assert moved.min() < 0 < moved.max()
