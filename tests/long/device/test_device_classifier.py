"""A classifier on a device beside one on the CPU: lessons, states and what is kept of both go from one to the other.

What holds for either alone is in tests/contracts/test_classifier_contract.py.
"""

import numpy as np
import pytest
import torch
from test_device_places import drive, settings_with

from ridges import relative
from tmapr.device.classifier import DeviceClassifier
from tmapr.exceptions import InputError, StateError
from tmapr.learning.guard import Guard
from tmapr.places.attenuation import Attenuation
from tmapr.places.classifier import Classifier
from tmapr.places.lessons import Kept
from tmapr.places.projection import Projection
from tmapr.places.protocol import PlaceClassifier

SETTINGS = {
    "all": settings_with(),
    "identity": settings_with(projection=Projection(kind="identity")),
    "plain": settings_with(use=()),
    "minimax": settings_with(attenuation=Attenuation(mode="minimax")),
}
each_setting = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())


def make_both(settings, rng, frames=20):
    """The same map twice, taught on the CPU."""
    views, positions = drive(rng, frames, 150.0)
    classifier = Classifier.fit(settings, views, positions)
    for frame in zip(views, positions, strict=True):
        classifier.learn(*frame)
    return classifier, DeviceClassifier(settings, classifier)


def assert_same_state(found, wanted):
    found, wanted = found.arrays(), wanted.arrays()
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert (found[name].shape, found[name].dtype) == (array.shape, array.dtype), name
        np.testing.assert_allclose(found[name], array, rtol=1e-9, atol=1e-9, err_msg=name)


def put(array):
    return torch.as_tensor(np.array(array))


def learn_fast(classifier, view, position):
    """What a graph would hold, and what the host does before and afterwards."""
    place, seen = classifier.enter(position), put(view)
    taught = classifier.learn_observed(seen, torch.tensor([place]), classifier.observe(seen))
    return classifier.write_down(taught, place)


def test_either_is_what_others_ask_for(rng):
    assert all(isinstance(each, PlaceClassifier) for each in make_both(settings_with(), rng))


@each_setting
def test_the_same_frames_teach_both_the_same(settings, rng):
    host, device = make_both(settings, rng)
    for view, position in zip(*drive(rng, 40, 300.0), strict=True):
        wanted, found = host.predict(view), device.predict(view)
        np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-9)
        assert found.leverage == pytest.approx(wanted.leverage, abs=1e-9)
        if wanted.posterior is not None:
            np.testing.assert_allclose(found.log_likelihoods, wanted.log_likelihoods, rtol=1e-9)
            np.testing.assert_allclose(found.posterior, wanted.posterior, atol=1e-9)
        lessons = [each.learn(view, position) for each in (device, host)]
        np.testing.assert_allclose(lessons[0].rows, lessons[1].rows, atol=1e-9)
        np.testing.assert_allclose(lessons[0].weights, lessons[1].weights, rtol=1e-9)
        assert lessons[0].cell == lessons[1].cell
    assert relative(device.ridge.covariance, host.ridge.covariance) < 1e-9
    assert relative(device.ridge.weights, host.ridge.weights) < 1e-9


@each_setting
def test_lessons_of_a_device_are_learned_again_on_the_cpu(settings, rng):
    host, device = make_both(settings, rng)
    for frame in zip(*drive(rng, 12, 300.0), strict=True):
        lesson = device.learn(*frame)
        host.relearn(host.rebuild(Kept.of(lesson)))
    assert_same_state(device, host)
    if settings.attenuation.mode == "weight":
        for each in (device, host):
            each.unlearn(lesson)
        assert_same_state(device, host)


@each_setting
def test_lessons_of_the_cpu_are_learned_again_on_a_device(settings, rng):
    host, device = make_both(settings, rng)
    for frame in zip(*drive(rng, 12, 300.0), strict=True):
        device.relearn(device.rebuild(Kept.of(host.learn(*frame))))
    assert_same_state(device, host)


