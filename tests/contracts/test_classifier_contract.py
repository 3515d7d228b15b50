"""What holds for the place classifier whatever extensions are in use."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import get_args

import numpy as np
import pytest
from sklearn import linear_model

from tmapr.device.classifier import DeviceClassifier
from tmapr.exceptions import InputError, StateError
from tmapr.places.attenuation import Attenuation
from tmapr.places.classifier import Classifier, Extension, Places, merge
from tmapr.places.mixture import Mixture, Mixtures
from tmapr.places.projection import Projection, fit_subspace
from tmapr.places.unscented import Unscented

WIDTH, SPACING, PLACES = 24, 2.0, 9
ALL: tuple[Extension, ...] = get_args(Extension)
SUBSETS = [subset for size in range(4) for subset in combinations(ALL, size)]
every_subset = pytest.mark.parametrize("use", SUBSETS, ids=lambda use: "+".join(use) or "plain")
# On a device with all of them: that each other subset gives what it gives on the CPU is found in tests/device.
KINDS = [*((Classifier, use) for use in SUBSETS), (DeviceClassifier, ALL)]
every_kind = pytest.mark.parametrize(
    ("kind", "use"), KINDS, ids=[f"{kind.__name__}-{'+'.join(use) or 'plain'}" for kind, use in KINDS]
)

_WAVES = np.random.default_rng(7)
FREQUENCIES, PHASES = 0.1 * _WAVES.normal(size=(2, WIDTH)), _WAVES.uniform(0, 2 * np.pi, size=WIDTH)


def drive(rng, count, start=(0.0, 0.0), heading=(1.0, 0.0)):
    """Descriptors and positions along a straight road: the view changes smoothly, with noise."""
    positions = np.array(start) + SPACING * np.arange(count)[:, None] * np.array(heading)
    views = np.cos(positions @ FREQUENCIES + PHASES) + 0.3 * rng.normal(size=(count, WIDTH))
    return views / np.linalg.norm(views, axis=1, keepdims=True), positions


def chosen(use=ALL, **parts):
    small = {"ridge": 0.01, "projection": Projection(dimension=64), "mixture": Mixture(dimension=8)}
    return Places(cell=10.0, use=use, **(small | parts))


@pytest.fixture(params=[Classifier, DeviceClassifier], ids=["cpu", "device"])
def kind(request):
    return request.param


def fresh(kind, settings):
    """Fitted to one and the same reference traverse, and untaught."""
    return kind.fit(settings, *drive(np.random.default_rng(1), 40))


def teach(classifier, frames):
    return [classifier.learn(*frame) for frame in zip(*frames, strict=True)]


def mapped(kind, settings):
    """Taught the reference traverse: 40 frames, 9 places."""
    classifier = fresh(kind, settings)
    teach(classifier, drive(np.random.default_rng(1), 40))
    return classifier


def copied(classifier, settings):
    return type(classifier).from_arrays(settings, classifier.projection_arrays(), classifier.arrays())


def assert_same_bits(left, right):
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.dtype == right[name].dtype
        np.testing.assert_array_equal(array, right[name], err_msg=name)


def assert_same_answer(left, right):
    np.testing.assert_array_equal(left.scores, right.scores)
    np.testing.assert_array_equal(left.log_likelihoods, right.log_likelihoods)
    assert left.leverage == right.leverage


def relative(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def batch_weights(lessons, places, classes, ridge):
    """Ridge regression over the lessons' rows with their recorded weights, all at once."""
    rows = np.concatenate([lesson.rows for lesson in lessons])
    weights = np.concatenate([lesson.weights for lesson in lessons])
    targets = np.repeat(np.eye(classes)[places], [len(lesson.rows) for lesson in lessons], axis=0)
    model = linear_model.Ridge(alpha=ridge, fit_intercept=False, solver="cholesky")
    return model.fit(rows, targets, sample_weight=weights).coef_.T


