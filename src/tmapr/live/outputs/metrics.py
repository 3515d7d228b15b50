"""How a drive is doing, for Prometheus: counters, latencies and the last estimate, over HTTP.

What is counted elsewhere (parts, drops, lessons) is shown as it was reported last; what each answer says is counted
here, and a metrics sink may miss answers: `tmapr_answered_total` is exact, `tmapr_frames_total` has what it was shown.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

from tmapr.exceptions import InputError
from tmapr.live.events import Answer, Health, Scene
from tmapr.types import Reason, Status

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds: from the step of a small map to a camera's frames that pile up."""


class MetricsSink:
    """Serves `http://address:port/metrics` in a thread of its own."""

    name = "metrics"
    complete = False

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        self._asked = port
        self._address = address
        self._gauges: _Gauges | None = None
        self._server: Any = None
        self._thread: Any = None

    @property
    def port(self) -> int:
        """That of the server: with 0 asked for, any that was free."""
        return int(self._server.server_port) if self._server else self._asked

    def begin(self, scene: Scene) -> None:
        """Serve, with every status and reason at 0: a rate needs where it began."""
        client = _load_client()
        registry = client.CollectorRegistry()
        client.ProcessCollector(registry=registry)
        self._gauges = _Gauges(client, registry)
        named = client.Info("tmapr_drive", "What is localized in which map.", registry=registry)
        named.info({"map": scene.map_folder.name, "source": scene.source})
        try:
            self._server, self._thread = client.start_http_server(self._asked, self._address, registry)
        except (OSError, OverflowError) as error:
            raise InputError(
                f"metrics: {self._address}:{self._asked} cannot be listened on ({error}); give another port"
            ) from None

    def take(self, answer: Answer) -> None:
        """Count a frame."""
        if self._gauges:
            self._gauges.count(answer)

    def report(self, health: Health) -> None:
        """What is shown of the parts from now on."""
        if self._gauges:
            self._gauges.reported.health = health

    def close(self) -> None:
        """Stop serving, and free the port."""
        server, self._server = self._server, None
        if server:
            server.shutdown()
            server.server_close()
            self._thread.join()


class _Gauges:
    """The metrics of answers, by name."""

    def __init__(self, client: Any, registry: Any) -> None:
        self.reported = _Reported(client)
        registry.register(self.reported)
        self._frames = client.Counter("tmapr_frames", "Frames by status.", ["status"], registry=registry)
        self._verdicts = client.Counter(
            "tmapr_verdicts", "Frames by the verdict's reason.", ["reason"], registry=registry
        )
        for status in Status:
            self._frames.labels(str(status))
        for reason in Reason:
            self._verdicts.labels(str(reason))
        self._latency = client.Histogram(
            "tmapr_latency_seconds", "What a frame took, by part.", ["part"], buckets=_BUCKETS, registry=registry
        )
        self._similarity = client.Histogram(
            "tmapr_similarity",
            "Cosine between a frame and the reference it was judged by.",
            buckets=[step / 20 for step in range(21)],
            registry=registry,
        )
        self._position = client.Gauge("tmapr_position_metres", "In the map.", ["axis"], registry=registry)
        self._degrees = client.Gauge("tmapr_position_degrees", "WGS 84.", ["axis"], registry=registry)
        self._semi_axis = client.Gauge(
            "tmapr_semi_axis_metres", "Longest semi-axis of the 95 % ellipse.", registry=registry
        )
        self._localized: float | None = None
        self._began = time.monotonic()
        since = client.Gauge(
            "tmapr_seconds_since_localized", "Since a frame was localized, or since the start.", registry=registry
        )
        since.set_function(self._count_seconds)

    def count(self, answer: Answer) -> None:
        estimate = answer.estimate
        self._frames.labels(str(estimate.status)).inc()
        self._verdicts.labels(str(estimate.verdict.reason)).inc()
        for part, seconds in answer.timings._asdict().items():
            self._latency.labels(part).observe(seconds)
        if estimate.candidate:
            self._similarity.observe(estimate.candidate.similarity)
        for axis, metres in zip("xy", estimate.position.tolist(), strict=True):
            self._position.labels(axis).set(metres)
        for axis, degrees in zip(("lon", "lat"), estimate.lon_lat or (), strict=False):
            self._degrees.labels(axis).set(degrees)
        self._semi_axis.set(estimate.belief.semi_axis)
        if estimate.status is Status.LOCALIZED:
            self._localized = time.monotonic()

    def _count_seconds(self) -> float:
        return time.monotonic() - (self._began if self._localized is None else self._localized)


class _Reported:
    """What the drive's health says, as a collector: its totals are counted elsewhere."""

    def __init__(self, client: Any) -> None:
        self.health = Health(0.0, 0, 0, 0, 0, 0, ())
        self._count: Callable[..., Any] = client.metrics_core.CounterMetricFamily
        self._gauge: Callable[..., Any] = client.metrics_core.GaugeMetricFamily

    def collect(self) -> Iterator[Any]:
        """What is scraped."""
        health = self.health
        yield self._count("tmapr_taken", "Frames that came.", value=health.taken)
        yield self._count("tmapr_answered", "Frames that were answered.", value=health.answered)
        yield self._count("tmapr_dropped", "Frames that were dropped.", value=health.dropped)
        yield self._count("tmapr_lessons", "Frames learned since the start.", value=health.lessons)
        yield self._count("tmapr_rollbacks", "Times that what was learned was taken back.", value=health.rollbacks)
        yield self._gauge("tmapr_drive_seconds", "Since the drive began.", value=health.seconds)
        done = self._count("tmapr_part_done", "Frames that a part finished.", labels=["part"])
        dropped = self._count("tmapr_part_dropped", "Frames that a part had no time for.", labels=["part"])
        busy = self._gauge("tmapr_part_busy_seconds", "Since it began what it is doing now.", labels=["part"])
        late = self._gauge("tmapr_part_late", "1 where a part holds others up.", labels=["part"])
        for part in health.parts:
            done.add_metric([part.name], part.done)
            dropped.add_metric([part.name], part.dropped)
            busy.add_metric([part.name], part.busy)
            late.add_metric([part.name], float(part.late))
        yield from (done, dropped, busy, late)


def _load_client() -> Any:
    try:
        import prometheus_client
    except ImportError as error:
        raise InputError(f"metrics need prometheus-client ({error}); pip install 'tmapr[live]'") from None
    return prometheus_client
