"""Keypoints of images, against a second version in plain loops; and that nobody pays for them who does not ask."""

import weakref

import cv2
import numpy as np
import pytest
from jaxtyping import TypeCheckError

from tmapr.keypoints import FULL, MOST, UNIT, Keypoints, Once
from tmapr.perception.card import CLIP, Card, Input
from tmapr.perception.eyes import Outputs
from tmapr.perception.image import Image
from tmapr.perception.keypoints import SHIPPED, KeypointFinder
from tmapr.perception.onnx import INPUT, open_session
from tmapr.perception.perceiver import Perceiver
from tmapr.types import Fault, Frame

CARD = Card(input=Input(mean=CLIP[0], std=CLIP[1], size=(98, 126)), dimension=4)


@pytest.fixture(scope="module")
def finder():
    return KeypointFinder()


@pytest.fixture
def counts(rng):
    """A scene of blobs of all sizes."""
    shape = (180, 320)
    blobs = sum(cv2.resize(rng.normal(size=(shape[0] // cell, shape[1] // cell)), shape[::-1]) for cell in (30, 12, 5))
    return (3500 + 300 * blobs).astype(np.uint16)


def read_between(maps, row, column):
    """The maps at a pixel, linearly between centres of cells; beyond the border is zero."""
    height, width = maps.shape[1:]
    y, x = row / (8 * height - 1) * height - 0.5, column / (8 * width - 1) * width - 0.5
    total = np.zeros(len(maps))
    for cell_row in range(height):
        for cell_column in range(width):
            weight = max(0, 1 - abs(y - cell_row)) * max(0, 1 - abs(x - cell_column))
            if weight:
                total += weight * maps[:, cell_row, cell_column]
    return total


def find_plainly(picture, shape, count):
    """Peaks of 5×5 pixels, in the order of chance times reliability, with what they look like."""
    descriptors, points, reliabilities = (
        maps[0] for maps in open_session(SHIPPED, "cpu").run(None, {INPUT: picture[None]})
    )
    peaks = []
    for row, column in np.ndindex(points.shape):
        around = points[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3]
        if points[row, column] > 0 and points[row, column] == around.max():
            peaks.append((points[row, column] * read_between(reliabilities[None], row, column)[0], row, column))
    peaks.sort(key=lambda peak: -peak[0])
    found = []
    for _, row, column in peaks[:count]:
        looks = read_between(descriptors, row, column)
        place = np.array([(column + 0.5) / picture.shape[1] * shape[1], (row + 0.5) / picture.shape[0] * shape[0]])
        found.append((place / max(shape), looks / np.linalg.norm(looks)))
    return found


def test_keypoints_are_the_peaks_that_a_second_version_finds(finder, rng):
    shape, size = (90, 128), (64, 96)
    picture = cv2.GaussianBlur(rng.integers(0, 256, size).astype(np.uint8), (0, 0), 1.0)
    found, wanted = finder.find(picture, shape), find_plainly(picture, shape, MOST)
    assert len(found) == len(wanted) > 50
    # Equal chances may swap places; each point is there, and says the same.
    for place, looks in wanted:
        row = np.abs(found.positions - place).max(axis=1).argmin()
        np.testing.assert_allclose(found.positions[row], place, atol=0.51 / FULL)
        np.testing.assert_allclose(found.descriptors[row] / UNIT, looks, atol=0.51 / UNIT)


def test_an_image_has_at_most_300_which_take_less_than_24_kilobytes(finder, counts):
    found = finder(counts, Image())
    assert len(found) == MOST
    assert found.points.nbytes + found.descriptors.nbytes <= 24_000


def test_points_stay_with_the_scene_when_the_image_is_enlarged_or_cropped(finder, counts):
    found = finder(counts, Image())
    large = finder(cv2.resize(counts, None, fx=2, fy=2, interpolation=cv2.INTER_NEAREST), Image())
    distances = np.linalg.norm(found.positions[:, None] - large.positions, axis=2).min(axis=1)
    assert np.median(distances) < 1 / 320
    framed = np.full((200, 360), 3500, np.uint16)
    framed[8:188, 24:344] = counts
    inside = finder(framed, Image(crop=(8, 12, 24, 16), clip_limit=0))
    alone = finder(counts, Image(clip_limit=0))
    assert np.median(np.linalg.norm(alone.positions[:, None] - inside.positions, axis=2).min(axis=1)) < 1 / 320


def test_an_image_that_shows_nothing_has_none(finder):
    assert len(finder(np.full((180, 320), 3500, np.uint16), Image())) == 0


@pytest.mark.parametrize(
    ("points", "descriptors"),
    [
        (np.zeros((3, 2), np.uint16), np.zeros((4, 64), np.int8)),
        (np.zeros((3, 2), np.int64), np.zeros((3, 64), np.int8)),
        (np.zeros((3, 2), np.uint16), np.zeros((3, 64), np.uint8)),
        (np.zeros((301, 2), np.uint16), np.zeros((301, 64), np.int8)),
    ],
)
def test_what_no_file_could_keep_is_refused(points, descriptors):
    with pytest.raises((ValueError, TypeCheckError)):  # the latter where shapes are checked, as in tests
        Keypoints(points, descriptors)


class Counting:
    """A finder that remembers what it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, counts, _):
        self.asked.append(counts)
        return Keypoints(np.full((1, 2), len(self.asked), np.uint16), np.zeros((1, 64), np.int8))


def perceiver(find):
    def say(pictures):
        return Outputs(np.ones((len(pictures), 4), np.float32))

    return Perceiver(CARD, Image(), say, find_keypoints=find)


def frames(counts):
    return [Frame("drive", row, row, lambda row=row: counts + row) for row in range(5)]


def test_nothing_is_found_until_it_is_asked_for_and_then_once(counts):
    find = Counting()
    percepts = list(perceiver(find).stream(frames(counts), batch=2))
    assert find.asked == []
    first, again = percepts[3].keypoints(), percepts[3].keypoints()
    assert first is again
    assert len(find.asked) == 1
    assert (find.asked[0] == counts + 3).all()


def test_a_single_frame_has_those_of_its_own_image(counts):
    find = Counting()
    asked = perceiver(find).with_full_batches().with_inspection(lambda _: None)
    percepts = [asked(frame) for frame in frames(counts)]
    percepts[4].keypoints()
    percepts[1].keypoints()
    assert [int(image[0, 0]) - int(counts[0, 0]) for image in find.asked] == [4, 1]


def test_a_faulty_frame_has_none_and_neither_has_a_perceiver_without_a_finder(counts):
    faulty = perceiver(Counting()).with_inspection(lambda _: Fault.FROZEN)
    assert faulty(frames(counts)[0]).keypoints is None
    assert perceiver(None)(frames(counts)[0]).keypoints is None


def test_what_was_found_lets_go_of_the_image(counts):
    """Whoever keeps percepts keeps 20 kB of each, not its image."""
    image = counts.copy()
    once = Once(lambda image=image: Counting()(image, None))
    kept = weakref.ref(image)
    del image
    once()
    assert kept() is None
