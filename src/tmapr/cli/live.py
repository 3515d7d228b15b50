"""`tmapr live`: localize a camera, a topic, a growing folder or a recording as it comes."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tmapr.cli.options import Device, Overrides, Quiet, make_teller
from tmapr.cli.view import View

if TYPE_CHECKING:
    from tmapr.live.events import Health, Sink
    from tmapr.live.messages import Frames
    from tmapr.live.pipeline import Pipeline

_METRICS_PORTS = 65_535


def live(  # noqa: PLR0913 (each an option)
    map_folder: Annotated[Path, typer.Argument(metavar="MAP", help="a run folder with a map")],
    source: Annotated[
        str,
        typer.Option(metavar="SOURCE", help="/dev/video0 | a folder that grows | a bag, MCAP or video | ros1:TOPIC"),
    ],
    run: Annotated[
        Path | None, typer.Option("--run", metavar="DIR", help="what the robot keeps (default: MAP/live)")
    ] = None,
    learn: Annotated[Literal["off", "fused"], typer.Option(help="learn from own estimates while localizing")] = "off",
    rate: Annotated[
        float | None, typer.Option(help="of a recording: times as fast as recorded (default 1); 0: as fast as it goes")
    ] = None,
    image: Annotated[str | None, typer.Option(metavar="TOPIC", help="of a bag: the images' topic")] = None,
    odometry: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="speed and yaw rate, and the pose for tf")
    ] = None,
    imu: Annotated[str | None, typer.Option(metavar="TOPIC", help="yaw rate")] = None,
    publish: Annotated[
        Literal["ros1"] | None, typer.Option(help="publish answers (default: where the source is a topic)")
    ] = None,
    tf: Annotated[Literal["base", "odom", "none"], typer.Option(help="publish map→base, map→odom or neither")] = "base",
    view: View = None,
    mcap: Annotated[Path | None, typer.Option(metavar="FILE", help="log for Foxglove")] = None,
    tum: Annotated[Path | None, typer.Option(metavar="FILE", help="trajectory in TUM's format")] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="[ADDRESS:]PORT", help="serve Prometheus metrics there")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="a JSON line for each frame on standard output")] = False,
    lose: Annotated[int, typer.Option(min=3, help="lessons that a kill may lose")] = 10,
    fsync: Annotated[int, typer.Option(min=0, help="lessons after which they are flushed to disk; 0: never")] = 10,
    journal: Annotated[int, typer.Option(min=1, help="lessons that the journal keeps, to be taken back")] = 20_000,
    queue: Annotated[int, typer.Option(min=1, max=1000, help="frames that may wait; then the oldest is dropped")] = 4,
    frames: Annotated[int | None, typer.Option(min=1, help="end after so many frames")] = None,
    device: Device = "auto",
    overrides: Overrides = None,
    quiet: Quiet = False,
) -> None:
    """Localize frames as they come, until they end or Ctrl-C; the next start goes on from the state that is saved."""
    from tmapr.exceptions import InputError
    from tmapr.fleet.keeping import tell_without_network
    from tmapr.live.keeper import Keeping
    from tmapr.live.messages import Frames
    from tmapr.live.opening import Wanted, open_source
    from tmapr.live.session import begin_session

    told = tell_without_network(map_folder)
    if told:
        make_teller(quiet)(told)
    named = Frames(tf=tf)
    opened, published = open_source(Wanted(source, rate, image, odometry, imu), named, publish)
    keeping = Keeping(lose, fsync, journal)
    with closing(opened), begin_session(map_folder, run, learn, device, overrides or [], keeping) as session:
        sinks = [*published, *_open_sinks(view, mcap, tum, metrics, as_json, quiet, named)]
        drive = session.drive(opened, sinks, queue, frames)
        try:
            health = drive.run()
        except KeyboardInterrupt:  # the usual end of a drive
            health = drive.pipeline.measure_health()
    if drive.pipeline.failure:
        raise InputError(f"{drive.pipeline.failure}; state saved in {session.run_folder}")
    if not quiet:
        typer.echo(_summarize(health, drive.pipeline, session.run_folder), err=as_json)


def _open_sinks(
    view: str | None,
    mcap: Path | None,
    tum: Path | None,
    metrics: str | None,
    as_json: bool,
    quiet: bool,
    frames: "Frames",
) -> "list[Sink]":
    import sys

    sinks: list[Sink] = []
    if as_json:
        from tmapr.live.outputs.lines import LinesSink

        sinks.append(LinesSink(sys.__stdout__ or sys.stdout))  # past the ear of the run's log
    if mcap:
        from tmapr.live.outputs.mcap import McapSink

        sinks.append(McapSink(mcap, frames))
    if tum:
        from tmapr.live.outputs.tum import TumSink

        sinks.append(TumSink(tum))
    if metrics:
        from tmapr.live.outputs.metrics import MetricsSink

        sinks.append(MetricsSink(*_parse_address(metrics)))
    if view:
        from tmapr.live.viewer.sink import open_view

        sinks.append(open_view(view, make_teller(quiet)))
    if not quiet and not as_json:
        from tmapr.live.terminal import TerminalSink

        sinks.append(TerminalSink())
    return sinks


def _parse_address(text: str) -> tuple[int, str]:
    from tmapr.exceptions import InputError

    address, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > _METRICS_PORTS:
        raise InputError(f"--metrics {text}: give a port, as in 9100, or an address and a port, as in 0.0.0.0:9100")
    return int(port), address or "127.0.0.1"


def _summarize(health: "Health", pipeline: "Pipeline", folder: Path) -> str:
    from tmapr.types import Status

    localized = pipeline.statuses[Status.LOCALIZED]
    step, slowest = (1e3 * pipeline.steps.find_percentile(percent) for percent in (50, 99))
    parts = [f"{health.taken} frames came: {health.answered} answered, {health.dropped} dropped"]
    if health.answered:
        parts += [f"{localized} localized", f"a step takes {step:.1f} ms, 99 % within {slowest:.1f} ms"]
    if health.lessons or health.rollbacks:
        parts.append(f"{health.lessons} lessons, {health.rollbacks} times given up")
    if steps := pipeline.clock_steps:
        parts.append(f"the camera's clock was set {steps} times")
    return f"{'; '.join(parts)}. State saved in {folder}"
