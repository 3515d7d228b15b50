"""Pictures made by torch are OpenCV's, pixel by pixel, and so are the faults."""

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from tmapr.data.folder import read_folder
from tmapr.data.sample import locate_sample
from tmapr.exceptions import InputError
from tmapr.gpu.preparation import FAULTS, Preparation
from tmapr.gpu.resize import choose_resize
from tmapr.perception.image import Image
from tmapr.types import Fault

SIZE = (224, 224)
SIDES = [(512, 640), (120, 160), (121, 163), (256, 333), (448, 672)]


def prepare_on_torch(image, counts, size=SIZE):
    """The picture or the fault, as `Image.prepare` says it."""
    pictures, faults = Preparation(image, counts.shape, counts.dtype, size)(torch.from_numpy(counts)[None])
    return FAULTS[int(faults[0])] or pictures[0].numpy()


def make_scene(rng, sides, depth=np.uint16):
    """Smooth 14-bit counts with some noise and a few hot pixels, or the same in 8 bits."""
    smooth = cv2.resize(rng.normal(3600, 300, (16, 20)), sides[::-1], interpolation=cv2.INTER_CUBIC)
    counts = smooth + rng.normal(0, 4, sides)
    counts[rng.integers(0, sides[0], 50), rng.integers(0, sides[1], 50)] = 16000
    return (counts if depth is np.uint16 else counts / 64).astype(depth)


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
def test_a_picture_is_the_host_s(sides, depth, rng):
    counts = make_scene(rng, sides, depth)
    for image in (Image(), Image(clip_limit=0.0), Image(tiles=3, clip_limit=4.0, low=0.0, high=100.0)):
        np.testing.assert_array_equal(prepare_on_torch(image, counts), image.prepare(counts, SIZE, "area"))


@pytest.mark.parametrize(
    "image", [Image(preset="sthereo"), Image(crop=(1, 2, 3, 4)), Image(clip_limit=0, crop=(5, 0, 0, 7))]
)
def test_a_crop_is_the_host_s(image, rng):
    counts = make_scene(rng, (512, 640))
    np.testing.assert_array_equal(prepare_on_torch(image, counts), image.prepare(counts, SIZE, "area"))


@pytest.mark.parametrize("drive", ["noon", "night"])
def test_the_pictures_of_the_packaged_street_are_the_host_s(drive):
    counts = np.stack([frame.image() for frame in read_folder(locate_sample(), drive)][::10])
    pictures, faults = Preparation(Image(), counts.shape[1:], counts.dtype, SIZE)(torch.from_numpy(counts))
    np.testing.assert_array_equal(pictures, [Image().prepare(each, SIZE, "area") for each in counts])
    assert not faults.any()


@pytest.mark.parametrize("sides", SIDES)
def test_counts_of_all_values_are_spread_as_on_the_host(sides, rng):
    counts = rng.integers(0, 65536, sides).astype(np.uint16)
    np.testing.assert_array_equal(prepare_on_torch(Image(), counts), Image().prepare(counts, SIZE, "area"))


@budget(max_examples=20, deadline=None, derandomize=True)
@given(
    sides=st.tuples(st.integers(32, 90), st.integers(32, 90)),
    size=st.tuples(st.integers(16, 96), st.integers(16, 96)),
    tiles=st.integers(1, 64),
    limit=st.sampled_from([0.0, 0.5, 2.0, 40.0]),
    seed=st.integers(0, 10**6),
)
def test_any_size_and_any_number_of_tiles_are_the_host_s(sides, size, tiles, limit, seed):
    counts = np.random.default_rng(seed).integers(0, 300, sides).astype(np.uint16)
    image = Image(tiles=tiles, clip_limit=limit)
    np.testing.assert_array_equal(prepare_on_torch(image, counts, size), image.prepare(counts, size, "area"))


@pytest.mark.parametrize(
    "given", [(448, 448), (672, 448), (672, 672), (224, 448), (225, 449), (100, 500), (500, 100), (224, 224)]
)
def test_a_picture_is_resized_as_opencv_does_it(given, rng):
    picture = rng.integers(0, 256, given).astype(np.uint8)
    resized = choose_resize(given, SIZE)(torch.from_numpy(picture)[None].int())[0]
    np.testing.assert_array_equal(resized, cv2.resize(picture, SIZE[::-1], interpolation=cv2.INTER_AREA))


def images(depth):
    """Images of a few values, in which percentiles often fall on a boundary, and often nothing is seen."""
    highest = np.iinfo(depth).max
    values = st.sampled_from(sorted({0, 1, 2, 100, 254, highest - 1, highest, 16383 % (highest + 1)}))
    return st.builds(
        lambda palette, rare, seed: np.where(
            np.random.default_rng(seed).random((40, 36)) < rare,
            np.random.default_rng(seed).choice(palette, (40, 36)),
            palette[0],
        ).astype(depth),
        st.lists(values, min_size=1, max_size=4, unique=True),
        st.sampled_from([0.001, 0.009, 0.02, 0.5, 1.0]),
        st.integers(0, 10**6),
    )


@budget(max_examples=40, deadline=None, derandomize=True)
@given(counts=images(np.uint8) | images(np.uint16), low=st.sampled_from([0.0, 1.0, 25.0]))
def test_percentiles_and_faults_are_the_host_s(counts, low):
    image = Image(low=low)
    expected, found = image.prepare(counts, SIZE, "area"), prepare_on_torch(image, counts)
    if isinstance(expected, Fault):
        assert found is expected
    else:
        np.testing.assert_array_equal(found, expected)


def test_images_of_a_batch_do_not_disturb_one_another(rng):
    counts = np.stack([make_scene(rng, (120, 160)), np.full((120, 160), 7, np.uint16), make_scene(rng, (120, 160))])
    pictures, faults = Preparation(Image(), (120, 160), counts.dtype, SIZE)(torch.from_numpy(counts))
    assert [FAULTS[code] for code in faults] == [None, Fault.EMPTY, None]
    for row in (0, 2):
        np.testing.assert_array_equal(pictures[row], Image().prepare(counts[row], SIZE, "area"))


def test_smoothing_is_left_to_the_host():
    with pytest.raises(ValueError, match="bilateral of 5"):
        Preparation(Image(preset="ms2"), (256, 640), np.dtype(np.uint16), SIZE)


def test_a_crop_that_leaves_too_little_is_refused_as_on_the_host():
    with pytest.raises(InputError, match="leaves 31x64"):
        Preparation(Image(crop=(33, 0, 0, 0)), (64, 64), np.dtype(np.uint16), SIZE)
