"""The latency protocol: its statistics against NumPy, its warm-ups on a clock of our own, its passes on real parts."""

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import pytest

from tmapr.artifacts.documents.latency import EncoderNotes, StageLatency, UpdateLatency
from tmapr.bench.measure import Stopwatch, begin_cycle, begin_drive, list_floors, measure, run_protocol, time_stages
from tmapr.bench.workload import TimedPerceiver, Workload, invent_map, revisit
from tmapr.experiment import read_experiment
from tmapr.gpu.backend import GpuBackend
from tmapr.gpu.torch_matrices import UPDATES as K_REWRITTEN_AFTER
from tmapr.perception.card import CLIP, Card, Input
from tmapr.perception.eyes import Outputs
from tmapr.perception.perceiver import Perceiver
from tmapr.system import build
from tmapr.types import Frame

WIDTH, REFERENCES, FRAMES, UPDATES, WARM_UPS = 48, 60, 4, 3, 2
SMALL = ("places.projection.dimension=64", "perception.size=[32, 32]")
SETTINGS = read_experiment(None, SMALL)
NOTES = EncoderNotes(device="cpu", precision="float32", runtime="onnxruntime")
STAGES = ["prepare", "encode", "places", "search", "gates_filter", "update", "localization", "cycle"]
ALONE = ["place_inference", "updates", "ridge_update"]


@pytest.fixture(scope="module")
def environment():
    return invent_map(SETTINGS.system, REFERENCES, WIDTH)


@pytest.fixture(autouse=True)
def few_warm_ups(monkeypatch):
    """And a copy of a few kilobytes."""
    monkeypatch.setattr("tmapr.bench.measure.WARM_UPS", WARM_UPS)
    monkeypatch.setattr("tmapr.bench.measure._COPIED", 1000)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(1).integers(3000, 4000, (WARM_UPS + FRAMES, 48, 64), np.uint16)


@pytest.fixture
def passes():
    """How many images each pass of the network was given."""
    return []


@pytest.fixture
def make_work(environment, images, passes):
    """Made-up frames on the made-up map, seen by a network that notes its passes."""

    def encode(pictures):
        passes.append(len(pictures))
        return Outputs(np.ones((len(pictures), WIDTH), np.float32))

    def make(*overrides, backend=None):
        given = Input(mean=CLIP[0], std=CLIP[1], size=(32, 32))
        timed = TimedPerceiver(Perceiver(Card(input=given, dimension=WIDTH), SETTINGS.perception.image, encode), NOTES)
        settings = read_experiment(None, [*SMALL, *overrides])
        localizer = build(settings.system, environment, backend=backend)
        answers = tuple(percept for percept, _ in islice(revisit(localizer.memory), len(images)))
        frames = (Frame("made up", row, seen.stamp, partial(images.take, row, 0)) for row, seen in enumerate(answers))
        return Workload(settings, timed, localizer, tuple(frames), answers=answers)

    return make


class Clock:
    """Every turn takes as long as it is told to."""

    def __init__(self, durations):
        self._readings = iter(np.cumsum(np.stack([np.ones(len(durations)), durations], axis=1)).tolist())

    def __call__(self):
        return next(self._readings)


def test_mean_percentiles_and_rate_are_those_of_numpy(rng):
    seconds = rng.gamma(2.0, 0.01, size=137)
    found = StageLatency.of(seconds, floor_ms=2.5)
    np.testing.assert_allclose(found.mean_ms, 1000 * np.mean(seconds))
    shown = found.p50_ms, found.p95_ms, found.p99_ms
    np.testing.assert_allclose(shown, 1000 * np.quantile(seconds, (0.5, 0.95, 0.99)))
    np.testing.assert_allclose(found.hz, len(seconds) / np.sum(seconds))
    assert found.floor_ms == 2.5


def test_thirds_are_means_of_the_stream_in_its_order():
    found = UpdateLatency.of(np.array([1.0, 3.0, 4.0, 4.0, 6.0, 8.0]) / 1000)
    np.testing.assert_allclose(found.thirds_ms, [2.0, 4.0, 7.0])
    np.testing.assert_allclose((found.ratio, found.worst_ms, found.count), (3.5, 8.0, 6))


def test_warm_ups_do_not_count(make_work, monkeypatch):
    def turn(work, updates, watch):
        for stage in ("encode", "updates", "ridge_update"):
            watch.turns[stage] = [1e6, 1e6, 1.0, 2.0, 3.0]
        return FRAMES

    monkeypatch.setattr("tmapr.bench.measure.run_protocol", turn)
    found = measure(make_work(), 3)
    assert (found.stages["encode"].mean_ms, found.updates.mean_ms, found.ridge_update.worst_ms) == (2000, 2000, 3000)
    assert (found.warmups, found.frames, found.accepted) == (WARM_UPS, FRAMES, FRAMES)


def test_a_result_says_what_was_timed_and_is_read_back_as_it_was(make_work):
    found = measure(make_work(), 3)
    assert list(found.stages) == [*STAGES, "place_inference"]
    assert (found.references, found.descriptor, found.lift, found.size) == (REFERENCES, WIDTH, 64, (32, 32))
    assert found.stages["search"].floor_ms > 0
    assert type(found).model_validate_json(found.as_json()) == found


