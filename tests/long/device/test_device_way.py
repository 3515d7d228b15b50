"""A localizer whose frames go their way on a device, against the CPU's: every verdict, and every number to rounding."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tmapr  # noqa: E402
from tmapr.artifacts.percepts import Recording  # noqa: E402
from tmapr.data.health import Detector  # noqa: E402
from tmapr.device.backend import DeviceBackend  # noqa: E402
from tmapr.device.perceiving import DeviceEye  # noqa: E402
from tmapr.experiment import read_experiment  # noqa: E402
from tmapr.latency.workload import invent_map, revisit  # noqa: E402
from tmapr.perception.network import assemble  # noqa: E402
from tmapr.perception.perceiver import Perceiver  # noqa: E402
from tmapr.system import build, make_map  # noqa: E402
from tmapr.types import Fault, Reason  # noqa: E402

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


def compare(ours, theirs, metres=1e-6):
    assert [each.verdict.reason for each in ours] == [each.verdict.reason for each in theirs]
    assert [each.status for each in ours] == [each.status for each in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.position, other.position, atol=metres)
        np.testing.assert_allclose(mine.covariance, other.covariance, atol=metres * np.trace(other.covariance))
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


@pytest.fixture(scope="module")
def sample():
    """A small drive at noon as a map, the perceiver that made it, and the frames of the night."""
    settings = read_experiment(None, ["perception.size=[112, 112]"]).perception
    network, card = assemble(settings)
    eye = DeviceEye(network, settings.image, settings.size, "cpu", torch.float32)
    perceiver = Perceiver(card, settings.image, eye)
    noon, night = (list(tmapr.open_sequence(tmapr.locate_sample() / name)) for name in ("noon", "night"))
    noon = noon[::2]
    seen = list(perceiver.stream(noon))
    descriptors, stamps = (np.array([getattr(each, name) for each in seen]) for name in ("descriptor", "stamp"))
    truth = np.array([frame.position for frame in noon])
    system = read_experiment(None, []).system
    environment = make_map(system, Recording.from_arrays("noon", stamps, descriptors, truth=truth))
    return system, environment, lambda: perceiver.with_inspection(Detector().inspect), spoil(night)


def spoil(frames):
    """One comes too late, one is frozen, and one shows nothing."""
    spoilt = frames[:32]
    spoilt[12] = replace(spoilt[12], stamp=spoilt[10].stamp)
    for row in (20, 21, 22, 23):
        spoilt[row] = replace(spoilt[row], image=spoilt[19].image)
    spoilt[28] = replace(spoilt[28], image=lambda: np.full((96, 128), 3000, np.uint16))
    return spoilt


def test_an_image_that_goes_all_the_way_at_once_is_localized_as_on_the_cpu(sample):
    system, environment, begin_stream, frames = sample
    backends = DeviceBackend("cpu", torch.float32), None
    there, here = (build(system, environment, begin_stream=begin_stream, backend=each) for each in backends)
    ours, theirs = ([localizer.step(frame) for frame in frames] for localizer in (there, here))
    assert {Reason.FAULTY_FRAME, Reason.OLDER_STAMP, Reason.ACCEPTED} <= {each.verdict.reason for each in ours}
    compare(ours, theirs, metres=1e-4)  # descriptors with float32's digits, multiplied in another order
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.percept.descriptor, other.percept.descriptor, atol=1e-7)


def test_what_is_perceived_by_itself_is_begun_with_nothing(sample):
    system, environment, begin_stream, frames = sample
    localizer = build(system, environment, begin_stream=begin_stream, backend=DeviceBackend("cpu", torch.float32))
    percepts = [localizer.perceive(frame) for frame in frames[:10]]
    here = build(system, environment, begin_stream=begin_stream)
    compare([localizer.observe(each) for each in percepts], [here.step(frame) for frame in frames[:10]], 1e-4)
