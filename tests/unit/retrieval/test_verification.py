"""Matches of keypoints, against plain loops and against pictures that were moved by a known amount."""

from math import log1p

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tmapr.keypoints import FULL, UNIT, Keypoints
from tmapr.perception.image import Image
from tmapr.perception.keypoints import KeypointFinder
from tmapr.retrieval.verification import count_all_matches, count_matches, measure_surplus


def made_up(rng, count):
    looks = rng.normal(size=(count, 64)).astype(np.float32)
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    return Keypoints.quantise(rng.uniform(0, 1, (count, 2)).astype(np.float32), looks)


def seen_again(rng, keypoints, noise):
    """The same points in another order, looking somewhat different."""
    order = rng.permutation(len(keypoints))
    looks = keypoints.descriptors[order] / UNIT + rng.normal(0, noise, (len(order), 64))
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    return Keypoints(keypoints.points[order], np.rint(UNIT * looks).astype(np.int8))


def match_plainly(query, reference):
    """Pairs of positions in the order of the reference's rows, by integers alone."""
    products = [[int(np.dot(a.astype(int), b.astype(int))) for b in reference.descriptors] for a in query.descriptors]
    pairs = []
    for row in range(len(reference)):
        column = max(range(len(query)), key=lambda each: (products[each][row], -each))
        back = max(range(len(reference)), key=lambda each: (products[column][each], -each))
        if back == row and products[column][row] >= 0.7 * UNIT**2:
            pairs.append((*query.points[column].tolist(), *reference.points[row].tolist()))
    return pairs


def pairs_of(matches):
    both = np.rint(np.concatenate([matches.query, matches.reference], axis=1) * FULL).astype(int)
    return [tuple(row) for row in both.tolist()]


@given(
    seed=some.integers(0, 2**32 - 1), asked=some.integers(1, 40), kept=some.integers(0, 40), noise=some.floats(0, 0.2)
)
def test_matches_are_mutual_nearest_ones_as_plain_loops_find_them(seed, asked, kept, noise):
    rng = np.random.default_rng(seed)
    query = made_up(rng, asked)
    again = seen_again(rng, query, noise)
    extra = made_up(rng, kept)
    reference = Keypoints(
        np.concatenate([again.points, extra.points]), np.concatenate([again.descriptors, extra.descriptors])
    )
    assert pairs_of(count_matches(query, reference)) == match_plainly(query, reference)


def test_of_equal_looks_the_first_counts():
    looks = np.zeros((3, 64), np.int8)
    looks[:, 0] = UNIT
    same = Keypoints(np.arange(6, dtype=np.uint16).reshape(3, 2), looks)
    assert pairs_of(count_matches(same, same)) == [(0, 1, 0, 1)]


def test_several_references_at_once_are_each_as_alone(rng):
    query = made_up(rng, 200)
    references = [seen_again(rng, query, 0.05), made_up(rng, 300), made_up(rng, 0), seen_again(rng, query, 0.1)]
    together = count_all_matches(query, references)
    for found, reference in zip(together, references, strict=True):
        alone = count_matches(query, reference)
        assert pairs_of(found) == pairs_of(alone)
        assert found.agreeing.tolist() == alone.agreeing.tolist()
        assert found.aligned.tolist() == alone.aligned.tolist()
    assert count_all_matches(query, []) == []


def test_the_same_pictures_give_the_same_every_time(rng):
    query = made_up(rng, 250)
    reference = seen_again(rng, query, 0.08)
    first = count_matches(query, reference)
    for _ in range(5):
        count_matches(reference, made_up(rng, 100))  # whatever came between
        again = count_matches(query, reference)
        assert again.agreeing.tolist() == first.agreeing.tolist()
        assert again.aligned.tolist() == first.aligned.tolist()


@pytest.mark.parametrize("count", [0, 1, 7])
def test_fewer_pairs_than_a_geometry_needs_agree_with_none(count, rng):
    few = made_up(rng, count)
    found = count_matches(few, few)
    assert (found.mutual, found.inliers, found.strength) == (count, 0, 0.0)


@pytest.mark.parametrize("points", ["in one place", "on a line", "in three places"])
def test_points_that_no_geometry_follows_from_are_survived(points, rng):
    looks = made_up(rng, 300).descriptors
    rows = {
        "in one place": np.full((300, 2), FULL),
        "on a line": np.repeat(100 * np.arange(300)[:, None], 2, axis=1),
        "in three places": np.repeat(rng.integers(0, FULL, (3, 2)), 100, axis=0),
    }[points].astype(np.uint16)
    keypoints = Keypoints(rows, looks)
    found = count_matches(keypoints, keypoints)
    assert found.mutual == 300
    assert found.strength >= 0
    assert len(found.agreeing) == len(found.aligned) == 300


def scene(rng, shape=(256, 320)):
    cells = (40, 16, 6)
    return sum(cv2.resize(rng.normal(size=(shape[0] // cell, shape[1] // cell)), shape[::-1]) for cell in cells)


def as_counts(scene):
    return (3500 + 300 * scene).astype(np.uint16)


@pytest.fixture(scope="module")
def find():
    finder = KeypointFinder()
    return lambda counts: finder(counts, Image())


@pytest.mark.parametrize(
    ("scale", "degrees", "shift"), [(1.0, 0, (24, -10)), (1.15, 0, (0, 0)), (0.9, 5, (-12, 6)), (1.05, -8, (16, 8))]
)
def test_a_picture_that_was_turned_scaled_and_moved_agrees(find, rng, scale, degrees, shift):
    before = scene(rng)
    matrix = cv2.getRotationMatrix2D((160, 128), degrees, scale)
    matrix[:, 2] += shift
    after = cv2.warpAffine(before, matrix, (320, 256), borderMode=cv2.BORDER_REFLECT)
    found = count_matches(find(as_counts(after)), find(as_counts(before)))
    assert found.inliers > 60
    assert found.strength == log1p(found.inliers) + log1p(int(found.aligned.sum()))


def test_a_view_from_another_angle_agrees_and_another_scene_does_not(find, rng):
    before, other = scene(rng), scene(rng)
    corners = np.array([[0, 0], [320, 0], [320, 256], [0, 256]], np.float32)
    seen = corners + np.array([[6, 10], [-14, 4], [-8, -12], [10, -4]], np.float32)
    after = cv2.warpPerspective(
        before, cv2.getPerspectiveTransform(corners, seen), (320, 256), borderMode=cv2.BORDER_REFLECT
    )
    query = find(as_counts(after))
    right, wrong = count_all_matches(query, [find(as_counts(before)), find(as_counts(other))])
    assert right.inliers > 3 * wrong.inliers
    assert right.aligned.sum() > 3 * wrong.aligned.sum()


def test_the_surplus_is_over_what_wrong_pictures_reach(rng):
    query, wrong = made_up(rng, 120), [made_up(rng, 120) for _ in range(3)]
    right, other = seen_again(rng, query, 0.05), made_up(rng, 120)
    surplus = measure_surplus(query, [right, other], wrong)
    usual = np.mean([count_matches(query, each).strength for each in wrong])
    assert surplus[0] == pytest.approx(count_matches(query, right).strength - usual)
    assert surplus[0] > 3 > surplus[1] >= 0
    assert measure_surplus(query, [other, right], [])[0] == 0
