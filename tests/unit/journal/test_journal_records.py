"""What is kept of a lesson gives its rows back, bit for bit, and takes little room."""

from dataclasses import replace

import numpy as np
import pytest

from tmapr.exceptions import InputError
from tmapr.journal.records import Kind, LessonRecord, pack, unpack
from tmapr.places.classifier import Classifier, Places
from tmapr.places.lessons import Kept
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection

WIDTH = 24


def unit(rng, count, width=WIDTH):
    rows = rng.normal(size=(count, width))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def shorten(vectors):
    return vectors.astype(np.float32).astype(float)


def make(rng, width=WIDTH, features=64, **settings):
    chosen = Places(projection=Projection(dimension=features), mixture=Mixture(dimension=8), **settings)
    return Classifier.fit(chosen, unit(rng, 40, width), rng.uniform(0, 100, size=(40, 2)))


def through_bytes(lesson, kind=Kind.OWN, width=WIDTH):
    return unpack(kind, pack(LessonRecord(kind, 7, 12, Kept.of(lesson))), width)


def assert_same(lesson, other):
    np.testing.assert_array_equal(lesson.rows, other.rows)
    np.testing.assert_array_equal(lesson.weights, other.weights)
    assert (lesson.place, lesson.cell, lesson.name, lesson.after) == (other.place, other.cell, other.name, other.after)


@pytest.mark.parametrize("use", [("unscented", "mixture", "attenuation"), ("mixture",), ()])
@pytest.mark.parametrize("digits", [shorten, np.array], ids=["float32", "float64"])
def test_rows_are_made_again_bit_for_bit_over_many_lessons(use, digits, rng):
    """Also while others are unlearned, which leaves U's direction as it is."""
    classifier, kept = make(rng, use=use), []
    for descriptor in digits(unit(rng, 150)):
        lesson = classifier.learn(descriptor, rng.uniform(0, 100, size=2))
        kept.append((lesson, through_bytes(lesson)))
        if rng.random() < 0.1:
            classifier.unlearn(kept.pop(int(rng.integers(len(kept))))[0])
    for lesson, record in kept:
        assert_same(classifier.rebuild(record.kept), lesson)


def test_what_is_unlearned_from_its_record_leaves_the_batch_solution(rng):
    classifier = make(rng)
    lessons = [classifier.learn(each, rng.uniform(0, 100, size=2)) for each in unit(rng, 200)]
    gone = set(rng.permutation(200)[:60].tolist())
    for number in gone:
        classifier.unlearn(classifier.rebuild(through_bytes(lessons[number]).kept))
    left = [lesson for number, lesson in enumerate(lessons) if number not in gone]
    X = np.concatenate([lesson.rows for lesson in left])
    w = np.concatenate([lesson.weights for lesson in left])
    Y = np.repeat(np.eye(len(classifier.grid))[[lesson.place for lesson in left]], 3, axis=0)
    A = 0.1 * np.eye(64) + X.T @ (w[:, None] * X)
    np.testing.assert_allclose(classifier.ridge.weights, np.linalg.solve(A, X.T @ (w[:, None] * Y)), atol=1e-9)


def test_a_lesson_of_another_map_is_not_made_again(rng):
    lesson = make(rng).learn(unit(rng, 1)[0], np.zeros(2))
    other = make(rng, features=32)
    with pytest.raises(InputError, match="cannot be made again"):
        other.rebuild(through_bytes(lesson).kept)


@pytest.mark.parametrize("change", [{"place": 3}, {"cell": (5, 5)}, {"name": 5}, {"after": b"00000000"}])
def test_a_record_that_was_changed_is_not_made_a_lesson(change, rng):
    classifier = make(rng)
    kept = through_bytes(classifier.learn(unit(rng, 1)[0], np.zeros(2))).kept
    with pytest.raises(InputError, match="cannot be made again"):
        classifier.rebuild(replace(kept, **change))


@pytest.mark.parametrize("size", [0, 5, 60, 71, 72, 100, 5000])
def test_bytes_of_another_length_are_no_record(size):
    with pytest.raises(ValueError, match="no lesson"):
        unpack(Kind.OWN, bytes(size), WIDTH)


def test_numbers_that_are_not_finite_are_no_lesson(rng):
    kept = Kept.of(make(rng).learn(unit(rng, 1)[0], np.zeros(2)))
    broken = replace(kept, weights=np.array([1.0, np.inf, 1.0]))
    with pytest.raises(ValueError, match="not finite"):
        unpack(Kind.OWN, pack(LessonRecord(Kind.OWN, 0, 0, broken)), WIDTH)
