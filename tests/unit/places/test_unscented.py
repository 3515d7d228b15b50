import numpy as np
import pytest

from tmapr.places.unscented import Unscented, Variation, pool

U = Unscented()
DIM, PLACES = 12, 20


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def samples(rng, count=4000, places=PLACES):
    """Descriptors that vary within their place mainly along one direction, and the place of each."""
    main = unit(rng.normal(size=DIM))
    place = rng.integers(places, size=count)
    around = 0.3 * rng.normal(size=(count, 1)) * main + 0.1 * rng.normal(size=(count, DIM))
    return rng.normal(size=(places, DIM))[place] + around, place


def learned(descriptors, places):
    variation = Variation(DIM)
    for descriptor, place in zip(descriptors, places, strict=True):
        variation.learn(descriptor, int(place))
    return variation


def main_component(descriptors, places):
    """Main direction of the pooled within-place covariance, and its standard deviation."""
    within = [descriptors[places == place] - descriptors[places == place].mean(axis=0) for place in np.unique(places)]
    scatter = sum(deviations.T @ deviations for deviations in within)
    values, vectors = np.linalg.eigh(scatter / (len(descriptors) - len(within)))
    return vectors[:, -1], np.sqrt(values[-1])


def test_the_points_have_the_variance_they_stand_for():
    offsets = U.spread * np.array([0.0, 1.0, -1.0])
    assert U.mean_weights @ offsets**2 == pytest.approx(1.0, rel=1e-15)


def test_off_the_sphere_the_points_are_symmetric(rng):
    variation, descriptor = learned(*samples(rng, 50)), unit(rng.normal(size=DIM))
    center, plus, minus = Unscented(on_sphere=False).points(descriptor, variation.step)
    np.testing.assert_allclose((plus + minus) / 2, center, rtol=1e-12)
    np.testing.assert_allclose(plus - center, U.spread * variation.step, rtol=1e-12, atol=1e-15)


def test_the_points_lie_on_either_side_of_the_descriptor(rng):
    variation, descriptor = learned(*samples(rng, 50)), unit(rng.normal(size=DIM))
    _, plus, minus = U.points(descriptor, variation.step)
    step = U.spread * variation.step
    np.testing.assert_allclose(plus, unit(descriptor + step), rtol=1e-14)
    np.testing.assert_allclose(minus, unit(descriptor - step), rtol=1e-14)


def test_before_any_variation_all_points_coincide(rng):
    descriptor = unit(rng.normal(size=DIM))
    points = U.points(descriptor, Variation(DIM).step)
    np.testing.assert_array_equal(points, np.stack([points[0]] * 3))


def test_a_point_that_falls_on_the_origin_stays_at_the_descriptor():
    arrays = {
        "means": np.zeros((0, 2)),
        "counts": np.zeros(0),
        "direction": np.array([1.0, 0.0]),
        "samples": np.array(1),
    }
    points = Unscented(spread=1.0).points(np.array([1.0, 0.0]), Variation.from_arrays(arrays).step)
    np.testing.assert_array_equal(points, [[1.0, 0.0]] * 3)


def test_the_step_points_along_the_main_component_within_places(rng):
    descriptors, places = samples(rng)
    direction, _ = main_component(descriptors, places)
    step = learned(descriptors, places).step
    assert abs(unit(step) @ direction) > 0.99


def test_the_step_is_one_standard_deviation_long(rng):
    descriptors, places = samples(rng)
    _, deviation = main_component(descriptors, places)
    assert np.linalg.norm(learned(descriptors, places).step) == pytest.approx(deviation, rel=0.1)


def test_two_samples_of_one_place_give_their_exact_deviation(rng):
    pair = rng.normal(size=(2, DIM))
    step = learned(pair, [0, 0]).step
    # The standard deviation of two numbers is their distance over √2.
    np.testing.assert_allclose(step, (pair[1] - pair[0]) / np.sqrt(2), rtol=1e-13)


def test_differences_between_places_are_not_variation(rng):
    descriptors, places = samples(rng, 500)
    shift = 1000.0 * rng.normal(size=(PLACES, DIM))[places]
    near, far = learned(descriptors, places), learned(descriptors + shift, places)
    # A shift of 1000 costs three of sixteen digits of every deviation.
    np.testing.assert_allclose(far.step, near.step, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("moment", [0, 1, 7, 60])
def test_a_restored_variation_continues_bit_for_bit(moment, rng):
    descriptors, places = samples(rng, 100)
    variation = learned(descriptors[:moment], places[:moment])
    restored = Variation.from_arrays(variation.arrays())
    for each in (variation, restored):
        for descriptor, place in zip(descriptors[moment:], places[moment:], strict=True):
            each.learn(descriptor, int(place))
    for name, array in variation.arrays().items():
        np.testing.assert_array_equal(restored.arrays()[name], array, err_msg=name)


def test_pooled_variations_have_the_means_of_all_samples(rng):
    descriptors, places = samples(rng, 200, places=4)
    half = [learned(descriptors[part], places[part]) for part in (slice(100), slice(100, 200))]
    pooled = pool(half, [np.arange(4)] * 2, [1.0] * 2, 4)
    expected = [descriptors[places == place].mean(axis=0) for place in range(4)]
    np.testing.assert_allclose(pooled.arrays()["means"][:4], expected, rtol=1e-12, atol=1e-14)


def test_pooled_variations_point_along_the_common_direction(rng):
    descriptors, places = samples(rng)
    half = [learned(descriptors[part], places[part]) for part in (slice(2000), slice(2000, 4000))]
    direction, deviation = main_component(descriptors, places)
    step = pool(half, [np.arange(PLACES)] * 2, [1.0] * 2, PLACES).step
    assert abs(unit(step) @ direction) > 0.99
    assert np.linalg.norm(step) == pytest.approx(deviation, rel=0.1)


def test_opposite_directions_do_not_cancel_when_pooled(rng):
    first, second = rng.normal(size=(2, DIM))
    there, back = learned([first, second], [0, 0]), learned([second, first], [0, 0])
    pooled = pool([there, back], [np.arange(1)] * 2, [1.0] * 2, 1)
    np.testing.assert_allclose(pooled.step, there.step, rtol=1e-13)
