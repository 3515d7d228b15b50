"""Localizing with K, W and M₀ on torch's device: the CPU's answers, lessons and states, by either method."""

import numpy as np
import pytest

from ridges import relative
from roads import chosen, drive, every_subset, mapped
from taught import PAPER, SYSTEM
from tmapr.gpu.backend import GpuBackend
from tmapr.gpu.torch_matrices import TorchMatrices
from tmapr.places.classifier import Classifier
from tmapr.places.lessons import Kept
from tmapr.places.matrices import TiledMatrices
from tmapr.system import build
from tmapr.tracking.guard import Guard


def make_both(use=("unscented", "mixture", "attenuation")):
    """The same map twice."""
    classifier = mapped(chosen(use))
    return classifier, classifier.move(TorchMatrices)


def assert_same_state(found, wanted):
    found, wanted = found.arrays(), wanted.arrays()
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert (found[name].shape, found[name].dtype) == (array.shape, array.dtype), name
        np.testing.assert_allclose(found[name], array, rtol=1e-9, atol=1e-9, err_msg=name)


@every_subset
def test_the_same_frames_teach_both_the_same(use, rng):
    host, device = make_both(use)
    for view, position in zip(*drive(rng, 40), strict=True):
        wanted, found = host.predict(view), device.predict(view)
        np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-9)
        assert found.leverage == pytest.approx(wanted.leverage, abs=1e-9)
        lessons = [each.learn(view, position) for each in (device, host)]
        np.testing.assert_array_equal(lessons[0].rows, lessons[1].rows)
        np.testing.assert_allclose(lessons[0].weights, lessons[1].weights, rtol=1e-9)
    assert relative(device.ridge.covariance, host.ridge.covariance) < 1e-9
    assert relative(device.ridge.weights, host.ridge.weights) < 1e-9


def test_lessons_of_one_are_learned_again_and_taken_back_in_the_other(rng):
    host, device = make_both()
    for frame in zip(*drive(rng, 12), strict=True):
        lesson = device.learn(*frame)
        host.relearn(host.rebuild(Kept.of(lesson)))
    assert_same_state(device, host)
    for each in (device, host):
        each.unlearn(lesson)
    assert_same_state(device, host)


@every_subset
def test_a_state_goes_to_the_cpu_and_back_and_learns_the_same_there(use, rng):
    _, device = make_both(use)
    frames = list(zip(*drive(rng, 20), strict=True))
    for frame in frames[:10]:
        device.learn(*frame)
    host = Classifier.from_arrays(chosen(use), device.projection_arrays(), device.arrays())
    back = host.move(TorchMatrices)
    for frame in frames[10:]:
        device.learn(*frame)
        back.learn(*frame)
    for name, array in device.arrays().items():
        np.testing.assert_array_equal(back.arrays()[name], array, err_msg=name)


def test_a_guard_goes_back_to_what_was_there_before(rng):
    _, device = make_both()
    guard, before = Guard(), device.arrays()
    guard.begin(device)
    for frame in zip(*drive(rng, 10), strict=True):
        lesson = device.learn(*frame)
    guard.roll_back(device)
    assert not device.holds(lesson)
    for name, array in before.items():
        np.testing.assert_array_equal(device.arrays()[name], array, err_msg=name)


def test_references_are_multiplied_there_and_loaded_once_for_all_drives(block, rng):
    backend, memory = GpuBackend("cpu"), block.memory
    there = backend.load(memory)
    assert backend.load(memory) is there
    views = rng.normal(size=(2, memory.descriptors.shape[1]))
    there.begin(views[0])
    for view, places in [(views[1], None), (views[1], [0, 2]), (views[0], None)]:
        wanted, found = (each.similarities(view, places) for each in (memory, there))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("system", [SYSTEM, PAPER], ids=["route", "paper"])
def test_frames_are_answered_as_on_the_cpu_while_their_labels_are_learned(system, block, stream):
    localizers = build(system, block), build(system, block, backend=GpuBackend("cpu"))
    for percept, truth in zip(stream.percepts[:20], stream.truth, strict=False):
        wanted, found = (each.observe(percept) for each in localizers)
        assert (found.verdict.reason, found.status) == (wanted.verdict.reason, wanted.status)
        np.testing.assert_allclose(found.position, wanted.position, rtol=0, atol=1e-3)
        if not percept.fault:
            for localizer, estimate in zip(localizers, (wanted, found), strict=True):
                localizer.learn(estimate, truth)


def test_a_state_saved_on_one_continues_on_the_other(block, stream):
    there = build(SYSTEM, block, backend=GpuBackend("cpu"))
    here = build(SYSTEM, block)
    for percept, truth in zip(stream.percepts[:10], stream.truth, strict=False):
        for localizer in (there, here):
            localizer.learn(localizer.observe(percept), truth)
    arrays = there.arrays()
    continued = build(SYSTEM, block, there.classifier.move(TiledMatrices))
    continued.restore(arrays, SYSTEM.tracking.method)
    for percept in stream.percepts[10:20]:
        np.testing.assert_allclose(continued.observe(percept).position, here.observe(percept).position, atol=1e-3)
