"""A browser without a window, driven over its own debugging pipe; tests of pages and their photographs share it."""

import base64
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = (os.environ.get("CHROME", ""), "chromium", "chromium-browser", "google-chrome", "chrome")
_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND")
# The browser reads commands from its third file and answers on its fourth.
_START = "import os, sys; os.dup2({0}, 3); os.dup2({1}, 4); os.execv(sys.argv[1], sys.argv[1:])"


class Browser:
    """One browser with one tab; `events` is what happened since the page was opened."""

    def __init__(self, program: str, profile: Path) -> None:
        (theirs_in, self._to), (self._from, theirs_out) = os.pipe(), os.pipe()
        # Numbers that are neither 3 nor 4, which the browser's end overwrites.
        passed = [fcntl.fcntl(number, fcntl.F_DUPFD, 10) for number in (theirs_in, theirs_out)]
        options = (*_OPTIONS, f"--user-data-dir={profile}", "--remote-debugging-pipe")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(*passed), program, *options, "about:blank"],
            pass_fds=passed,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for number in (theirs_in, theirs_out, *passed):
            os.close(number)
        self._numbers, self._unread = itertools.count(1), b""
        self._session: dict[str, str] = {}
        self.events: list[dict[str, Any]] = []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **params: object) -> dict[str, Any]:
        """Give a command of the protocol and wait for its answer."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": params, **self._session}
        os.write(self._to, json.dumps(command).encode() + b"\0")
        while (message := self._next()).get("id") != number:
            self.events.append(message)
        assert "error" not in message, message
        return message["result"]

    def open(self, path: Path, width: int = 1280, height: int = 900, scale: float = 1) -> None:
        """Show a page in a window of this size and wait until it has loaded."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        self.events = []
        self("Page.navigate", url=path.resolve().as_uri())
        while not self.happened("Page.loadEventFired"):
            self.events.append(self._next())

    def happened(self, method: str) -> list[dict[str, Any]]:
        """What is known of the events of a kind."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def complaints(self) -> list[str]:
        """Whatever the page or the browser said of the page."""
        self.js("1")  # whatever was said until now has then arrived
        said = [*self.happened("Log.entryAdded"), *self.happened("Runtime.consoleAPICalled")]
        return [str(entry) for entry in [*said, *self.happened("Runtime.exceptionThrown")]]

    def js(self, expression: str) -> Any:
        """The value of an expression of the page's script."""
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def photograph(self, *, whole: bool = False, height: int | None = None) -> bytes:
        """What the window shows, the page down to a height, or all of it, as PNG."""
        clip = {}
        if whole or height:
            size = self("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}}
        taken = self("Page.captureScreenshot", format="png", captureBeyondViewport=bool(clip), **clip)
        return base64.b64decode(taken["data"])

    def close(self) -> None:
        """End the browser."""
        self("Browser.close")
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            received = os.read(self._from, 1 << 20)
            assert received, "the browser has gone"
            self._unread += received
        message, self._unread = self._unread.split(b"\0", 1)
        return json.loads(message)


def find_browser() -> str | None:
    """The program of a browser, if one is installed; the variable CHROME may name it."""
    return next(filter(None, map(shutil.which, filter(None, PROGRAMS))), None)


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser with a profile of its own, gone afterwards."""
    program = find_browser()
    if program is None:
        raise SystemExit(f"no browser: CHROME names none, and none of {', '.join(PROGRAMS[1:])} is installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, Path(profile))
        try:
            yield browser
        finally:
            browser.close()
