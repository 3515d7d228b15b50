"""Thumbnails: the right image for a row, small, as the perceiver sees it; and none where there is none."""

import shutil

import cv2
import numpy as np
import pytest

from filmed import counts_of, decoded, film, seen_in
from tmapr.artifacts.images import write_frame
from tmapr.experiment import Experiment
from tmapr.reports.drawing.pictures import encode_jpeg
from tmapr.reports.page.footage import Album, read_pictures

STAMPS = 1_700_000_000_000_000_000 + 100_000_000 * np.arange(30)


@pytest.fixture
def data(tmp_path):
    film(tmp_path / "night", "night", STAMPS)
    return tmp_path


def experiment(root, **image):
    return Experiment.model_validate({"data": {"root": str(root)}, "perception": {"image": image}})


def wanted(*rows):
    return {row: int(STAMPS[row]) for row in rows}


def test_each_row_has_its_own_picture(data):
    pictures = read_pictures(experiment(data), "night", wanted(0, 7, 29))
    assert {row: seen_in(picture) for row, picture in pictures.found.items()} == {
        row: ("night", row) for row in (0, 7, 29)
    }
    assert pictures.absent is None


def test_only_the_images_that_are_shown_are_read(data):
    (data / "night/000003.png").write_bytes(b"damaged")
    assert len(read_pictures(experiment(data), "night", wanted(2, 4)).found) == 2


def test_a_picture_is_what_the_perceiver_sees(data):
    settings = experiment(data, crop=(16, 0, 0, 16)).perception.image
    (picture,) = read_pictures(experiment(data, crop=(16, 0, 0, 16)), "night", wanted(5)).found.values()
    np.testing.assert_array_equal(picture, settings.prepare(counts_of("night", 5), (48, 64), "area"))


@pytest.mark.parametrize(("shape", "size"), [((512, 640), (128, 160)), ((256, 640), (64, 160)), ((64, 80), (64, 80))])
def test_a_picture_keeps_its_proportions_and_is_never_enlarged(tmp_path, rng, shape, size):
    film(tmp_path / "night", "night", STAMPS[:1])
    write_frame(tmp_path / "night/000000.png", rng.integers(20000, 22000, shape).astype(np.uint16))
    assert read_pictures(experiment(tmp_path), "night", wanted(0)).found[0].shape == size


def test_a_damaged_or_empty_image_is_missing_and_the_others_are_there(data):
    (data / "night/000003.png").write_bytes(b"damaged")
    write_frame(data / "night/000004.png", np.full((64, 80), 21000, dtype=np.uint16))
    pictures = read_pictures(experiment(data), "night", wanted(3, 4, 5))
    assert list(pictures.found) == [5]
    assert pictures.absent is None


def spoil_nothing_left(root):
    shutil.rmtree(root / "night")


def spoil_images_gone(root):
    for file in (root / "night").glob("*.png"):
        file.unlink()


def spoil_all_damaged(root):
    for file in (root / "night").glob("*.png"):
        file.write_bytes(b"damaged")


def spoil_recorded_anew(root):
    shutil.rmtree(root / "night")
    film(root / "night", "night", STAMPS + 1)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (spoil_nothing_left, "images of night are not at {root}"),
        (spoil_images_gone, "images of night are not at {root}"),
        (spoil_all_damaged, "images of night at {root} cannot be read"),
        (spoil_recorded_anew, "images of night at {root} are of another recording"),
    ],
)
def test_why_there_are_no_pictures_is_said_in_one_line(data, spoil, says):
    spoil(data)
    pictures = read_pictures(experiment(data), "night", wanted(1, 2))
    assert pictures.found == {}
    assert pictures.absent == says.format(root=data)


def test_nothing_is_looked_for_where_nothing_is_wanted(tmp_path):
    assert read_pictures(experiment(tmp_path / "nowhere"), "night", {}).absent is None


def test_a_data_uri_is_the_picture(data):
    picture = read_pictures(experiment(data), "night", wanted(11)).found[11]
    shown = decoded(encode_jpeg(picture))
    assert seen_in(shown) == ("night", 11)
    # Blocks with sharp edges are the worst that a JPEG can be given.
    assert np.abs(shown.astype(int) - picture).mean() < 8


def test_a_picture_of_natural_detail_takes_a_few_kilobytes(rng):
    scene = cv2.GaussianBlur(rng.uniform(0, 255, (128, 160)), (0, 0), 3)
    picture = cv2.normalize(scene, None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)
    assert len(encode_jpeg(picture)) < 6000


def test_an_album_keeps_a_picture_once(data):
    first, second = read_pictures(experiment(data), "night", wanted(1, 2)).found.values()
    album = Album()
    assert [album.add(picture) for picture in (first, second, first.copy())] == [0, 1, 0]
    assert album.uris == [encode_jpeg(first), encode_jpeg(second)]
