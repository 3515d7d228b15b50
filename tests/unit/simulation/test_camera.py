"""The camera: each fault is measured on a flat field, as one measures a real sensor, and found as large as set."""

from itertools import pairwise

import numpy as np
import pytest
from pydantic import ValidationError

from tmapr.simulation.camera import HIGHEST, RADIANCE_AT_300, SLOPE_AT_300, Camera, Sensor
from tmapr.simulation.light import band_radiance

FAULTS = ("gain_spread", "offset_spread", "netd", "fixed_pattern", "column_noise", "row_noise", "drift")
PERFECT = dict.fromkeys((*FAULTS, "vignetting", "blur", "lag", "nuc_every"), 0.0)
FRAME_RATE = 15
SMALL = {"width": 8, "height": 8}
ROUNDING = 1 / 12  # counts², the variance of a rounding error


def perfect(**faults):
    """A camera without faults but these."""
    return Camera(**PERFECT | faults)


def flat(camera, radiance=RADIANCE_AT_300):
    return np.full((camera.height, camera.width), radiance, np.float32)


def film(camera, times, seed=7, scene=None):
    """Frames as float64 counts, of a flat field unless there is a scene."""
    sensor = Sensor(camera, seed)
    scene = flat(camera) if scene is None else scene
    return np.array([sensor.expose(scene, float(time)) for time in times], float)


def exposed(camera, scene, seed=7):
    return film(camera, [0.0], seed, scene)[0]


def at_once(count):
    """Moments between which nothing can drift."""
    return np.zeros(count)


def mean_counts(camera, times):
    """The mean over a flat field, of 400 cameras at these times. Their spread is known to 3.5 %."""
    return np.array([film(camera, times, seed).mean(axis=(1, 2)) for seed in range(400)])


def black_body(temperature):
    """Planck's law between 8 and 14 µm, W/(m² sr)."""
    planck, light, boltzmann = 6.62607015e-34, 299792458.0, 1.380649e-23
    wavelength = np.linspace(8e-6, 14e-6, 2001)
    exponent = planck * light / (wavelength * boltzmann * temperature)
    return np.trapezoid(2 * planck * light**2 / wavelength**5 / np.expm1(exponent), wavelength)


def correlation(first, second):
    return np.corrcoef(first.ravel(), second.ravel())[0, 1]


def test_the_reference_radiance_and_its_slope_are_those_of_a_black_body_of_300_kelvins():
    slope = (black_body(300.5) - black_body(299.5)) / 1.0
    np.testing.assert_allclose([RADIANCE_AT_300, SLOPE_AT_300], [black_body(300.0), slope], rtol=1e-4)


def test_the_camera_and_the_light_mean_the_same_band():
    below, at, above = band_radiance(np.array([299.5, 300.0, 300.5]))
    np.testing.assert_allclose([at, above - below], [RADIANCE_AT_300, SLOPE_AT_300], rtol=1e-3)


def test_without_faults_an_image_is_the_linear_one(rng):
    camera = perfect()
    scene = rng.uniform(14, 95, (camera.height, camera.width)).astype(np.float32)
    expected = camera.offset + camera.gain * (scene.astype(float) - RADIANCE_AT_300) / SLOPE_AT_300
    # Half a count of rounding, and a few float32 roundings of numbers below 8192.
    np.testing.assert_allclose(exposed(camera, scene), expected, rtol=0, atol=0.502)


def test_everyday_temperatures_stay_inside_14_bits_with_the_default_camera():
    camera = Camera()
    scene = np.where(np.arange(camera.width) % 2, black_body(230.0), black_body(340.0)).astype(np.float32)
    frame = exposed(camera, np.tile(scene, (camera.height, 1)))
    assert frame.min() > 0
    assert frame.max() < HIGHEST


@pytest.mark.parametrize(("camera", "radiance", "end"), [(perfect(), 1e4, HIGHEST), (perfect(offset=10.0), 0.0, 0)])
def test_counts_end_at_14_bits(camera, radiance, end):
    assert (exposed(camera, flat(camera, radiance)) == end).all()


def test_temporal_noise_of_a_flat_field_is_the_netd():
    camera = perfect(netd=0.05, fixed_pattern=0.3)
    first, second = film(camera, at_once(2))
    expected = np.sqrt(2 * ((camera.netd * camera.gain) ** 2 + ROUNDING))
    # 81 920 differences: their standard deviation is known to 1 / sqrt(2n) = 0.25 %; four times that.
    assert np.std(second - first) == pytest.approx(expected, rel=0.01)


STRIPES = [("column_noise", {"width": 4096, "height": 8}, 0), ("row_noise", {"width": 8, "height": 4096}, 1)]


