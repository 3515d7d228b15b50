"""How far a picture moved: known shifts are found, what cannot be told is None, and a lap of a city shows its turns."""

import cv2
import numpy as np
import pytest

from tmapr.perception.gyroscope import Gyroscope

SHAPE, WIDTH = (512, 640), 128
SKETCHED = SHAPE[1] // WIDTH
"""Pixels of an image in one of a sketch."""


@pytest.fixture
def wall(rng):
    """Counts of a wall, twice as wide as an image."""
    rough = rng.normal(size=(SHAPE[0], 2 * SHAPE[1])).astype(np.float32)
    return (7800 + 2000 * cv2.GaussianBlur(rough, (0, 0), 3.0)).astype(np.uint16)


@pytest.fixture
def seen(wall):
    """Makes the image that begins at a column of the wall, and at a row."""
    return lambda column, row=0: np.roll(wall, -row, axis=0)[:, column : column + SHAPE[1]]


def measured(*images):
    """What a new gyroscope says of the last of some images."""
    gyroscope = Gyroscope()
    return [gyroscope.measure(image) for image in images][-1]


@pytest.mark.parametrize("pixels", [-200, -100, -35, -20, -5, 0, 5, 20, 35, 100, 200])
def test_a_shift_by_whole_pixels_of_a_sketch_is_found_to_a_tenth_of_one(pixels, seen):
    shift = measured(seen(300), seen(300 - pixels))
    assert WIDTH * shift == pytest.approx(pixels / SKETCHED, abs=0.1)


@pytest.mark.parametrize("pixels", [-33, -3, -1, 1, 2, 7, 98])
def test_any_other_is_found_to_a_third(pixels, seen):
    # The peak has a pixel or two, and its centre of mass leans to the middle of one.
    assert WIDTH * measured(seen(300), seen(300 - pixels)) == pytest.approx(pixels / SKETCHED, abs=0.33)


@pytest.mark.parametrize("height", [512, 480])  # a sketch of 128×96 is transformed as it is, one of 128×102 is padded
def test_what_came_before_the_last_image_changes_nothing(height, seen):
    earlier, last, now = (seen(column)[:height] for column in (330, 300, 275))
    assert measured(earlier, last, now) == measured(last, now)


def test_eight_bits_say_the_same(seen):
    images = [(seen(column) - 7000 >> 3).clip(0, 255).astype(np.uint8) for column in (300, 275)]
    assert WIDTH * measured(*images) == pytest.approx(5.0, abs=0.1)


def test_counts_may_drift_and_contrast_may_change(seen):
    brighter = 2 * seen(275) + 500
    assert WIDTH * measured(seen(300), brighter) == pytest.approx(5.0, abs=0.1)


def test_the_first_image_says_nothing(seen):
    assert measured(seen(0)) is None


def test_an_image_of_another_size_says_nothing_and_the_next_is_compared_with_it(seen):
    halves = [cv2.resize(seen(column), (320, 256), interpolation=cv2.INTER_AREA) for column in (300, 275)]
    assert measured(seen(300), halves[0]) is None
    assert WIDTH * measured(seen(0), *halves) == pytest.approx(5.0, abs=0.1)


def test_noise_says_nothing(rng):
    gyroscope = Gyroscope()
    assert {gyroscope.measure(rng.integers(0, 16384, SHAPE).astype(np.uint16)) for _ in range(10)} == {None}


def test_another_scene_says_nothing(seen):
    assert measured(seen(0), seen(640)) is None


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (4, 3), (3, 4), (31, 40), (32, 4000), (4000, 32)])
def test_what_is_too_small_flat_or_tall_says_nothing(shape, rng):
    image = rng.integers(0, 256, shape).astype(np.uint8)
    assert measured(image, image) is None


@pytest.mark.parametrize("counts", [0, 255])
def test_an_image_without_contrast_says_nothing_and_leaves_nothing_to_the_next(counts, seen):
    empty = np.full(SHAPE, counts, np.uint16)
    assert measured(seen(0), empty) is None
    assert measured(seen(0), empty, seen(0)) is None
    assert measured(empty, empty) is None


def test_the_same_images_give_the_same_bits(seen):
    images = [seen(column) for column in (300, 293, 250, 251)]
    first, second = Gyroscope(), Gyroscope()
    assert [first.measure(image) for image in images] == [second.measure(image.copy()) for image in images]


def test_the_array_of_an_image_may_be_filled_with_the_next(seen):
    gyroscope, driver = Gyroscope(), seen(300).copy()
    gyroscope.measure(driver)
    driver[:] = seen(275)
    assert WIDTH * gyroscope.measure(driver) == pytest.approx(5.0, abs=0.1)
