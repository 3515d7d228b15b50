"""The result of `tmapr bench`: how long a frame takes, stage by stage, on which machine."""

from typing import Literal

from tmapr.artifacts.documents import Document

Precision = Literal["float32", "float16", "int8"]
PAPER_MS, PAPER_CARD = 44.2, "NVIDIA GeForce GTX 1080"
"""The paper's whole cycle, in float32."""
Runtime = Literal["onnxruntime", "torch", "plug-in"]


class StageLatency(Document):
    """How long one stage takes, in milliseconds, and how often a second it could."""

    mean_ms: float
    p95_ms: float
    hz: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None


class UpdateLatency(StageLatency):
    """Updates alone, and the means over the thirds of their stream; `ratio` is that of the last third to the first."""

    count: int
    thirds_ms: tuple[float, float, float]
    ratio: float
    worst_ms: float | None = None


class DeviceStage(Document):
    """A part of a frame on a device, by events; `floor_ms` is its bytes over a copy's bandwidth, if these bound it."""

    mean_ms: float
    p50_ms: float
    p99_ms: float
    floor_ms: float | None = None


class FrameLatency(Document):
    """A whole frame, image in host memory to estimate and update, on the clock."""

    p50_ms: float
    p99_ms: float
    floor_ms: float


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
    lessons: int | None = None
    """That A₀ was taught of a made-up map, where these are fewer than its references."""
    frame: FrameLatency | None = None
    device_stages: dict[str, DeviceStage] | None = None
    bandwidth_gb_s: float | None = None
    """Of a copy on the device, bytes read and written."""
    link_gb_s: float | None = None
    """Of a copy to the device."""
    paper_ms: float | None = None
    paper_card: str | None = None