def test_a_turn_takes_as_long_as_the_clock_says(rng):
    durations = rng.uniform(1, 2, size=50)
    watch = Stopwatch(Clock(durations))
    for turn in range(50):
        assert watch.time("search", lambda given: given, turn) == turn
    np.testing.assert_allclose(watch.turns["search"], durations, rtol=1e-9)


def test_a_turn_begins_and_ends_with_a_device_that_is_done():
    events = []
    watch = Stopwatch(lambda: events.append("clock") or 0.0, lambda: events.append("settled"))
    watch.time("encode", events.append, "work")
    assert events == ["settled", "clock", "work", "settled", "clock"]


@pytest.mark.parametrize("run", [lambda work: list(time_stages(work, Stopwatch())), begin_drive, begin_cycle])
def test_every_frame_is_encoded_once(run, make_work, passes):
    work = make_work()
    act = run(work)
    if callable(act):
        for frame in work.frames:
            act(frame)
    assert passes == [1] * (WARM_UPS + FRAMES)


def test_the_stages_one_by_one_come_to_what_the_whole_cycle_does(make_work):
    apart, whole = make_work(), make_work()
    localize = begin_drive(whole)
    for one, frame in zip(time_stages(apart, Stopwatch()), whole.frames, strict=True):
        other = localize(frame)
        whole.localizer.learn(other, other.position, scored=False)
        np.testing.assert_array_equal(one.belief.mean, other.belief.mean)
        assert (one.verdict, one.status) == (other.verdict, other.status)
        assert one.recognition.leverage == other.recognition.leverage


@pytest.mark.parametrize(("begin", "learns"), [(begin_drive, False), (begin_cycle, True)])
def test_localization_does_not_learn_and_the_cycle_does(begin, learns, make_work):
    work = make_work()
    run, before = begin(work), work.localizer.classifier.arrays()
    for frame in work.frames[:2]:
        run(frame)
    after = work.localizer.classifier.arrays()
    assert any(not np.array_equal(after[name], before[name]) for name in before) is learns


def test_every_stage_is_timed_as_often_as_it_counts_and_in_the_warm_ups(make_work):
    watch = Stopwatch()
    accepted = run_protocol(make_work(), UPDATES, watch)
    assert accepted == FRAMES
    wanted = dict.fromkeys(STAGES, WARM_UPS + FRAMES) | dict.fromkeys(ALONE, WARM_UPS + UPDATES)
    assert {stage: len(turns) for stage, turns in watch.turns.items()} == wanted


@pytest.mark.parametrize(("mode", "stages"), [("places", ["places", "search"]), ("global", ["search"])])
def test_stages_are_those_of_the_settings(mode, stages, make_work):
    watch = Stopwatch()
    list(time_stages(make_work(f'retrieval.mode="{mode}"'), watch))
    assert list(watch.turns) == ["prepare", "encode", *stages, "gates_filter", "update"]


def test_where_the_gpu_prepares_images_the_host_does_not_and_the_eager_encoder_stands_beside(make_work):
    work, watch = make_work(), Stopwatch()
    there = replace(work, timed=replace(work.timed, eager=work.timed.perceiver))
    run_protocol(there, UPDATES, watch)
    assert list(watch.turns) == [*STAGES[1:], "encode_eager", "cycle_eager", *ALONE]


def test_frames_are_localized_by_what_is_asked_for_and_found_at_the_same_places(make_work):
    watch, there = Stopwatch(), make_work(backend=GpuBackend("cpu"))
    assert run_protocol(there, UPDATES, watch) == FRAMES
    assert Counter(map(len, watch.turns.values())) == {WARM_UPS + FRAMES: len(STAGES), WARM_UPS + UPDATES: len(ALONE)}
    here, there = (list(time_stages(make_work(backend=each), Stopwatch())) for each in (None, GpuBackend("cpu")))
    for one, other in zip(here, there, strict=True):
        np.testing.assert_allclose(one.position, other.position, atol=1e-3)  # M₀'s products are of float32


def test_the_floor_of_an_update_reads_and_writes_a_triangle_here_and_all_of_k_now_and_then_there(make_work):
    here, there = (list_floors(make_work(backend=each)) for each in (None, GpuBackend("cpu")))
    K, W = 8 * 64**2, 8 * 64 * make_work().localizer.classifier.ridge.classes
    assert here["place_inference"] == here["places"] == K / 2 + W
    assert there["place_inference"] == K + W
    assert here["updates"] == here["ridge_update"] == K + 3 * W
    assert there["updates"] == K + 2 * K / K_REWRITTEN_AFTER + 3 * W
    assert here["search"] == there["search"] == 4 * REFERENCES * WIDTH


@pytest.mark.parametrize(("weights", "bounded"), [(1000, True), (None, False)])
def test_an_encoder_has_a_floor_where_its_weights_are_known(weights, bounded, make_work):
    work = make_work()
    assert ("encode" in list_floors(replace(work, timed=replace(work.timed, weights=weights)))) is bounded