@every_kind
def test_predicting_changes_nothing(kind, use, rng):
    classifier = mapped(kind, chosen(use))
    before = classifier.arrays(), classifier.projection_arrays()
    for descriptor in drive(rng, 20)[0]:
        classifier.predict(descriptor)
    assert_same_bits(classifier.arrays(), before[0])
    assert_same_bits(classifier.projection_arrays(), before[1])


@every_kind
def test_neither_verb_changes_its_input(kind, use, rng):
    classifier, (descriptors, positions) = mapped(kind, chosen(use)), drive(rng, 10)
    descriptor, position = descriptors[3].copy(), positions[3].copy()
    classifier.predict(descriptor)
    classifier.learn(descriptor, position)
    np.testing.assert_array_equal(descriptor, descriptors[3])
    np.testing.assert_array_equal(position, positions[3])


@every_kind
def test_learning_changes_the_answer_and_leaves_what_was_fitted(kind, use, rng):
    classifier, (descriptors, positions) = mapped(kind, chosen(use)), drive(rng, 10)
    before, fitted = classifier.predict(descriptors[3]), classifier.projection_arrays()
    classifier.learn(descriptors[3], positions[3])
    assert not np.array_equal(classifier.predict(descriptors[3]).scores, before.scores)
    assert_same_bits(classifier.projection_arrays(), fitted)


@every_kind
def test_an_untaught_classifier_knows_no_place_and_finds_all_unfamiliar(kind, use, rng):
    scores = fresh(kind, chosen(use)).predict(drive(rng, 1)[0][0])
    assert scores.best(3) == []
    assert scores.leverage == pytest.approx(1.0, rel=1e-12)


@every_kind
def test_there_is_one_score_and_one_likelihood_per_place(kind, use, rng):
    classifier = mapped(kind, chosen(use))
    answer = classifier.predict(drive(rng, 1)[0][0])
    assert len(answer.scores) == len(classifier.grid) == PLACES
    assert ("mixture" in use) == (answer.log_likelihoods is not None)
    assert answer.log_likelihoods is None or len(answer.log_likelihoods) == PLACES


@every_kind
def test_the_scores_are_the_mean_response_to_the_rows_that_would_be_learned(kind, use, rng):
    classifier, (descriptors, positions) = mapped(kind, chosen(use)), drive(rng, 10)
    rows = copied(classifier, chosen(use)).learn(descriptors[3], positions[3]).rows
    responses = rows @ classifier.ridge.weights
    expected = Unscented().mean_weights @ responses if "unscented" in use else responses[0]
    np.testing.assert_allclose(classifier.predict(descriptors[3]).scores, expected, rtol=1e-12, atol=1e-14)


@every_kind
def test_the_leverage_is_that_of_the_center(kind, use, rng):
    classifier, (descriptors, positions) = mapped(kind, chosen(use)), drive(rng, 10)
    rows = copied(classifier, chosen(use)).learn(descriptors[3], positions[3]).rows
    expected = classifier.ridge.leverage(rows[0])
    # A device's sums are in another order where it is asked for the leverage alone.
    wanted = expected if kind is Classifier else pytest.approx(expected, rel=1e-12)
    assert classifier.predict(descriptors[3]).leverage == wanted


def test_the_likelihoods_are_those_of_the_mixtures_in_the_references_principal_subspace(kind, rng):
    descriptors, positions = drive(np.random.default_rng(1), 40)
    classifier, reducer = mapped(kind, chosen()), fit_subspace(descriptors, 8)
    mixtures = Mixtures(Mixture(dimension=8), 8)
    for row, position in zip(reducer(descriptors), positions, strict=True):
        mixtures.learn(row, classifier.grid.find(position))
    query = drive(rng, 1)[0]
    found = classifier.predict(query[0]).log_likelihoods
    np.testing.assert_allclose(found, mixtures.log_likelihoods(reducer(query)[0]), rtol=1e-12)


@every_kind
def test_most_frames_of_another_traverse_are_given_their_place(kind, use, rng):
    classifier, (descriptors, positions) = mapped(kind, chosen(use)), drive(rng, 40)
    found = [classifier.predict(descriptor).best(1)[0] for descriptor in descriptors]
    truth = [classifier.grid.find(position) for position in positions]
    # One of nine would be right by chance.
    assert np.mean(np.equal(found, truth)) > 0.6


