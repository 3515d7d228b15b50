import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from tmapr.places.mixture import Mixture, Mixtures, pool

DIM = 4
# No pull towards the shared variance, no floor and a long memory: plain running moments.
PLAIN = Mixture(components=1, prior_count=1e-12, floor=1e-12, max_count=1e9)


def learned(settings, rows, places=None, dim=DIM):
    mixtures = Mixtures(settings, dim)
    for index, row in enumerate(rows):
        mixtures.learn(row, int(places[index]) if places is not None else 0)
    return mixtures


def stated(settings, counts, means, variances, shared):
    """Mixtures in a state given by hand."""
    state = {"counts": counts, "means": means, "variances": variances, "shared": shared, "shared_count": 50.0}
    return Mixtures.from_arrays(settings, {name: np.asarray(value, dtype=float) for name, value in state.items()})


def gaussian(row, mean, variance):
    """Log-density per dimension of one diagonal Gaussian."""
    return multivariate_normal.logpdf(row, mean, np.diag(variance)) / len(row)


def test_the_likelihood_of_one_gaussian_is_that_of_the_samples_moments(rng):
    rows, query = rng.normal(size=(300, DIM)), rng.normal(size=DIM)
    expected = gaussian(query, rows.mean(axis=0), rows.var(axis=0))
    np.testing.assert_allclose(learned(PLAIN, rows).log_likelihoods(query), [expected], rtol=1e-11)


def test_a_gaussian_never_born_has_no_part_in_the_likelihood(rng):
    counts, variance, query = [[5.0, 0.0]], np.full(DIM, 0.3), rng.normal(size=DIM)
    means = np.stack([np.ones(DIM), query])[None]
    mixtures = stated(Mixture(components=2, prior_count=1e-12), counts, means, np.stack([[variance] * 2]), np.ones(DIM))
    assert mixtures.log_likelihoods(query)[0] == pytest.approx(gaussian(query, np.ones(DIM), variance), rel=1e-12)


def test_a_variance_is_drawn_towards_the_shared_one_by_the_prior_count(rng):
    variance, shared, query = rng.uniform(0.1, 2.0, size=DIM), rng.uniform(0.1, 2.0, size=DIM), rng.normal(size=DIM)
    mixtures = stated(Mixture(components=1, prior_count=6.0), [[3.0]], np.zeros((1, 1, DIM)), [[variance]], shared)
    # Of three samples one went into the mean, so two speak for the variance beside the prior's six.
    expected = gaussian(query, np.zeros(DIM), 0.25 * variance + 0.75 * shared)
    assert mixtures.log_likelihoods(query)[0] == pytest.approx(expected, rel=1e-12)


def test_two_separate_modes_are_found_by_two_gaussians(rng):
    modes = np.array([[1.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 1.0, 0.0]])
    rows = modes[rng.integers(2, size=400)] + 0.05 * rng.normal(size=(400, DIM))
    found = learned(Mixture(components=2, max_count=1e9), rows).arrays()["means"][0]
    batch = GaussianMixture(2, covariance_type="diag", means_init=modes, random_state=0).fit(rows).means_
    # Twenty deviations apart every responsibility is 0 or 1, so both are the modes' plain means.
    np.testing.assert_allclose(found[np.argsort(-found[:, 0])], batch, rtol=0, atol=1e-9)


def test_a_sample_near_a_gaussian_does_not_start_another(rng):
    rows = np.zeros((2, DIM)), np.full((1, DIM), 0.1)
    counts = learned(Mixture(components=3, novelty=3.0), np.concatenate(rows)).arrays()["counts"]
    np.testing.assert_array_equal(counts, [[3.0, 0.0, 0.0]])


