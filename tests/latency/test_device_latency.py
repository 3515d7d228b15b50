"""The protocol of a device, on the CPU by the clock: the code is the same, and what it does can be held against others."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tmapr.experiment import read_experiment  # noqa: E402
from tmapr.latency.bench import invent_benchmark, measure  # noqa: E402
from tmapr.latency.device import measure_there  # noqa: E402
from tmapr.latency.eager import EagerRidge  # noqa: E402
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
    small = ["perception.size=[64, 64]", "places.projection.dimension=64"]
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