@every_kind
def test_leverage_is_a_share(kind, use, rng):
    classifier = mapped(kind, chosen(use))
    shares = [classifier.predict(descriptor).leverage for descriptor in drive(rng, 60)[0]]
    assert 0 <= min(shares) < max(shares) <= 1 + 1e-12


@every_kind
def test_what_was_learned_is_more_familiar_than_what_was_not(kind, use, rng):
    classifier = mapped(kind, chosen(use))
    known, unknown = drive(np.random.default_rng(1), 40)[0], rng.normal(size=(40, WIDTH))
    unknown /= np.linalg.norm(unknown, axis=1, keepdims=True)
    shares = [np.median([classifier.predict(row).leverage for row in rows]) for rows in (known, unknown)]
    assert shares[0] < shares[1]


@every_kind
def test_memory_does_not_grow_with_the_stream_but_for_the_names_of_the_lessons(kind, use, rng):
    classifier = fresh(kind, chosen(use))
    sizes = []
    for _ in range(2):
        for _ in range(5):
            teach(classifier, drive(rng, 40))
        sizes.append({name: array.nbytes for name, array in classifier.arrays().items()})
    names = [size.pop("ledger.names") for size in sizes]
    assert sizes[0] == sizes[1]
    assert names == [200 * 8, 400 * 8]


@every_kind
def test_the_same_stream_gives_the_same_state_to_the_last_bit(kind, use):
    first, second = (mapped(kind, chosen(use)).arrays() for _ in range(2))
    assert_same_bits(first, second)


RESTORED = [
    *(chosen(subset) for subset in SUBSETS),
    chosen(projection=Projection(kind="pca", dimension=16)),
    chosen(projection=Projection(kind="identity")),
    chosen(attenuation=Attenuation(mode="minimax")),
]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        *((Classifier, settings) for settings in RESTORED),
        (DeviceClassifier, chosen()),
        (DeviceClassifier, RESTORED[-1]),
    ],
    ids=lambda s: s.__name__ if isinstance(s, type) else f"{s.projection.kind}-{s.attenuation.mode}-{'+'.join(s.use)}",
)
def test_a_restored_classifier_continues_bit_for_bit(kind, settings, rng):
    classifier = mapped(kind, settings)
    restored = copied(classifier, settings)
    # Onwards past the end of the map, so that places are added to both.
    for descriptor, position in zip(*drive(rng, 60, start=(20.0, 0.0)), strict=True):
        assert_same_answer(restored.predict(descriptor), classifier.predict(descriptor))
        for each in (classifier, restored):
            each.learn(descriptor, position)
    assert_same_bits(restored.arrays(), classifier.arrays())
    assert_same_bits(restored.projection_arrays(), classifier.projection_arrays())


@every_kind
def test_a_saved_state_is_not_touched_by_later_lessons(kind, use, rng):
    classifier = mapped(kind, chosen(use))
    saved = classifier.arrays()
    copies = {name: array.copy() for name, array in saved.items()}
    teach(classifier, drive(rng, 5))
    assert_same_bits(saved, copies)


@every_kind
def test_a_new_cell_adds_one_place_and_leaves_the_others_numbers(kind, use, rng):
    classifier = mapped(kind, chosen(use))
    before = classifier.grid.cells
    descriptors, positions = drive(rng, 1, start=(500.0, 500.0))
    assert classifier.learn(descriptors[0], positions[0]).place == PLACES
    np.testing.assert_array_equal(classifier.grid.cells[:PLACES], before)
    assert len(classifier.predict(descriptors[0]).scores) == PLACES + 1


@every_kind
def test_a_place_learned_once_is_recognised_at_once(kind, use, rng):
    classifier, (descriptors, positions) = mapped(kind, chosen(use)), drive(rng, 1, start=(500.0, 500.0))
    lesson = classifier.learn(descriptors[0], positions[0])
    assert classifier.predict(descriptors[0]).best(1) == [lesson.place]


