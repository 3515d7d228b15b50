"""The protocol on a device: whole frames on the clock, every part by events, its floor beside it."""

import numpy as np
import torch

from tmapr.artifacts.documents.latency import FrameLatency
from tmapr.latency.bench import Measured, Tell, count_accepted
from tmapr.latency.events import DeviceTimer, Turns
from tmapr.latency.parts import (
    Pieces,
    Stages,
    gather_pieces,
    time_learning,
    time_recognition,
    time_seeing,
    time_tracking,
)
from tmapr.latency.protocol import (
    ROUNDS,
    WARM_UPS,
    Stopwatch,
    summarize_turns,
    summarize_updates,
    time_cycle,
    time_localization,
)
from tmapr.latency.sight import DeviceSight
from tmapr.latency.workload import Workload

_GIGA = 1e9
_SAME = {
    "prepare": "preparation",
    "encode": "encode",
    "places": "place_scores",
    "search": "search",
    "gates_filter": "route_filter",
    "update": "update",
    "place_inference": "place_scores",
}
"""The protocol's stages, and the part on a device that is the same or the most of it."""
_WHOLE = ("copy_in", "network", "search_read", "ridge_read", "route_filter", "crossing", "lesson")
"""The parts whose floors a frame with an update cannot go below; K's rewriting is shared by sixteen."""


def measure_there(work: Workload, sight: DeviceSight, updates: int, tell: Tell, rounds: int = ROUNDS) -> Measured:
    """Run it."""
    timer = DeviceTimer(sight.device, rounds)
    watch = Stopwatch(settle=timer.settle)
    tell(f"{len(work.frames)} frames from image to estimate, and again with an update after each")
    accepted = count_accepted(time_localization(work, watch))
    count_accepted(time_cycle(work, watch))
    tell(f"every part {rounds} times, and {updates} updates")
    with torch.inference_mode():
        stages, pieces = Stages(timer), gather_pieces(work, sight)
        _time_parts(stages, timer, pieces, work, updates)
    whole = watch.latencies()
    turns = stages.turns | {"search": stages.turns["search_read"] + stages.turns["conclude"]}
    parts = {name: summarize_turns(turns[part]) for name, part in _SAME.items() if part in turns}
    return Measured(
        parts | whole,
        summarize_updates(stages.turns["update"]),
        accepted,
        _describe_frame(watch.seconds("cycle"), stages),
        stages.tabulate(),
        (stages.bandwidth / _GIGA, stages.link / _GIGA),
    )


def _time_parts(stages: Stages, timer: DeviceTimer, pieces: Pieces, work: Workload, updates: int) -> None:
    time_seeing(stages, timer, pieces)
    time_recognition(stages, timer, pieces)
    time_tracking(stages, timer, pieces, work.frames[WARM_UPS - 1].stamp)
    time_learning(stages, timer, pieces, work, updates)


def _describe_frame(turns: Turns, stages: Stages) -> FrameLatency:
    p50, p99 = (1e3 * float(each) for each in np.percentile(turns, (50, 99)))
    return FrameLatency(p50_ms=p50, p99_ms=p99, floor_ms=stages.floor(*_WHOLE))
