"""One line a second for whoever looks on: where the robot is, how sure that is, and whether anything is late."""

import sys

from tmapr.live.events import Answer, Health, Scene
from tmapr.live.outputs.lines import Stream
from tmapr.types import Status

_ERASED = "\r\x1b[2K"


class TerminalSink:
    """Rewrites one line where it is a terminal, and is silent elsewhere: logs have their own lines."""

    name = "terminal"
    complete = False

    def __init__(self, stream: Stream = sys.stderr) -> None:
        self._stream = stream
        self._shown = stream.isatty()
        self._last: Answer | None = None
        self._answered = 0
        self._seconds = 0.0

    def begin(self, scene: Scene) -> None:
        """Nothing: the first line comes with the first second."""

    def take(self, answer: Answer) -> None:
        """Kept until the second is over."""
        self._last = answer

    def report(self, health: Health) -> None:
        """Show how it stands."""
        if not self._shown:
            return
        self._stream.write(_ERASED + self._describe(health))
        self._stream.flush()

    def close(self) -> None:
        """Leave the line behind."""
        if self._shown and self._last:
            self._stream.write("\n")
            self._stream.flush()

    def _describe(self, health: Health) -> str:
        rate = (health.answered - self._answered) / max(health.seconds - self._seconds, 1e-3)
        self._answered, self._seconds = health.answered, health.seconds
        counted = f"{health.answered} frames, {rate:.1f}/s, {health.dropped} dropped"
        late = f", late: {', '.join(health.late)}" if health.late else ""
        if self._last is None:
            return f"{counted}{late}"
        estimate = self._last.estimate
        x, y = estimate.position
        where = f"({x:.1f}, {y:.1f}) ± {estimate.belief.semi_axis:.1f} m"
        told = f"localized at {where}" if estimate.status is Status.LOCALIZED else f"{estimate.status}, maybe {where}"
        learned = f", {health.lessons} lessons" if health.lessons else ""
        return f"{told}; {counted}, step {1e3 * self._last.timings.step:.0f} ms{learned}{late}"