@every_kind
def test_unlearning_a_lesson_restores_covariance_and_weights(kind, use, rng):
    classifier, (descriptors, positions) = mapped(kind, chosen(use)), drive(rng, 60)
    before = classifier.ridge.covariance, classifier.ridge.weights.copy()
    lessons = teach(classifier, (descriptors, positions))
    for lesson in lessons:
        classifier.unlearn(lesson)
    # Places beyond the map's were added; unlearned, their columns are empty again.
    assert relative(classifier.ridge.covariance, before[0]) < 1e-9
    assert relative(classifier.ridge.weights[:, :PLACES], before[1]) < 1e-9
    np.testing.assert_allclose(classifier.ridge.weights[:, PLACES:], 0.0, atol=1e-9 * np.abs(before[1]).max())


@every_kind
def test_the_recursion_equals_batch_ridge_over_its_lessons(kind, use, rng):
    settings = chosen(use)
    classifier = fresh(kind, settings)
    lessons = [lesson for _ in range(5) for lesson in teach(classifier, drive(rng, 40))]
    lessons += teach(classifier, drive(rng, 40, start=(60.0, 0.0)))
    expected = batch_weights(lessons, [lesson.place for lesson in lessons], len(classifier.grid), settings.ridge)
    assert relative(classifier.ridge.weights, expected) <= 1e-8


@pytest.mark.parametrize("use", [subset for subset in SUBSETS if "attenuation" not in subset])
def test_a_lesson_weighs_the_same_with_and_without_sigma_points(kind, use, rng):
    lessons = teach(fresh(kind, chosen(use)), drive(rng, 5))
    np.testing.assert_allclose([lesson.weights.sum() for lesson in lessons], chosen().weight, rtol=1e-15)


@every_kind
def test_a_lesson_weighs_what_attenuation_and_the_sigma_points_leave_it(kind, use, rng):
    classifier = mapped(kind, chosen(use))
    weights = classifier.ridge.weights.copy()
    # The view of the first place with the label of the last.
    lesson = classifier.learn(drive(rng, 1)[0][0], np.array([78.0, 0.0]))
    residual = np.eye(PLACES)[PLACES - 1] - lesson.rows[0] @ weights
    belief = Attenuation().weight(residual) if "attenuation" in use else 1.0
    share = np.array([1.0, 0.35, 0.35]) if "unscented" in use else np.array([1.7])
    np.testing.assert_allclose(lesson.weights, belief * share, rtol=1e-12)


def test_without_U_a_lesson_can_weigh_what_the_paper_says(kind, rng):  # noqa: N802
    settings = Places(**{**chosen(()).model_dump(), "weight": 1.0})
    lessons = teach(fresh(kind, settings), drive(rng, 5))
    assert all(lesson.weights.tolist() == [1.0] for lesson in lessons)


@every_kind
def test_a_lesson_has_three_rows_with_sigma_points_and_one_without(kind, use, rng):
    lesson = teach(fresh(kind, chosen(use)), drive(rng, 1))[0]
    assert len(lesson.rows) == len(lesson.weights) == (3 if "unscented" in use else 1)


def test_the_sigma_points_part_once_places_were_seen_to_vary(kind, rng):
    first, last = (teach(fresh(kind, chosen()), drive(rng, count))[-1].rows for count in (1, 40))
    np.testing.assert_array_equal(first, np.stack([first[0]] * 3))
    assert min(np.linalg.norm(last[0] - last[1]), np.linalg.norm(last[0] - last[2])) > 0.01


def two_robots(settings, rng):
    """A mapped base, what two robots made of it on roads that partly overlap, and every lesson with its position."""
    base = mapped(Classifier, settings)
    again = fresh(Classifier, settings)
    frames = drive(np.random.default_rng(1), 40)
    taught = list(zip(teach(again, frames), frames[1], strict=True))
    robots = [copied(base, settings) for _ in range(2)]
    east, north = drive(rng, 50, start=(40.0, 0.0)), drive(rng, 50, start=(100.0, -20.0), heading=(0.0, 1.0))
    for robot, own in zip(robots, (east, north), strict=True):
        for road in (own, drive(rng, 10, start=(90.0, 0.0))):
            taught += zip(teach(robot, road), road[1], strict=True)
    return base, robots, taught