def test_a_sample_far_from_all_gaussians_starts_one(rng):
    rows = np.array([np.zeros(DIM), np.full(DIM, 10.0), np.full(DIM, -10.0)])
    found = learned(Mixture(components=3, novelty=3.0), rows).arrays()
    np.testing.assert_array_equal(found["counts"], [[1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(found["means"][0], rows)


def test_a_place_never_has_more_gaussians_than_the_setting_allows(rng):
    rows = 100 * rng.normal(size=(50, DIM))
    assert learned(Mixture(components=2), rows).arrays()["counts"].shape == (1, 2)


def test_a_variance_never_falls_below_its_floor():
    row = np.full(DIM, 0.5)
    mixtures = learned(Mixture(floor=0.02), [row] * 500)
    # Without any spread only the floor is left: 0.02 of the mean variance 1 / DIM.
    expected = gaussian(row, row, np.full(DIM, 0.02 / DIM))
    assert mixtures.log_likelihoods(row)[0] == pytest.approx(expected, rel=1e-12)


def test_counts_are_bounded(rng):
    rows = 0.1 * rng.normal(size=(300, DIM))
    counts = learned(Mixture(components=1, max_count=25.0), rows).arrays()["counts"]
    np.testing.assert_array_equal(counts, 25.0)


def test_the_shared_variance_is_the_scatter_around_the_places_means(rng):
    places, rows = np.repeat(np.arange(20), 5), 10 * rng.normal(size=(100, DIM))
    shared = learned(Mixture(components=1, prior_count=8.0, max_count=1e9), rows, places).arrays()["shared"]
    scatter = sum(5 * rows[places == place].var(axis=0) for place in range(20))
    # Every place spends one sample on its mean; the prior brings eight of the reference's mean variance.
    np.testing.assert_allclose(shared, (scatter + 8 / DIM) / (100 - 20 + 8), rtol=1e-12)


def test_a_place_seen_once_takes_the_shared_variance(rng):
    rows = 0.3 * rng.normal(size=(200, DIM)) * [1.0, 0.5, 2.0, 0.1]
    mixtures = learned(Mixture(prior_count=8.0), [*rows, np.ones(DIM)], [0] * 200 + [1])
    query = 1.2 * np.ones(DIM)
    expected = gaussian(query, np.ones(DIM), mixtures.arrays()["shared"])
    assert mixtures.log_likelihoods(query)[1] == pytest.approx(expected, rel=1e-12)


ROWS = hnp.arrays(float, DIM, elements=st.floats(-1e3, 1e3))


@given(rows=st.lists(ROWS, min_size=1, max_size=30), query=ROWS)
def test_no_sequence_of_samples_spoils_a_likelihood(rows, query):
    mixtures = learned(Mixture(max_count=5.0), rows, np.arange(len(rows)) % 3)
    assert np.isfinite(mixtures.log_likelihoods(query)).all()


def test_asking_changes_nothing(rng):
    mixtures = learned(Mixture(), rng.normal(size=(60, DIM)), rng.permutation(60) % 5)
    before = {name: array.copy() for name, array in mixtures.arrays().items()}
    mixtures.log_likelihoods(rng.normal(size=DIM))
    for name, array in mixtures.arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_restored_mixtures_continue_bit_for_bit(rng):
    rows, places = rng.normal(size=(90, DIM)), np.arange(90) % 7
    mixtures = learned(Mixture(), rows[:40], places)
    restored = Mixtures.from_arrays(Mixture(), mixtures.arrays())
    for each in (mixtures, restored):
        for row, place in zip(rows[40:], places[40:], strict=True):
            each.learn(row, int(place))
    for name, array in mixtures.arrays().items():
        np.testing.assert_array_equal(restored.arrays()[name], array, err_msg=name)


def test_pooled_gaussians_have_the_moments_of_all_samples(rng):
    rows = rng.normal(size=(100, DIM))
    parts = [learned(PLAIN, rows[:30]), learned(PLAIN, rows[30:])]
    pooled = pool(parts, [np.arange(1)] * 2, [1.0] * 2, 1).arrays()
    np.testing.assert_allclose(pooled["means"][0, 0], rows.mean(axis=0), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(pooled["variances"][0, 0], rows.var(axis=0), rtol=1e-12)


def test_a_place_that_only_one_part_knows_is_pooled_unchanged(rng):
    rows = rng.normal(size=(2, 30, DIM))
    first, second = (learned(PLAIN, part) for part in rows)
    pooled = pool([first, second], [np.array([0]), np.array([1])], [1.0] * 2, 2).arrays()["means"][:, 0]
    np.testing.assert_allclose(pooled, rows.mean(axis=1), rtol=1e-12, atol=1e-13)


def test_a_place_never_learned_is_no_likelier_than_the_least_likely():
    mixtures = Mixtures(Mixture(), 4)
    mixtures.learn(np.zeros(4), 1)
    unknown, known = mixtures.log_likelihoods(np.zeros(4))
    assert np.isfinite(known)
    assert unknown == known


def test_a_likelihood_is_scikit_learns_of_the_same_gaussians(rng):
    counts, means = rng.uniform(1, 9, size=(2, 3)), rng.normal(size=(2, 3, DIM))
    variances, queries = rng.uniform(0.1, 2.0, size=(2, 3, DIM)), rng.normal(size=(20, DIM))
    mixtures = stated(Mixture(components=3, prior_count=1e-12, floor=1e-12), counts, means, variances, np.ones(DIM))
    found = np.array([mixtures.log_likelihoods(query) for query in queries])
    for place in range(2):
        again = GaussianMixture(3, covariance_type="diag")
        again.weights_, again.means_ = counts[place] / counts[place].sum(), means[place]
        again.covariances_, again.precisions_cholesky_ = variances[place], variances[place] ** -0.5
        np.testing.assert_allclose(DIM * found[:, place], again.score_samples(queries), rtol=1e-10)


def test_the_posterior_of_places_is_their_share_of_the_densities(rng):
    mixtures = learned(Mixture(components=2), rng.normal(size=(60, DIM)), rng.integers(4, size=60))
    likelihoods = mixtures.log_likelihoods(rng.normal(size=DIM))
    found = mixtures.find_posterior(likelihoods)
    np.testing.assert_allclose(found, np.exp(DIM * likelihoods - logsumexp(DIM * likelihoods)), rtol=1e-12)
    assert found.sum() == pytest.approx(1.0)


def test_what_is_learned_after_an_answer_is_in_the_next_one(rng):
    rows = rng.normal(size=(40, DIM))
    asked, silent = Mixtures(Mixture(components=2), DIM), Mixtures(Mixture(components=2), DIM)
    for place, row in enumerate(rows):
        asked.log_likelihoods(rows[0])
        for mixtures in (asked, silent):
            mixtures.learn(row, place % 7)
        if place == 20:
            asked.log_likelihoods(rows[0])
            for mixtures in (asked, silent):
                mixtures.grow(9)
    np.testing.assert_array_equal(asked.log_likelihoods(rows[1]), silent.log_likelihoods(rows[1]))
