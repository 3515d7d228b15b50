"""The result of `tmapr bench`: how long a frame takes, stage by stage, on which machine."""

from typing import Literal

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.documents import Document

Precision = Literal["float32", "float16", "int8"]
Runtime = Literal["onnxruntime", "torch", "plug-in"]
Turns = Float[np.ndarray, " turns"]


class StageLatency(Document):
    """Milliseconds of one stage, and how often a second it could; the floor is its bytes over a copy's bandwidth."""

    mean_ms: float
    p95_ms: float
    hz: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    floor_ms: float | None = None

    @classmethod
    def of(cls, turns: Turns, floor_ms: float | None = None) -> "StageLatency":
        """Condense the seconds of its turns."""
        mean, p50, p95, p99 = (1e3 * float(each) for each in (turns.mean(), *np.percentile(turns, (50, 95, 99))))
        return StageLatency(mean_ms=mean, p95_ms=p95, hz=1e3 / mean, p50_ms=p50, p99_ms=p99, floor_ms=floor_ms)


class UpdateLatency(StageLatency):
    """Updates alone, and the means over the thirds of their stream; `ratio` is that of the last third to the first."""

    count: int
    thirds_ms: tuple[float, float, float]
    ratio: float
    worst_ms: float | None = None

    @classmethod
    def of(cls, turns: Turns, floor_ms: float | None = None) -> "UpdateLatency":
        """Condense the seconds of its turns, three at least, and say whether they grow."""
        first, middle, last = (1e3 * float(part.mean()) for part in np.array_split(turns, 3))
        thirds, whole, worst = (first, middle, last), StageLatency.of(turns, floor_ms), 1e3 * float(turns.max())
        return cls(**dict(whole), count=len(turns), thirds_ms=thirds, ratio=last / first, worst_ms=worst)


class EncoderNotes(Document):
    """What images are encoded by, and where."""

    device: str
    accelerator: str | None = None
    encoder_threads: int | None = None
    precision: Precision
    runtime: Runtime


class Latency(EncoderNotes):
    """Milliseconds on the clock, without the warm-ups; `ridge_update` is of K and W alone."""

    encoder: str
    weights: Literal["random", "trained"]
    pose_head: bool
    processor: str
    cores: int
    threads: int
    versions: dict[str, str]
    warmups: int
    frames: int
    images: str
    size: tuple[int, int]
    references: int
    places: int
    descriptor: int
    lift: int
    extensions: tuple[str, ...]
    accepted: int
    updates: UpdateLatency
    ridge_update: UpdateLatency | None = None
    stages: dict[str, StageLatency]
    lessons: int | None = None
    """That A₀ was taught of a made-up map, where these are fewer than its references."""
    bandwidth_gb_s: float | None = None
    """Of a copy where frames are localized, bytes read and written."""