@pytest.mark.parametrize(("fault", "shape", "along"), STRIPES)
def test_stripes_of_a_flat_field_differ_by_their_noise(fault, shape, along):
    camera = perfect(**shape, netd=0.05, **{fault: 0.04})
    stripes = film(camera, at_once(32)).mean(axis=(0, 1 + along))
    # 4096 stripes: 1.1 %; what the noise of 256 averaged pixels adds is 0.3 %.
    assert np.std(stripes) == pytest.approx(0.04 * camera.gain, rel=0.045)


@pytest.mark.parametrize(("fault", "shape", "along"), STRIPES)
def test_stripes_turn_into_others_of_the_same_size(fault, shape, along):
    camera = perfect(**shape, **{fault: 1.0}, stripe_memory=100.0)
    first, *_, last = film(camera, np.linspace(0, 100, 6)).mean(axis=1 + along)
    # Their correlation falls to 1/e in one memory, in one step or in many; 4096 stripes tell it to 0.014.
    assert correlation(first, last) == pytest.approx(np.exp(-1), abs=0.055)
    assert np.std(last) == pytest.approx(camera.gain, rel=0.045)


def test_single_pixels_of_a_flat_field_differ_by_the_fixed_pattern():
    camera = perfect(netd=0.05, fixed_pattern=0.1)
    pixels = film(camera, at_once(16)).mean(axis=0)
    left_over = ((camera.netd * camera.gain) ** 2 + ROUNDING) / 16
    assert np.std(pixels) == pytest.approx(np.sqrt((camera.fixed_pattern * camera.gain) ** 2 + left_over), rel=0.01)


def test_the_fixed_pattern_stays_until_the_shutter():
    first, last = film(perfect(fixed_pattern=1.0, nuc_every=60.0), [0.0, 59.9])
    np.testing.assert_array_equal(first, last)


@pytest.mark.parametrize("fault", ["fixed_pattern", "column_noise", "row_noise"])
def test_the_shutter_leaves_a_new_pattern(fault):
    camera = perfect(width=512, height=512, stripe_memory=1e9, nuc_every=60.0, **{fault: 1.0})
    before, after = film(camera, [59.0, 61.0])
    # The fewest numbers that can be drawn anew are 512 stripes.
    assert abs(correlation(before, after)) < 4 / np.sqrt(512)


def test_frames_are_repeated_exactly_while_the_shutter_is_closed_and_never_else():
    camera = Camera(nuc_every=2.0, nuc_freeze=0.4)
    times = np.arange(7 * FRAME_RATE) / FRAME_RATE
    frames = film(camera, times)
    repeated = [False, *(np.array_equal(last, frame) for last, frame in pairwise(frames))]
    assert repeated == [time >= 2 and time % 2 < 0.4 for time in times]


def test_contrast_is_lost_with_the_square_of_the_distance_from_the_middle():
    camera = perfect(vignetting=0.3, width=161, height=121, gain=100.0)
    contrast = exposed(camera, flat(camera, 90.0)) - exposed(camera, flat(camera, 20.0))
    corners, right, halfway = contrast[::120, ::160], contrast[60, 160], contrast[90, 120]
    # The middle is (60, 80) and 100 pixels from the corners. Two roundings of half a count in contrasts of 8 400.
    np.testing.assert_allclose(
        [*corners.flat, right, halfway] / contrast[60, 80], [0.7] * 4 + [0.808, 0.925], rtol=2e-4
    )


@pytest.fixture
def spread_point():
    """What a point of 100 W/(m² sr) at row 100, column 200 adds to the counts of a blurred image."""
    camera = perfect(blur=1.5, gain=1000.0)
    scene = flat(camera)
    scene[100, 200] += 100
    return exposed(camera, scene) - camera.offset


def test_a_point_is_spread_by_the_blur(spread_point):
    rows, columns = np.indices(spread_point.shape)
    for offsets in (rows - 100, columns - 200):
        # A kernel that ends at four deviations lacks 0.1 % of its variance; rounding adds as much.
        assert np.sum(spread_point * offsets**2) / spread_point.sum() == pytest.approx(1.5**2, rel=0.005)


def test_a_share_of_a_step_lags_behind():
    camera = perfect(lag=0.2, gain=100.0, **SMALL)
    sensor = Sensor(camera, 7)
    steps = [20.0, 90.0, 90.0, 90.0]
    means = np.array([sensor.expose(flat(camera, radiance), 0.0).mean() for radiance in steps])
    missing = 1 - (means - means[0]) / (100 * 70 / SLOPE_AT_300)
    np.testing.assert_allclose(missing, [1, 0.2, 0.2**2, 0.2**3], atol=2e-4)