@every_subset
def test_merging_equals_batch_ridge_over_the_base_and_both_streams(use, rng):
    settings = chosen(use)
    base, robots, taught = two_robots(settings, rng)
    merged = merge(robots, base)
    places = [merged.grid.find(position) for _, position in taught]
    expected = batch_weights([lesson for lesson, _ in taught], places, len(merged.grid), settings.ridge)
    assert relative(merged.ridge.weights, expected) <= 1e-8


@every_subset
def test_merging_unites_places_by_their_cell(use, rng):
    base, robots, _ = two_robots(chosen(use), rng)
    merged = merge(robots, base)
    cells = [tuple(cell) for cell in merged.grid.cells.tolist()]
    seen = {tuple(cell) for robot in robots for cell in robot.grid.cells.tolist()}
    assert len(cells) == len(set(cells)) < sum(len(robot.grid) for robot in robots) - len(base.grid)
    assert set(cells) == seen
    np.testing.assert_array_equal(merged.grid.cells[: len(base.grid)], base.grid.cells)


@every_subset
def test_a_merged_classifier_knows_what_either_robot_saw(use, rng):
    base, robots, _ = two_robots(chosen(use), rng)
    merged = merge(robots, base)
    for start, heading in (((90.0, 0.0), (1.0, 0.0)), ((100.0, 20.0), (0.0, 1.0))):
        descriptors, positions = drive(rng, 20, start, heading)
        answers = [merged.predict(descriptor) for descriptor in descriptors]
        assert all(np.isfinite(answer.scores).all() for answer in answers)
        found = [answer.best(1)[0] for answer in answers]
        assert np.mean(np.equal(found, [merged.grid.find(position) for position in positions])) > 0.6


@every_subset
def test_a_merged_classifier_learns_on(use, rng):
    settings = chosen(use)
    base, robots, taught = two_robots(settings, rng)
    merged = merge(robots, base)
    road = drive(rng, 30, start=(130.0, 0.0))
    taught += zip(teach(merged, road), road[1], strict=True)
    places = [merged.grid.find(position) for _, position in taught]
    expected = batch_weights([lesson for lesson, _ in taught], places, len(merged.grid), settings.ridge)
    assert relative(merged.ridge.weights, expected) <= 1e-8


@every_subset
def test_merging_leaves_the_states_alone(use, rng):
    base, robots, _ = two_robots(chosen(use), rng)
    before = [each.arrays() for each in (base, *robots)]
    merge(robots, base)
    for each, arrays in zip((base, *robots), before, strict=True):
        assert_same_bits(each.arrays(), arrays)


def test_states_with_different_settings_are_not_merged():
    base, other = mapped(Classifier, chosen()), mapped(Classifier, chosen(ridge=0.02))
    with pytest.raises(InputError, match="different places settings"):
        merge([base, other], base)


def test_states_from_different_maps_are_not_merged(rng):
    base, other = mapped(Classifier, chosen()), Classifier.fit(chosen(), *drive(rng, 40))
    with pytest.raises(InputError, match="different maps"):
        merge([base, other], base)


def test_a_state_that_does_not_start_with_the_bases_places_is_not_merged():
    base, other = mapped(Classifier, chosen()), fresh(Classifier, chosen())
    teach(other, [part[::-1] for part in drive(np.random.default_rng(1), 40)])
    with pytest.raises(StateError, match="grown from this base"):
        merge([base, other], base)


def test_minimax_states_are_not_merged():
    base = mapped(Classifier, chosen(attenuation=Attenuation(mode="minimax")))
    with pytest.raises(InputError, match="merging needs a ridge solution"):
        merge([base], base)


def test_minimax_lessons_are_not_unlearned(kind, rng):
    classifier = mapped(kind, chosen(attenuation=Attenuation(mode="minimax")))
    lesson = teach(classifier, drive(rng, 1))[0]
    with pytest.raises(InputError, match="unlearning needs a ridge solution"):
        classifier.unlearn(lesson)


