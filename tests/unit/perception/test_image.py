"""The 8-bit picture: equal to the plain pipeline, blind to the camera's offset, and a fault where there is no scene."""

from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from repository import SHARED
from tmapr.artifacts.images import read_image
from tmapr.config import dump_toml, load_settings, settings_digest
from tmapr.exceptions import InputError
from tmapr.perception.image import Image
from tmapr.types import Fault

DATA = SHARED
REAL = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real thermal frames are not at {DATA}")
STRETCH = Image(clip_limit=0.0)
SMALL = (224, 224)


@pytest.fixture
def scene(rng):
    """A smooth 14-bit scene with some noise and a few hot pixels, the size of an A65's image."""
    smooth = cv2.resize(rng.normal(3600, 300, (16, 20)), (640, 512), interpolation=cv2.INTER_CUBIC)
    counts = smooth + rng.normal(0, 4, smooth.shape)
    counts[rng.integers(0, 512, 50), rng.integers(0, 640, 50)] = 16000
    return counts.astype(np.uint16)


def real(name):
    return read_image(DATA / name)


def stretched(counts, low=1.0, high=99.0):
    """Percentiles by sorting; every pixel in float32 as documented, halves to even."""
    black, white = (int(np.percentile(counts, q, method="inverted_cdf")) for q in (low, high))
    if black == white:
        black, white = int(counts.min()), int(counts.max())
    above = np.maximum(counts.astype(np.int64) - black, 0).astype(np.float32)
    return np.minimum(np.rint(above * np.float32(255 / (white - black))), 255).astype(np.uint8)


def straightforward(counts, settings, size, interpolation):
    """The steps as one would write them down, without a thought for speed."""
    picture = stretched(counts, settings.low, settings.high)
    if settings.clip_limit:
        picture = cv2.createCLAHE(settings.clip_limit, (settings.tiles, settings.tiles)).apply(picture)
    if settings.bilateral:
        picture = cv2.bilateralFilter(picture, settings.bilateral, settings.bilateral_color, settings.bilateral_space)
    top, bottom, left, right = settings.crop
    picture = picture[top : len(picture) - bottom, left : picture.shape[1] - right]
    return cv2.resize(picture, (size[1], size[0]), interpolation=interpolation)


PIPELINES = [
    Image(),
    Image(preset="ms2"),
    Image(preset="sthereo"),
    STRETCH,
    Image(low=0.0, high=100.0, tiles=3, clip_limit=4.0),
    Image(bilateral=7, bilateral_color=3.0, bilateral_space=2.0, crop=(1, 2, 3, 4)),
]