def test_nothing_of_the_scene_lags_through_a_shutter():
    camera = perfect(lag=0.5, nuc_every=60.0, **SMALL)
    sensor = Sensor(camera, 7)
    sensor.expose(flat(camera, 20.0), 59.9)
    sensor.expose(flat(camera, 20.0), 60.1)
    assert (sensor.expose(flat(camera), 60.5) == camera.offset).all()


def test_cameras_differ_in_their_gain():
    camera = perfect(gain_spread=0.01, gain=200.0, **SMALL)
    warm = flat(camera, RADIANCE_AT_300 + 10 * SLOPE_AT_300)
    contrasts = [exposed(camera, warm, seed).mean() - camera.offset for seed in range(400)]
    assert np.std(contrasts) == pytest.approx(0.01 * 2000, rel=0.14)


def test_the_offset_walks_away_with_the_root_of_time_whatever_the_frame_rate():
    walked = mean_counts(perfect(drift=1.0, **SMALL), [10.0, 15.0, 60.0, 240.0])
    np.testing.assert_allclose(np.std(walked, axis=0)[1:], [20, 40, 80], rtol=0.14)


def test_the_shutter_takes_the_walk_back():
    walked = mean_counts(perfect(drift=1.0, gain=200.0, nuc_every=60.0, **SMALL), [59.0, 60.6])
    assert np.std(walked[:, 1]) == pytest.approx(200 * np.sqrt(0.6 / 60), rel=0.14)


def test_one_seed_and_the_same_exposures_give_the_same_bits():
    times = np.arange(0, 4, 0.1)
    camera = Camera(nuc_every=1.0)
    np.testing.assert_array_equal(film(camera, times, seed=3), film(camera, times, seed=3))


@pytest.mark.parametrize("seconds", [4.9, -1.0, np.nan, np.inf])
def test_time_that_runs_backwards_is_refused_and_changes_nothing(seconds):
    camera = Camera(**SMALL)
    disturbed, calm = Sensor(camera, 7), Sensor(camera, 7)
    disturbed.expose(flat(camera), 5.0)
    calm.expose(flat(camera), 5.0)
    with pytest.raises(ValueError, match=r"not run backwards, got .* after 5"):
        disturbed.expose(flat(camera), seconds)
    np.testing.assert_array_equal(disturbed.expose(flat(camera), 5.1), calm.expose(flat(camera), 5.1))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0])
def test_what_is_no_radiance_is_refused(wrong):
    scene = flat(Camera())
    scene[3, 4] = wrong
    with pytest.raises(ValueError, match="finite and not negative"):
        exposed(Camera(), scene)


def test_a_scene_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"must be \(8, 8\)"):
        exposed(Camera(**SMALL), flat(Camera()))


@pytest.mark.parametrize(
    "wrong",
    [
        *({fault: -0.1} for fault in (*PERFECT, "nuc_freeze", "baseline")),
        *({setting: 0.0} for setting in ("gain", "focal", "mount", "stripe_memory")),
        *({share: 1.0} for share in ("vignetting", "lag")),
        {"width": 0},
        {"height": 0},
        {"offset": HIGHEST + 1.0},
        {"nuc_every": 0.4, "nuc_freeze": 0.4},
        {"noise": 1.0},
    ],
    ids=str,
)
def test_a_setting_out_of_range_is_refused(wrong):
    with pytest.raises(ValidationError):
        Camera(**wrong)


@pytest.mark.parametrize(("side", "north"), [("left", 0.15), (None, 0.0), ("right", -0.15)])
def test_the_lenses_of_a_car_that_heads_east_lie_north_and_south_of_it(side, north):
    np.testing.assert_allclose(Camera().eye(np.array([10.0, 20.0]), 0.0, side), [10.0, 20 + north, 1.7])


def test_a_barrel_magnifies_the_middle_and_leaves_the_corners():
    camera = perfect(width=101, height=81, focal=60.0, distortion=0.3)
    rows, columns = np.mgrid[:81, :101]
    ramp = (RADIANCE_AT_300 + 0.1 * columns + 0.2 * rows).astype(np.float32)
    straight, bent = exposed(perfect(width=101, height=81, focal=60.0), ramp), exposed(camera, ramp)
    assert bent[0, 0] == straight[0, 0]
    assert bent[-1, -1] == straight[-1, -1]
    assert bent[40, 50] == straight[40, 50]
    # A tenth of the way from the middle to the right edge lies what would be 1.3 times nearer to it.
    outward = 10**2 / (50**2 + 40**2)
    source = 50 + 10 * (1 + 0.3 * outward) / 1.3
    np.testing.assert_allclose(bent[40, 60], np.interp(source, columns[40], straight[40]), atol=1.0)