@each_setting
def test_a_state_goes_to_the_cpu_and_back(settings, rng):
    _, device = make_both(settings, rng)
    for frame in zip(*drive(rng, 10, 300.0), strict=True):
        device.learn(*frame)
    host = Classifier.from_arrays(settings, device.projection_arrays(), device.arrays())
    back = DeviceClassifier.from_arrays(settings, host.projection_arrays(), host.arrays())
    for name, array in device.arrays().items():
        np.testing.assert_array_equal(back.arrays()[name], array, err_msg=name)


@each_setting
def test_what_is_learned_the_fast_way_is_what_is_learned(settings, rng):
    _, device = make_both(settings, rng)
    other = device.continue_from(device.arrays())
    for view, position in zip(*drive(rng, 12, 300.0), strict=True):
        lesson = learn_fast(device, view, position)
        other.learn(view, position)
        again = device.rebuild(Kept.of(lesson))
        np.testing.assert_array_equal(again.rows, lesson.rows)
    for name, array in other.arrays().items():
        if not name.startswith("ledger."):
            np.testing.assert_allclose(device.arrays()[name], array, rtol=1e-9, atol=1e-9, err_msg=name)


def test_relearned_in_the_same_state_everything_is_what_it_was_to_the_last_bit(rng):
    _, device = make_both(settings_with(), rng)
    again = device.continue_from(device.arrays())
    lessons = [device.learn(*frame) for frame in zip(*drive(rng, 20, 300.0), strict=True)]
    for lesson in lessons:
        again.relearn(lesson)
    for name, array in device.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array, err_msg=name)


def test_a_guard_goes_back_to_what_was_there_before(rng):
    _, device = make_both(settings_with(), rng)
    guard, before, generation, places = Guard(), device.arrays(), device.generation, device.places
    guard.begin(device)
    for frame in zip(*drive(rng, 10, 300.0), strict=True):
        lesson = device.learn(*frame)
    guard.roll_back(device)
    assert not device.holds(lesson)
    assert device.generation > generation
    assert device.places is places
    for name, array in before.items():
        np.testing.assert_array_equal(device.arrays()[name], array, err_msg=name)
    device.learn(*(part[0] for part in drive(rng, 1, 300.0)))
    assert guard.choose(device, 1.0) is guard.base


def test_somebody_s_lesson_is_adopted_and_taken_back_in_both(rng):
    _, device = make_both(settings_with(), rng)
    copy = device.continue_from(device.arrays())
    lesson = device.learn(*(part[0] for part in drive(rng, 1, 300.0)))
    copy.adopt(lesson, lesson.descriptor)
    assert copy.holds(lesson)
    copy.unlearn(lesson)
    assert not copy.holds(lesson)
    with pytest.raises(InputError, match="unlearned already"):
        copy.unlearn(lesson)


def test_more_places_than_there_is_room_for_ask_for_new_graphs(rng):
    settings = settings_with(cell=1.0)
    _, device = make_both(settings, rng)
    generation = device.generation
    for frame in zip(*drive(rng, 70, 900.0), strict=True):
        device.learn(*frame)
    assert len(device.grid) > 64
    assert device.generation > generation


def test_a_lesson_that_the_ridge_refuses_teaches_nothing(rng):
    _, device = make_both(settings_with(), rng)
    before, (views, positions) = device.arrays(), drive(rng, 1, 10.0)
    lesson = device.learn(views[0], positions[0])
    device.unlearn(lesson)
    settled = device.arrays()
    broken = type(lesson)(np.full_like(lesson.rows, np.nan), *(getattr(lesson, name) for name in lesson.__slots__[1:]))
    with pytest.raises(StateError):
        device.adopt(broken, lesson.descriptor)
    for name, array in settled.items():
        np.testing.assert_array_equal(device.arrays()[name], array, err_msg=name)
    assert before.keys() == settled.keys()