def test_a_minimax_setting_that_is_not_in_use_does_not_hinder_unlearning(kind, rng):
    classifier = mapped(kind, chosen(("unscented",), attenuation=Attenuation(mode="minimax")))
    before = classifier.ridge.weights.copy()
    classifier.unlearn(teach(classifier, drive(rng, 1))[0])
    assert relative(classifier.ridge.weights, before) < 1e-9


def test_unlearning_a_lesson_twice_is_refused(kind, rng):
    classifier, (descriptors, positions) = mapped(kind, chosen()), drive(rng, 1, start=(500.0, 500.0))
    lesson = classifier.learn(descriptors[0], positions[0])
    classifier.unlearn(lesson)
    before = classifier.arrays()
    with pytest.raises(InputError, match="unlearned already; each is unlearned once"):
        classifier.unlearn(lesson)
    assert_same_bits(classifier.arrays(), before)


@pytest.mark.parametrize(
    "elsewhere",
    [(chosen(), (500.0, 500.0)), (chosen(projection=Projection(dimension=32)), (0.0, 0.0))],
    ids=["another place", "other features"],
)
def test_a_lesson_learned_elsewhere_is_not_unlearned(kind, elsewhere, rng):
    settings, start = elsewhere
    lesson = teach(mapped(kind, settings), drive(rng, 1, start))[0]
    with pytest.raises(InputError, match="was not learned here"):
        mapped(kind, chosen()).unlearn(lesson)


def test_a_lesson_is_unlearned_only_where_it_was_learned_although_it_would_fit(kind, rng):
    """Two robots from one state: features, places and all are alike, and what was learned is not."""
    base = mapped(kind, chosen())
    robots, frames = [copied(base, chosen()) for _ in range(2)], [drive(rng, 3) for _ in range(2)]
    lessons = [teach(robot, seen) for robot, seen in zip(robots, frames, strict=True)]
    for robot, others in zip(robots, reversed(lessons), strict=True):
        before = robot.arrays()
        for lesson in others:
            with pytest.raises(InputError, match="was not learned here"):
                robot.unlearn(lesson)
        assert_same_bits(robot.arrays(), before)


def test_a_lesson_of_a_state_is_unlearned_in_its_copy_and_no_more_in_the_copys_copy(kind, rng):
    classifier = mapped(kind, chosen())
    (lesson,) = teach(classifier, drive(rng, 1))
    saved = copied(classifier, chosen())
    saved.unlearn(lesson)
    with pytest.raises(InputError, match="unlearned already"):
        copied(saved, chosen()).unlearn(lesson)


def test_a_state_that_kept_no_names_unlearns_what_is_learned_since_and_nothing_before(kind, rng):
    """A state of version 2."""
    classifier = mapped(kind, chosen())
    (before,) = teach(classifier, drive(rng, 1))
    old = {name: array for name, array in classifier.arrays().items() if not name.startswith("ledger.")}
    resumed = kind.from_arrays(chosen(), classifier.projection_arrays(), old)
    with pytest.raises(InputError, match="before a state of version 2 was saved"):
        resumed.unlearn(before)
    resumed.unlearn(teach(resumed, drive(rng, 1))[0])


@every_subset
def test_after_a_merge_each_robots_lessons_are_unlearned_once(use, rng):
    base = mapped(Classifier, chosen(use))
    (shared,) = teach(base, drive(rng, 1))
    robots = [copied(base, chosen(use)) for _ in range(3)]
    # Each finds places of its own, which get other numbers in the merged state.
    lessons = [teach(robot, drive(rng, 20, start=(60.0, 30.0 * number))) for number, robot in enumerate(robots)]
    merged = merge(robots, base)
    for lesson in (shared, *(lesson for each in lessons for lesson in each)):
        merged.unlearn(lesson)
        with pytest.raises(InputError, match="unlearned already"):
            merged.unlearn(lesson)
    base.unlearn(shared)
    assert relative(merged.ridge.covariance, base.ridge.covariance) < 1e-8
    assert relative(merged.ridge.weights[:, :PLACES], base.ridge.weights) < 1e-8
    assert len(merged.grid) > PLACES
    np.testing.assert_allclose(merged.ridge.weights[:, PLACES:], 0.0, atol=1e-8)


