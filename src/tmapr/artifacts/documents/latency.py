"""The result of `tmapr bench`: how long a frame takes, stage by stage, on which machine."""

from typing import Literal

from tmapr.artifacts.documents import Document

Precision = Literal["float32", "float16", "int8"]
Runtime = Literal["onnxruntime", "torch", "plug-in"]


class StageLatency(Document):
    """How long one stage takes, in milliseconds, and how often a second it could."""

    mean_ms: float
    p95_ms: float
    hz: float | None = None


class UpdateLatency(StageLatency):
    """Updates alone, and the means over the thirds of their stream; `ratio` is that of the last third to the first."""

    count: int
    thirds_ms: tuple[float, float, float]
    ratio: float


class Latency(Document):
    """Milliseconds on the clock, without the warm-ups."""

    device: str
    accelerator: str | None
    processor: str
    cores: int
    threads: int
    encoder_threads: int | None
    precision: Precision
    encoder: str
    runtime: Runtime
    weights: Literal["random", "trained"]
    pose_head: bool
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
    stages: dict[str, StageLatency]
