"""A localizer whose frames go their way on a device, against the CPU's: every verdict, and every number to rounding."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tmapr.device.backend import DeviceBackend  # noqa: E402
from tmapr.experiment import read_experiment  # noqa: E402
from tmapr.latency.workload import invent_map, revisit  # noqa: E402
from tmapr.system import build  # noqa: E402
from tmapr.types import Fault  # noqa: E402

SETTINGS = ['places.projection.kind="identity"']


def localize(overrides=(), frames=60, learn=None, references=120, device=None, change=lambda percept: percept):
    """The estimates of a made-up drive."""
    system = read_experiment(None, [*SETTINGS, *overrides]).system
    environment = invent_map(system, references, 48)
    localizer = build(system, environment, backend=DeviceBackend(device, torch.float32) if device else None)
    estimates, lessons = [], []
    for percept, _ in islice(revisit(environment.memory), frames):
        estimates.append(localizer.observe(change(percept)))
        if learn:
            lessons.append(learn(localizer, estimates[-1]))
    return localizer, estimates, lessons


def compare(ours, theirs):
    assert [each.verdict.reason for each in ours] == [each.verdict.reason for each in theirs]
    assert [each.status for each in ours] == [each.status for each in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.position, other.position, atol=1e-6)
        np.testing.assert_allclose(mine.covariance, other.covariance, atol=1e-6 * np.trace(other.covariance))
        assert (mine.candidate is None) == (other.candidate is None)
        if mine.candidate and other.candidate:
            assert mine.candidate.reference == other.candidate.reference
            assert mine.candidate.margin == pytest.approx(other.candidate.margin, abs=1e-2)


@pytest.mark.parametrize(
    "overrides",
    [(), ("places.use=[]",), ('retrieval.mode="global"',), ("retrieval.centred=false",), ("fusion.apr=false",)],
)
def test_a_drive_is_localized_as_on_the_cpu(overrides):
    compare(localize(overrides, device="cpu")[1], localize(overrides)[1])


def test_learning_each_frame_teaches_what_it_teaches_on_the_cpu():
    def learn(localizer, estimate):
        return localizer.learn(estimate, estimate.position, scored=False)

    mine, ours, given = localize(learn=learn, device="cpu")
    other, theirs, expected = localize(learn=learn)
    compare(ours, theirs)
    assert [lesson.place for lesson in given] == [lesson.place for lesson in expected]
    np.testing.assert_allclose(mine.classifier.ridge.weights, other.classifier.ridge.weights, atol=1e-9)
    for lesson in reversed(given):
        mine.unlearn(lesson)
    for lesson in reversed(expected):
        other.unlearn(lesson)
    np.testing.assert_allclose(mine.classifier.ridge.weights, other.classifier.ridge.weights, atol=1e-9)


def test_a_faulty_a_late_and_a_strange_frame_leave_the_drive_as_on_the_cpu(rng):
    strange = rng.normal(size=48)

    def change(percept):
        number = percept.stamp % 7
        if number == 0:
            return replace(percept, fault=Fault.FROZEN)
        if number == 3:
            return replace(percept, stamp=percept.stamp - 10**9)
        return replace(percept, descriptor=strange / np.linalg.norm(strange)) if number == 5 else percept

    compare(localize(device="cpu", change=change)[1], localize(change=change)[1])


@pytest.fixture(scope="module")
def street():
    system = read_experiment(None, SETTINGS).system
    environment = invent_map(system, 120, 48)
    return system, environment, [percept for percept, _ in islice(revisit(environment.memory), 60)]


@pytest.mark.parametrize("saved_on", [None, "cpu"])
@pytest.mark.parametrize("goes_on", [None, "cpu"])
def test_a_state_that_is_saved_goes_on_on_either(saved_on, goes_on, street):
    system, environment, percepts = street
    expected = localize(frames=40)[1][30:]
    source = localize(frames=30, device=saved_on)[0]
    again = build(system, environment, backend=DeviceBackend(goes_on, torch.float32) if goes_on else None)
    again.restore(source.arrays(), "route")
    compare([again.observe(each) for each in percepts[30:40]], expected)


def test_a_new_drive_begins_anew(street):
    mine, other = (localize(device=device, frames=40)[0].new_drive() for device in ("cpu", None))
    compare(*([each.observe(percept) for percept in street[2]] for each in (mine, other)))