@pytest.mark.parametrize("settings", PIPELINES)
@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
@pytest.mark.parametrize(("resize", "interpolation"), [("linear", cv2.INTER_LINEAR), ("area", cv2.INTER_AREA)])
def test_the_picture_is_that_of_the_plain_pipeline(settings, depth, resize, interpolation, scene):
    counts = scene if depth is np.uint16 else (scene // 64).astype(np.uint8)
    prepared = settings.prepare(counts, (98, 210), resize)
    np.testing.assert_array_equal(prepared, straightforward(counts, settings, (98, 210), interpolation))


def images(depth):
    """Images of a few values, in which percentiles often fall on a boundary."""
    values = st.sampled_from(sorted({0, 1, 2, 100, 101, 254, np.iinfo(depth).max - 1, 3600 % np.iinfo(depth).max}))
    sides = st.integers(32, 40)
    return st.builds(
        lambda rows, columns, palette, seed: np.random.default_rng(seed).choice(palette, (rows, columns)).astype(depth),
        sides,
        sides,
        st.lists(values, min_size=2, max_size=6, unique=True),
        st.integers(0, 10**6),
    )


PERCENTILES = st.sampled_from([0.0, 0.1, 1.0, 1 / 3, 2.5, 10.0, 25.0, 50.0, 70.0, 90.0, 97.5, 99.0, 99.9, 100.0])


@budget(derandomize=True)
@given(counts=images(np.uint8) | images(np.uint16), limits=st.lists(PERCENTILES, min_size=2, max_size=2, unique=True))
def test_percentiles_are_those_of_the_sorted_counts(counts, limits):
    low, high = sorted(limits)
    prepared = Image(low=low, high=high, clip_limit=0.0).prepare(counts, counts.shape)
    np.testing.assert_array_equal(prepared, stretched(counts, low, high))


@pytest.mark.parametrize(
    ("span", "counts", "grays"),
    [(2, (0, 1, 2), (0, 128, 255)), (102, (0, 1, 3, 5, 102), (0, 2, 8, 12, 255)), (255, (0, 7, 255), (0, 7, 255))],
)
def test_a_gray_half_way_between_two_goes_to_the_even_one(span, counts, grays):
    plane = np.zeros((32, 32), np.uint16)
    plane[0, : len(counts)] = counts
    plane[1:] = np.where(np.arange(32) < 16, 0, span)
    prepared = STRETCH.prepare(plane, plane.shape)
    assert prepared[0, : len(counts)].tolist() == list(grays)


@budget(derandomize=True)
@given(offset=st.integers(0, 40000), settings=st.sampled_from(PIPELINES), seed=st.integers(0, 100))
def test_an_offset_of_all_counts_changes_no_pixel(offset, settings, seed):
    rng = np.random.default_rng(seed)
    counts = cv2.resize(rng.integers(3000, 9000, (30, 32)).astype(np.uint16), (320, 300))
    np.testing.assert_array_equal(
        settings.prepare(counts + np.uint16(offset), SMALL), settings.prepare(counts, SMALL), strict=True
    )


def contrast_apart(a, b):
    """How far apart two pictures' mean grays are, in their deviations."""
    return abs(a.mean() - b.mean()) / np.sqrt((a.var() + b.var()) / 2)


@REAL
@pytest.mark.parametrize("frame", ["000011", "002079"])
@pytest.mark.parametrize("preset", ["raw", "ms2"])
def test_the_two_cameras_of_ms2_give_pictures_of_one_brightness_and_contrast(frame, preset):
    """Through one fixed range of counts they are 0.3 and 0.5 deviations apart, with less than half the contrast."""
    left, right = (real(f"ms2_sample/{side}_{frame}_thr.png") for side in ("left", "right"))
    fixed = [np.clip((counts - 3000.0) / 3000 * 255, 0, 255) for counts in (left, right)]
    pictures = [Image(preset=preset).prepare(counts, SMALL, "area").astype(float) for counts in (left, right)]
    assert contrast_apart(*pictures) < 0.15 < 0.3 < contrast_apart(*fixed)
    assert min(picture.std() for picture in pictures) > 45 > 25 > max(picture.std() for picture in fixed)
    # Parallax is left, the cameras stand 0.3 m apart: CLAHE shows it, and the plain views correlate more (0.92).
    assert np.corrcoef(pictures[0].ravel(), pictures[1].ravel())[0, 1] > 0.8


@REAL
@pytest.mark.parametrize("name", ["fieldscale_14bit/0000.png", "pvhawk_gps/radiometric/frame_000000.tiff"])
def test_a_real_frame_equals_the_plain_pipeline(name):
    counts = real(name)
    np.testing.assert_array_equal(
        Image().prepare(counts, SMALL), straightforward(counts, Image(), SMALL, cv2.INTER_LINEAR)
    )


@REAL
def test_an_original_tiff_and_its_png_give_one_picture():
    tiff, png = (
        Image().prepare(real(f"fieldscale_14bit/{name}"), SMALL) for name in ("original_0000.tiff", "0000.png")
    )
    np.testing.assert_array_equal(tiff, png)


def flat(value, *others, depth=np.uint16, rows=64):
    """An image of one value, but for a few pixels: under 1 % of them."""
    counts = np.full((rows, 64), value, depth)
    counts[0, : len(others)] = others
    return counts


@pytest.mark.parametrize(
    ("counts", "fault"),
    [
        (flat(0), Fault.EMPTY),
        (flat(3600), Fault.EMPTY),
        (flat(0, depth=np.uint8), Fault.EMPTY),
        (flat(254, depth=np.uint8), Fault.EMPTY),
        (flat(255), Fault.EMPTY),
        (flat(255, depth=np.uint8), Fault.SATURATED),
        (flat(16383), Fault.SATURATED),
        (flat(65535), Fault.SATURATED),
        (flat(16382), Fault.EMPTY),
        (flat(16383, 3600, 3700), Fault.SATURATED),
        (flat(255, 3, 4, depth=np.uint8), Fault.SATURATED),
    ],
)
def test_an_image_without_a_scene_is_a_fault(counts, fault):
    assert Image().prepare(counts, SMALL) is fault


@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
def test_lamps_in_a_black_night_are_a_scene(depth):
    counts = flat(0, 50, 100, 200, depth=depth)
    prepared = STRETCH.prepare(counts, counts.shape)
    assert prepared[0, :4].tolist() == [64, 128, 255, 0]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (np.zeros((64, 64)), "float64 of shape (64, 64)"),
        (np.zeros((64, 64), np.int16), "int16 of shape (64, 64)"),
        (np.zeros((64, 64), ">u2"), ">u2 of shape (64, 64)"),
        (np.zeros((64, 64, 3), np.uint8), "uint8 of shape (64, 64, 3)"),
        (np.zeros(64, np.uint16), "uint16 of shape (64,)"),
        (np.zeros((0, 64), np.uint16), "image of 0x64 less a crop of [0, 0, 0, 0] leaves 0x64 pixels"),
        (np.zeros((64, 31), np.uint16), "image of 64x31 less a crop of [0, 0, 0, 0] leaves 64x31 pixels"),
    ],
)
def test_what_is_no_plane_of_counts_is_refused_in_one_line(counts, said):
    with pytest.raises(InputError) as caught:
        Image().prepare(counts, SMALL)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("crop", [(32, 1, 0, 0), (0, 0, 31, 2), (500, 0, 0, 0), (0, 500, 0, 0), (0, 0, 0, 500)])
