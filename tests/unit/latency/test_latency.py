"""The latency protocol: its statistics against NumPy, its warm-ups on a clock of our own, its passes on real parts."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from tmapr.exceptions import InputError
from tmapr.latency.perceiver import open_timed_perceiver
from tmapr.latency.protocol import (
    UPDATES,
    Stopwatch,
    compare_thirds,
    summarize_turns,
    time_cycle,
    time_localization,
    time_place_inference,
    time_stages,
    time_updates,
)
from tmapr.latency.workload import (
    Workload,
    answer_with,
    invent_frames,
    invent_images,
    invent_map,
    read_frames,
    revisit,
)
from tmapr.perception.image import Image
from tmapr.perception.settings import Perception
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.retrieval.search import Retrieval
from tmapr.system import System
from tmapr.types import NANOSECONDS, Frame, Percept

WIDTH, REFERENCES, FRAMES = 48, 60, 24
SYSTEM = System(places=Places(projection=Projection(dimension=64)))


@pytest.fixture(scope="module")
def environment():
    return invent_map(SYSTEM, REFERENCES, WIDTH)


@pytest.fixture
def passes():
    """The indices of the frames that were encoded."""
    return []


@pytest.fixture
def work(environment, passes):
    """Percepts of the map itself; the perceiver notes its passes."""
    percepts = [percept for percept, _ in islice(revisit(environment.memory), FRAMES)]
    frames = invent_frames([percept.stamp for percept in percepts])

    def encode(frame):
        passes.append(frame.index)
        return Percept(frame.stamp, np.zeros(WIDTH))

    return Workload(SYSTEM, environment, lambda: answer_with(percepts, encode), Image(), (224, 224), frames)


class Clock:
    """Every turn takes as long as it is told to."""

    def __init__(self, durations):
        self._readings = iter(np.cumsum(np.stack([np.ones(len(durations)), durations], axis=1)).tolist())

    def __call__(self):
        return next(self._readings)


def run_turns(durations, stage="search"):
    """A stopwatch after as many turns."""
    watch = Stopwatch(Clock(durations))
    for _ in durations:
        with watch.timing(stage):
            pass
    return watch


def test_mean_percentile_and_rate_are_those_of_numpy(rng):
    seconds = rng.gamma(2.0, 0.01, size=137)
    found = summarize_turns(seconds)
    np.testing.assert_allclose(found.mean_ms, 1000 * np.mean(seconds))
    np.testing.assert_allclose(found.p95_ms, 1000 * np.quantile(seconds, 0.95))
    np.testing.assert_allclose((found.p50_ms, found.p99_ms), 1000 * np.quantile(seconds, (0.5, 0.99)))
    np.testing.assert_allclose(found.hz, len(seconds) / np.sum(seconds))


def test_the_first_twenty_turns_do_not_count(rng):
    counted = rng.uniform(1, 2, size=50)
    watch = run_turns([*np.full(20, 1e6), *counted])
    np.testing.assert_allclose(watch.seconds("search"), counted, rtol=1e-6)
    np.testing.assert_allclose(watch.latencies()["search"].mean_ms, 1000 * counted.mean(), rtol=1e-6)


def test_a_stage_with_warm_ups_alone_has_no_time():
    with pytest.raises(ValueError, match=r"^search had 20 turns, and 20 warm-ups do not count$"):
        run_turns(np.ones(20)).latencies()


def test_thirds_are_means_of_the_stream_in_its_order():
    thirds, ratio = compare_thirds(np.array([1.0, 3.0, 4.0, 4.0, 6.0, 8.0]) / 1000)
    np.testing.assert_allclose(thirds, [2.0, 4.0, 7.0])
    np.testing.assert_allclose(ratio, 3.5)


def test_a_turn_begins_and_ends_with_a_device_that_is_done():
    events = []
    watch = Stopwatch(lambda: events.append("clock") or 0.0, lambda: events.append("settled"))
    with watch.timing("encode"):
        events.append("work")
    assert events == ["settled", "clock", "work", "settled", "clock"]


@pytest.mark.parametrize("timed", [time_stages, time_localization, time_cycle])
def test_every_frame_is_encoded_once(timed, work, passes):
    list(timed(work, Stopwatch()))
    assert passes == list(range(FRAMES))


def test_the_stages_one_by_one_come_to_what_the_whole_cycle_does(work):
    apart, whole = time_stages(work, Stopwatch()), list(time_cycle(work, Stopwatch()))
    for one, other in zip(apart, whole, strict=True):
        np.testing.assert_array_equal(one.belief.mean, other.belief.mean)
        assert (one.verdict, one.status) == (other.verdict, other.status)
        assert one.recognition.leverage == other.recognition.leverage


def test_localization_does_not_learn_and_the_cycle_does(work):
    still, learning = list(time_localization(work, Stopwatch())), list(time_cycle(work, Stopwatch()))
    view = still[-1].recognition.view
    assert still[-1].recognition.leverage == work.environment.classifier().predict(view).leverage
    assert learning[-1].recognition.leverage < still[-1].recognition.leverage


@pytest.mark.parametrize(("mode", "stages"), [("places", ["places", "search"]), ("global", ["search"])])
def test_stages_are_those_of_the_settings(mode, stages, work):
    watch = Stopwatch()
    retrieval = Retrieval(mode=mode)
    time_stages(replace(work, system=SYSTEM.model_copy(update={"retrieval": retrieval})), watch)
    assert list(watch.latencies()) == ["prepare", "encode", *stages, "gates_filter", "update"]


@pytest.mark.parametrize(("timed", "stage"), [(time_place_inference, "place_inference"), (time_updates, UPDATES)])
def test_as_many_turns_count_as_were_asked_for(timed, stage, work):
    watch = Stopwatch()
    timed(work, 7, watch)
    assert len(watch.seconds(stage)) == 7


def test_updates_teach_and_add_no_place(work):
    taught, untaught = time_updates(work, REFERENCES, Stopwatch()), work.environment.classifier()
    descriptor = next(revisit(work.environment.memory))[0].descriptor
    assert taught.predict(descriptor).leverage < untaught.predict(descriptor).leverage
    assert len(taught.grid) == len(untaught.grid)


def test_revisits_pass_every_place_on_each_lap_and_never_repeat_a_descriptor(environment):
    visits = list(islice(revisit(environment.memory), 3 * REFERENCES))
    descriptors = np.array([percept.descriptor for percept, _ in visits])
    assert len(np.unique(descriptors, axis=0)) == 3 * REFERENCES
    np.testing.assert_allclose(np.linalg.norm(descriptors, axis=1), 1.0)
    assert (np.diff([percept.stamp for percept, _ in visits]) > 0).all()
    laps = np.array([position for _, position in visits]).reshape(3, REFERENCES, 2)
    np.testing.assert_array_equal(laps[0], laps[2])
    np.testing.assert_array_equal(np.sort(laps[0], axis=0), np.sort(environment.memory.positions, axis=0))
    steps = np.hypot(*np.diff(laps[0], axis=0).T)
    assert steps.max() < 5.0  # the way it was driven, not the order in which the map keeps it


def record(images):
    """Frames that can be read once each, a tenth of a second apart."""
    unread = list(images)

    def read(row):
        image, unread[row] = unread[row], None
        assert image is not None
        return image

    return [Frame("drive", row, row * NANOSECONDS // 10, lambda row=row: read(row)) for row in range(len(images))]


def test_recorded_frames_are_read_once_and_come_round_again():
    images = invent_images(4)
    frames = read_frames(iter(record(images)), 10, Image(), (224, 224))
    for _ in range(2):
        np.testing.assert_array_equal([frame.image() for frame in frames], images[np.arange(10) % 4])
    assert (np.diff([frame.stamp for frame in frames]) > 0).all()


def test_frames_that_cannot_be_used_are_left_out():
    live, empty = invent_images(3), np.full((1, 512, 640), 3000, np.uint16)
    images = np.concatenate([empty, live[:2], live[1:2], live[2:]])
    frames = read_frames(iter(record(images)), 3, Image(), (224, 224))
    assert [frame.index for frame in frames] == [1, 2, 4]


def test_a_recording_without_two_usable_frames_is_refused():
    images = np.repeat(invent_images(1), 5, axis=0)
    with pytest.raises(InputError, match=r"^1 frames of the test sequence can be used, at least 2 are needed"):
        read_frames(iter(record(images)), 5, Image(), (224, 224))


def test_a_stream_that_begins_anew_does_not_take_its_first_frame_for_a_frozen_one():
    timed, frame = open_timed_perceiver(Perception(), "cpu"), invent_frames([1])[0]
    assert [timed.stream()(frame).fault for _ in range(2)] == [None, None]