def test_what_two_robots_learned_alike_is_unlearned_twice(rng):
    """They learned it twice: the merged state holds both."""
    base, frames = mapped(Classifier, chosen()), drive(rng, 1)
    robots = [copied(base, chosen()) for _ in range(2)]
    lessons = [teach(robot, frames)[0] for robot in robots]
    merged = merge(robots, base)
    for lesson in lessons:
        merged.unlearn(lesson)
    assert relative(merged.ridge.covariance, base.ridge.covariance) < 1e-8
    with pytest.raises(InputError, match="unlearned already"):
        merged.unlearn(lessons[0])


def test_a_state_that_unlearned_one_of_the_bases_lessons_is_not_merged(rng):
    base = mapped(Classifier, chosen())
    (shared,) = teach(base, drive(rng, 1))
    robot = copied(base, chosen())
    robot.unlearn(shared)
    with pytest.raises(StateError, match="lacks"):
        merge([robot], base)


@every_kind
def test_predicting_while_another_thread_learns_gives_finite_answers(kind, use, rng):
    classifier, road = mapped(kind, chosen(use)), drive(rng, 150, start=(40.0, 0.0))
    answers = []
    with ThreadPoolExecutor(1) as learner:
        lessons = learner.submit(teach, classifier, road)
        while not lessons.done():
            answers.append(classifier.predict(road[0][len(answers) % 150]))
        assert len(lessons.result()) == 150
    assert all(np.isfinite(answer.scores).all() and np.isfinite(answer.leverage) for answer in answers)
    assert all(answer.log_likelihoods is None or np.isfinite(answer.log_likelihoods).all() for answer in answers)


@every_kind
def test_a_neighbourhood_is_the_place_and_those_around_it(kind, use):
    assert mapped(kind, chosen(use)).neighbourhood([0, 4]) == [0, 1, 3, 4, 5]


def test_robots_that_found_different_numbers_of_places_are_merged(rng):
    base = mapped(Classifier, chosen())
    robots = [copied(base, chosen()) for _ in range(2)]
    teach(robots[0], drive(rng, 50, start=(40.0, 0.0)))
    assert len(merge(robots, base).grid) == len(robots[0].grid) > len(base.grid)


@every_kind
def test_a_refused_lesson_adds_no_place(kind, use, rng):
    classifier = mapped(kind, chosen(use))
    with pytest.raises(InputError, match="a lesson must be finite"):
        classifier.learn(np.full(WIDTH, np.nan), np.array([500.0, 500.0]))
    assert len(classifier.grid) == classifier.ridge.classes == PLACES
    answer = classifier.predict(drive(rng, 1)[0][0])
    assert answer.log_likelihoods is None or len(answer.log_likelihoods) == len(answer.scores)


def test_a_state_with_the_bases_places_that_never_learned_its_lessons_is_not_merged(rng):
    base, stranger = mapped(Classifier, chosen()), fresh(Classifier, chosen())
    robot = copied(base, chosen())
    for each in (robot, stranger):
        teach(each, drive(rng, 40))
    with pytest.raises((InputError, StateError)):
        merge([robot, stranger], base)


def test_nothing_cannot_be_merged(rng):
    with pytest.raises(InputError, match="no state to merge"):
        merge([], mapped(Classifier, chosen()))


@every_subset
def test_merging_robots_that_learned_nothing_gives_the_base(use, rng):
    base = mapped(Classifier, chosen(use))
    merged = merge([copied(base, chosen(use)) for _ in range(3)], base)
    descriptor = drive(rng, 1)[0][0]
    expected, found = base.predict(descriptor), merged.predict(descriptor)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9, atol=1e-12)
    if "mixture" in use:
        np.testing.assert_allclose(found.log_likelihoods, expected.log_likelihoods, rtol=1e-9)