def test_a_crop_that_leaves_too_little_is_refused_with_the_setting(crop):
    with pytest.raises(InputError, match=r"of 64x64 less a crop of .* crop less \(perception\.image\.crop\)"):
        Image(crop=crop).prepare(flat(0, 1), SMALL)


def test_the_counts_are_left_as_they_are_however_they_lie_in_memory(scene):
    prepared = Image().prepare(scene, SMALL)
    wide = np.zeros((512, 1280), np.uint16)
    wide[:, ::2] = scene
    frozen = scene.copy()
    frozen.flags.writeable = False
    for counts in (wide[:, ::2], np.asfortranarray(scene), frozen, scene[::-1][::-1], wide[:, ::2][:, ::-1][:, ::-1]):
        np.testing.assert_array_equal(Image().prepare(counts, SMALL), prepared)
        np.testing.assert_array_equal(counts, scene)


def test_the_picture_is_the_caller_s_own(scene):
    plain = Image(clip_limit=0.0, low=0.0, high=100.0)
    counts = (scene // 64).astype(np.uint8)
    before = counts.copy()
    plain.prepare(counts, counts.shape)[:] = 7
    np.testing.assert_array_equal(counts, before)


@pytest.mark.parametrize("settings", [Image(), Image(preset="ms2")])
def test_threads_do_not_disturb_one_another(settings, rng):
    frames = [rng.integers(3000, 3000 + 10 * (index + 1), (120, 160)).astype(np.uint16) for index in range(40)]
    alone = [settings.prepare(frame, SMALL) for frame in frames]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda frame: settings.prepare(frame, SMALL), frames * 5))
    np.testing.assert_array_equal(together, alone * 5)


@pytest.mark.parametrize(
    ("preset", "bilateral", "crop"),
    [("raw", 0, (0, 0, 0, 0)), ("ms2", 5, (9, 35, 28, 34)), ("sthereo", 0, (121, 107, 52, 30))],
)
def test_a_preset_fills_what_is_not_given(preset, bilateral, crop):
    image = Image(preset=preset)
    assert (image.bilateral, image.crop, image.clip_limit, image.tiles) == (bilateral, crop, 2.0, 8)
    assert (image.bilateral_color, image.bilateral_space) == (20.0, 15.0)


@pytest.mark.parametrize(
    ("preset", "height", "width", "left"), [("ms2", 256, 640, (212, 578)), ("sthereo", 512, 640, (284, 558))]
)
def test_a_preset_leaves_the_published_size(preset, height, width, left):
    assert Image(preset=preset).size_after_crop(height, width) == left


def test_what_is_given_wins_over_the_preset():
    image = Image(preset="ms2", bilateral=0, crop=(0, 0, 0, 0))
    assert image.model_dump(exclude={"preset"}) == Image().model_dump(exclude={"preset"})


@pytest.mark.parametrize(
    "settings", [*PIPELINES, Image(preset="ms2", crop=(0, 0, 0, 0)), Image(preset="sthereo", bilateral=3)]
)
def test_settings_survive_being_written_down(settings, tmp_path):
    (tmp_path / "image.toml").write_text(dump_toml(settings))
    read = [
        load_settings(Image, tmp_path / "image.toml"),
        Image.model_validate_json(settings.model_dump_json()),
        Image.model_validate(settings.model_dump()),
    ]
    assert read == [settings] * 3
    assert {settings_digest(copy) for copy in read} == {settings_digest(settings)}


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("preset=flir", "preset"),
        ("preset=[1]", "preset"),
        ("preset=1", "preset"),
        ("low=99.0", "low must be below high, got 99 and 99"),
        ("high=101.0", "high"),
        ("crop=[0, -1, 0, 0]", "crop must not be negative"),
        ("crop=[0, 0, 0]", "crop"),
        ("crop=[0, 0, 0, 1.5]", "crop.3"),
        ('crop=["0", 0, 0, 0]', "crop.0"),
        ("crop=true", "crop"),
        ("tiles=0", "tiles"),
        ("bilateral=-1", "bilateral"),
        ("clip_limit=-0.5", "clip_limit"),
        ("croop=[0, 0, 0, 0]", "did you mean 'crop'?"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line(override, said):
    with pytest.raises(InputError) as caught:
        load_settings(Image, overrides=[override])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
