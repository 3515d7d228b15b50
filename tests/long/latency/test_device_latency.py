"""The protocol of a device, on the CPU by the clock: the same code, and what it does is held against others."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tmapr.experiment import read_experiment  # noqa: E402
from tmapr.latency.bench import invent_benchmark, measure  # noqa: E402
from tmapr.latency.device import measure_there  # noqa: E402
from tmapr.latency.events import DeviceTimer  # noqa: E402
from tmapr.latency.perceiver import open_there  # noqa: E402
from tmapr.latency.protocol import Stopwatch, time_localization  # noqa: E402
from tmapr.latency.workload import choose_cell, choose_lessons, invent_map, trace_drive  # noqa: E402

FRAMES, UPDATES, ROUNDS = 4, 40, 2
PARTS = {
    "copy_in", "preparation", "network", "encode", "asked", "search_read", "ridge_read", "place_scores", "conclude",
    "recognition", "route_filter", "crossing", "lesson", "flush", "update",
}  # fmt: skip


@pytest.fixture(scope="module")
def settings():
    small = ["perception.size=[96, 96]", "places.projection.dimension=64"]
    return read_experiment(None, small)


@pytest.fixture(scope="module")
def timed(settings):
    return open_there(settings.perception, "cpu", "float32")


@pytest.fixture(scope="module")
def benchmark(settings, timed):
    return invent_benchmark(settings, timed, 60, FRAMES)


@pytest.fixture(scope="module")
def measured(benchmark):
    return measure_there(benchmark.work, benchmark.timed.sight, UPDATES, lambda line: None, ROUNDS)


def test_every_part_of_a_frame_has_a_time(measured):
    assert set(measured.device_stages) == PARTS
    assert all(0 < part.p50_ms <= part.p99_ms for part in measured.device_stages.values())


def test_reads_of_memory_have_a_floor_and_launches_have_none(measured):
    parts = measured.device_stages
    bounded = {name for name, part in parts.items() if part.floor_ms is not None}
    assert bounded == PARTS - {"preparation", "asked", "conclude"}
    assert all(parts[name].floor_ms > 0 for name in bounded)


def test_the_frame_is_the_whole_cycle(measured):
    cycle = measured.stages["cycle"]
    assert (measured.frame.p50_ms, measured.frame.p99_ms) == pytest.approx((cycle.p50_ms, cycle.p99_ms))
    assert measured.frame.floor_ms > 0


def test_no_stage_of_the_protocol_is_missing(measured):
    assert set(measured.stages) == {
        "prepare", "encode", "places", "search", "gates_filter", "update", "localization", "cycle", "place_inference"
    }  # fmt: skip
    assert measured.updates.count == UPDATES
    assert measured.updates.worst_ms >= measured.updates.p99_ms


def test_made_up_frames_are_matched_to_the_map_where_they_are_seen(benchmark, measured):
    assert measured.accepted == FRAMES
    answered = benchmark.timed.sight.answers.rows
    for number, estimate in enumerate(time_localization(benchmark.work, Stopwatch())):
        np.testing.assert_allclose(estimate.percept.descriptor, answered[number], atol=1e-6)


def test_the_result_says_where_it_comes_from(benchmark):
    result = measure(benchmark, 3, lambda line: None, ROUNDS)
    assert (result.paper_ms, result.paper_card) == (44.2, "NVIDIA GeForce GTX 1080")
    assert result.bandwidth_gb_s > 0
    assert result.frame.p50_ms > 0
    assert type(result).model_validate_json(result.as_json()) == result


def test_what_is_not_localized_there_is_timed_as_before(benchmark, settings):
    elsewhere = settings.system.model_copy(
        update={"tracking": settings.system.tracking.model_copy(update={"method": "paper"})}
    )
    work = replace(benchmark.work, system=elsewhere)
    assert measure(replace(benchmark, work=work), 3, lambda line: None).device_stages is None


def test_what_is_done_before_a_turn_is_not_timed():
    done = []
    turns = DeviceTimer(torch.device("cpu"), 3).time(lambda: done.append("work"), lambda: done.append("before"))
    assert len(turns) == 3
    assert done[-4:] == ["before", "work", "before", "work"]


@pytest.mark.parametrize(("references", "places"), [(1000, 125), (20000, 125), (300, 20)])
def test_cells_are_so_large_that_there_are_about_as_many_places_as_wanted(references, places):
    cell, truth = choose_cell(references, places), trace_drive(references)
    found = len(np.unique(np.floor((truth - truth[0]) / cell + 0.5), axis=0))
    assert found == pytest.approx(places, rel=0.05)


def test_few_lessons_leave_no_place_out(settings):
    cell = settings.system.places.cell
    rows = choose_lessons(trace_drive(300), cell, 20)
    assert len(rows) < 100
    few, all_ = (invent_map(settings.system, 300, 16, lessons) for lessons in (20, None))
    np.testing.assert_array_equal(few.memory.places, all_.memory.places)
    np.testing.assert_array_equal(few.memory.descriptors, all_.memory.descriptors)
    assert len(few.classifier().grid) == len(all_.classifier().grid)


def test_of_many_references_the_number_of_lessons_is_told(settings, timed, monkeypatch):
    monkeypatch.setattr("tmapr.latency.bench.MANY", 100)
    monkeypatch.setattr("tmapr.latency.bench.LESSONS", 30)
    told = invent_benchmark(settings, timed, 120, 1)
    assert 30 <= told.lessons < 120
