"""One JSON object a line for each frame: what `--json` prints, for programs that are no ROS nodes."""

import json
import os
from contextlib import suppress
from math import isfinite
from typing import Any, Protocol, runtime_checkable

from tmapr.exceptions import InputError
from tmapr.live.events import Answer, Health, Scene, Timings
from tmapr.types import Candidate, Estimate


@runtime_checkable
class Stream(Protocol):
    """As standard output is."""

    def write(self, text: str, /) -> int:
        """Add text."""

    def flush(self) -> None:
        """Pass it on."""

    def fileno(self) -> int:
        """Of the file behind it; OSError where there is none."""

    def isatty(self) -> bool:
        """Whether somebody looks at it."""


class LinesSink:
    """Writes to a stream, line by line; when nobody reads it any more, that is told once and the drive goes on."""

    name = "json"
    complete = True

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._open = True
        self._dropped = 0

    def begin(self, scene: Scene) -> None:
        """Nothing: the first line is of the first frame."""

    def take(self, answer: Answer) -> None:
        """A line, passed on at once."""
        if not self._open:
            return
        line = json.dumps(describe(answer, self._dropped), allow_nan=False, separators=(",", ":"))
        try:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        except BrokenPipeError as error:
            self._open = False
            _discard(self._stream)
            raise InputError(f"--json: nobody reads the lines any more ({error.strerror}); none follow") from None

    def report(self, health: Health) -> None:
        """Following lines say how many frames were dropped by now."""
        self._dropped = health.dropped

    def close(self) -> None:
        """The stream is somebody else's."""


def _discard(stream: Stream) -> None:
    """Lead the stream nowhere: what it still holds would be written when Python ends, and fail again."""
    with suppress(OSError, ValueError):  # where it is no file there is nothing to lead
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def describe(answer: Answer, dropped: int) -> dict[str, Any]:
    """The keys of a line. What is unknown, or not finite, is null."""
    estimate = answer.estimate
    x, y, vx, vy = (_finite(value) for value in estimate.belief.mean.tolist())
    longitude, latitude = estimate.lon_lat or (None, None)
    return {
        "stamp": answer.stamp,
        "number": answer.number,
        "status": str(estimate.status),
        "reason": str(estimate.verdict.reason),
        "x": x,
        "y": y,
        "vx": vx,
        "vy": vy,
        "lon": longitude,
        "lat": latitude,
        "covariance": _list_covariance(estimate),
        "semi_axis": _finite(estimate.belief.semi_axis),
        "heading": _finite(estimate.heading),
        "confidence": _finite(estimate.verdict.confidence),
        "candidate": _describe_candidate(estimate.candidate),
        "p_place": _finite(estimate.route.p_place) if estimate.route else None,
        "p_off_map": _finite(estimate.route.p_off_map) if estimate.route else None,
        "fault": str(estimate.percept.fault) if estimate.percept.fault else None,
        "ms": _count_milliseconds(answer.timings),
        "dropped": dropped,
        "lessons": answer.lessons,
    }


def _list_covariance(estimate: Estimate) -> list[float] | None:
    """Of x and x, x and y, y and y, in square metres."""
    (xx, xy), (_, yy) = estimate.covariance.tolist()
    return [xx, xy, yy] if all(map(isfinite, (xx, xy, yy))) else None


def _describe_candidate(candidate: Candidate | None) -> dict[str, Any] | None:
    if candidate is None:
        return None
    x, y = (_finite(value) for value in candidate.position.tolist())
    return {
        "sequence": candidate.sequence,
        "reference": candidate.reference,
        "similarity": _finite(candidate.similarity),
        "x": x,
        "y": y,
    }


def _count_milliseconds(timings: Timings) -> dict[str, float | None]:
    """To a microsecond: more digits would be noise."""
    return {part: _finite(round(1000 * seconds, 3)) for part, seconds in timings._asdict().items()}


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
