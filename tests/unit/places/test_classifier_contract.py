"""What holds for the place classifier whatever extensions are in use."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ridges import relative
from roads import (
    MINIMAX,
    PLACES,
    SUBSETS,
    WIDTH,
    assert_same_bits,
    batch_weights,
    chosen,
    copied,
    drive,
    every_subset,
    fresh,
    mapped,
    teach,
)
from tmapr.exceptions import InputError
from tmapr.places.attenuation import Attenuation
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture, Mixtures
from tmapr.places.projection import Projection, fit_subspace
from tmapr.places.unscented import Unscented


def assert_same_answer(left, right):
    np.testing.assert_array_equal(left.scores, right.scores)
    np.testing.assert_array_equal(left.log_likelihoods, right.log_likelihoods)
    assert left.leverage == right.leverage


@every_subset
def test_predicting_changes_nothing(use, rng):
    classifier, views = mapped(chosen(use)), drive(rng, 20)[0]
    before = classifier.arrays(), classifier.projection_arrays(), views.copy()
    for view in views:
        classifier.predict(view)
    assert_same_bits(classifier.arrays(), before[0])
    assert_same_bits(classifier.projection_arrays(), before[1])
    np.testing.assert_array_equal(views, before[2])


@every_subset
def test_learning_changes_the_answer_and_leaves_its_input_and_what_was_fitted(use, rng):
    classifier, frames = mapped(chosen(use)), drive(rng, 1)
    given, fitted = [part[0].copy() for part in frames], classifier.projection_arrays()
    before = classifier.predict(given[0])
    classifier.learn(*given)
    assert not np.array_equal(classifier.predict(given[0]).scores, before.scores)
    assert_same_bits(classifier.projection_arrays(), fitted)
    for part, whole in zip(given, frames, strict=True):
        np.testing.assert_array_equal(part, whole[0])


@every_subset
def test_an_untaught_classifier_knows_no_place_and_finds_all_unfamiliar(use, rng):
    scores = fresh(chosen(use)).predict(drive(rng, 1)[0][0])
    assert scores.best(3) == []
    assert scores.leverage == pytest.approx(1.0, rel=1e-12)


@every_subset
def test_the_scores_are_the_mean_response_to_the_rows_that_would_be_learned(use, rng):
    classifier, (descriptors, positions) = mapped(chosen(use)), drive(rng, 10)
    rows = copied(classifier, chosen(use)).learn(descriptors[3], positions[3]).rows
    responses, answer = rows @ classifier.ridge.weights, classifier.predict(descriptors[3])
    expected = Unscented().mean_weights @ responses if "unscented" in use else responses[0]
    np.testing.assert_allclose(answer.scores, expected, rtol=1e-12, atol=1e-14)
    assert answer.leverage == classifier.ridge.leverage(rows[0]), "that of the centre"
    assert len(answer.scores) == len(classifier.grid) == PLACES
    assert ("mixture" in use) == (answer.log_likelihoods is not None)


def test_the_likelihoods_are_those_of_the_mixtures_in_the_references_principal_subspace(rng):
    descriptors, positions = drive(np.random.default_rng(1), 40)
    classifier, reducer = mapped(chosen()), fit_subspace(descriptors, 8)
    mixtures = Mixtures(Mixture(dimension=8), 8)
    for row, position in zip(reducer(descriptors), positions, strict=True):
        mixtures.learn(row, classifier.grid.find(position))
    query = drive(rng, 1)[0]
    found = classifier.predict(query[0]).log_likelihoods
    np.testing.assert_allclose(found, mixtures.log_likelihoods(reducer(query)[0]), rtol=1e-12)


@every_subset
def test_most_frames_of_another_traverse_are_given_their_place(use, rng):
    classifier, (descriptors, positions) = mapped(chosen(use)), drive(rng, 40)
    found = [classifier.predict(descriptor).best(1)[0] for descriptor in descriptors]
    truth = [classifier.grid.find(position) for position in positions]
    # One of nine would be right by chance.
    assert np.mean(np.equal(found, truth)) > 0.6


@every_subset
def test_leverage_is_a_share_and_what_was_learned_has_less_than_what_was_not(use, rng):
    classifier = mapped(chosen(use))
    known, unknown = drive(np.random.default_rng(1), 40)[0], rng.normal(size=(40, WIDTH))
    unknown /= np.linalg.norm(unknown, axis=1, keepdims=True)
    shares = [[classifier.predict(row).leverage for row in rows] for rows in (known, unknown)]
    assert 0 <= np.min(shares) < np.max(shares) <= 1 + 1e-12
    assert np.median(shares[0]) < np.median(shares[1])


@every_subset
def test_memory_does_not_grow_with_the_stream_but_for_the_names_of_the_lessons(use, rng):
    classifier, sizes = fresh(chosen(use)), []
    for _ in range(2):
        teach(classifier, drive(rng, 40))
        sizes.append({name: array.nbytes for name, array in classifier.arrays().items()})
    names = [size.pop("ledger.names") for size in sizes]
    assert sizes[0] == sizes[1]
    assert names == [40 * 8, 80 * 8]


RESTORED = [
    *(chosen(subset) for subset in SUBSETS),
    chosen(projection=Projection(kind="pca", dimension=16)),
    chosen(projection=Projection(kind="identity")),
    chosen(attenuation=MINIMAX),
]


@pytest.mark.parametrize(
    "settings", RESTORED, ids=lambda s: f"{s.projection.kind}-{s.attenuation.mode}-{'+'.join(s.use)}"
)
def test_a_restored_classifier_continues_bit_for_bit(settings, rng):
    classifier = mapped(settings)
    restored = copied(classifier, settings)
    # Onwards past the end of the map, so that places are added to both.
    for descriptor, position in zip(*drive(rng, 20, start=(60.0, 0.0)), strict=True):
        assert_same_answer(restored.predict(descriptor), classifier.predict(descriptor))
        for each in (classifier, restored):
            each.learn(descriptor, position)
    assert len(classifier.grid) > PLACES
    assert_same_bits(restored.arrays(), classifier.arrays())
    assert_same_bits(restored.projection_arrays(), classifier.projection_arrays())


@every_subset
def test_a_saved_state_is_not_touched_by_later_lessons(use, rng):
    classifier = mapped(chosen(use))
    saved = classifier.arrays()
    copies = {name: array.copy() for name, array in saved.items()}
    teach(classifier, drive(rng, 5))
    assert_same_bits(saved, copies)


@every_subset
def test_a_new_cell_adds_one_place_that_is_recognised_at_once_and_leaves_the_others_numbers(use, rng):
    classifier = mapped(chosen(use))
    before = classifier.grid.cells
    descriptors, positions = drive(rng, 1, start=(500.0, 500.0))
    assert classifier.learn(descriptors[0], positions[0]).place == PLACES
    np.testing.assert_array_equal(classifier.grid.cells[:PLACES], before)
    answer = classifier.predict(descriptors[0])
    assert (len(answer.scores), answer.best(1)) == (PLACES + 1, [PLACES])


@every_subset
def test_the_recursion_equals_batch_ridge_over_its_lessons(use, rng):
    settings = chosen(use)
    classifier = fresh(settings)
    lessons = [lesson for start in (0.0, 0.0, 60.0) for lesson in teach(classifier, drive(rng, 40, (start, 0.0)))]
    expected = batch_weights(lessons, [lesson.place for lesson in lessons], len(classifier.grid), settings.ridge)
    assert relative(classifier.ridge.weights, expected) <= 1e-8


@every_subset
def test_a_lesson_weighs_what_attenuation_and_the_sigma_points_leave_it(use, rng):
    classifier = mapped(chosen(use))
    weights = classifier.ridge.weights.copy()
    # The view of the first place with the label of the last.
    lesson = classifier.learn(drive(rng, 1)[0][0], np.array([78.0, 0.0]))
    residual = np.eye(PLACES)[PLACES - 1] - lesson.rows[0] @ weights
    belief = Attenuation().weight(residual) if "attenuation" in use else 1.0
    share = np.array([1.0, 0.35, 0.35]) if "unscented" in use else np.array([1.7])
    assert len(lesson.rows) == len(lesson.weights) == len(share)
    np.testing.assert_allclose(lesson.weights, belief * share, rtol=1e-12)


def test_without_U_a_lesson_can_weigh_what_the_paper_says(rng):  # noqa: N802
    settings = Places(**{**chosen(()).model_dump(), "weight": 1.0})
    assert all(lesson.weights.tolist() == [1.0] for lesson in teach(fresh(settings), drive(rng, 5)))


def test_the_sigma_points_part_once_places_were_seen_to_vary(rng):
    first, last = (teach(fresh(chosen()), drive(rng, count))[-1].rows for count in (1, 40))
    np.testing.assert_array_equal(first, np.stack([first[0]] * 3))
    assert min(np.linalg.norm(last[0] - last[1]), np.linalg.norm(last[0] - last[2])) > 0.01


@every_subset
def test_predicting_while_another_thread_learns_gives_finite_answers(use, rng):
    classifier, road, answers = mapped(chosen(use)), drive(rng, 40, start=(60.0, 0.0)), []
    with ThreadPoolExecutor(1) as learner:
        lessons = learner.submit(teach, classifier, road)
        while not lessons.done():
            answers.append(classifier.predict(road[0][len(answers) % 40]))
        assert len(lessons.result()) == 40
    assert all(np.isfinite(answer.scores).all() and np.isfinite(answer.leverage) for answer in answers)
    assert all(answer.log_likelihoods is None or np.isfinite(answer.log_likelihoods).all() for answer in answers)


def test_a_neighbourhood_is_the_place_and_those_around_it():
    assert mapped(chosen()).neighbourhood([0, 4]) == [0, 1, 3, 4, 5]


@every_subset
def test_a_refused_lesson_adds_no_place(use, rng):
    classifier = mapped(chosen(use))
    with pytest.raises(InputError, match="a lesson must be finite"):
        classifier.learn(np.full(WIDTH, np.nan), np.array([500.0, 500.0]))
    assert len(classifier.grid) == classifier.ridge.classes == PLACES
    answer = classifier.predict(drive(rng, 1)[0][0])
    assert answer.log_likelihoods is None or len(answer.log_likelihoods) == len(answer.scores)
