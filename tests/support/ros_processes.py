"""Processes of a robot: masters and nodes that share nothing with the process under test but a network."""

import json
import os
import queue
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
PATIENCE = 120
"""Seconds until a test that waits for something gives up: no promise of how fast it is."""


def find_port():
    """A port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"never happened: {what}")
        time.sleep(0.02)


class Process:
    """A script that talks in lines."""

    def __init__(self, *command, **environment):
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def say(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def hear(self):
        line = self._lines.get(timeout=PATIENCE)
        if line is None:
            raise EOFError(f"{self._process.args} has ended")
        return line

    def hear_until(self, condition, heard=()):
        """The JSON lines, with those heard before, as soon as together they fulfil a condition."""
        lines = list(heard)
        while not condition(lines):
            lines.append(json.loads(self.hear()))
        return lines

    def tell(self, **given):
        """A JSON line, and wait until it was done."""
        self.say(json.dumps(given))
        assert self.hear() == "sent"

    def finish(self):
        """The exit code, once it has ended by itself."""
        return self._process.wait(PATIENCE)

    def end(self):
        """Those who have children are asked first; those who read what they are told have heard it all."""
        self._process.stdin.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()


@contextmanager
def run(*command, **environment):
    process = Process(*command, **environment)
    try:
        yield process
    finally:
        process.end()


@contextmanager
def run_master(folder):
    """A roscore with its logs in a folder; gives the environment of its nodes."""
    port = find_port()
    nodes = {
        "ROS_MASTER_URI": f"http://127.0.0.1:{port}",
        "ROS_HOSTNAME": "127.0.0.1",
        "ROS_LOG_DIR": str(folder / "log"),
        "PYTHONPATH": "",
    }
    with run("roscore", "-p", port, **nodes) as master:
        while "started core service" not in master.hear():
            pass
        yield nodes


class Heard:
    """What a source gives, taken out of it by a thread of its own as a drive does."""

    def __init__(self, source):
        self.source = source
        self.events = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        for event in self.source:
            self.events.append(event)

    def wait_for(self, count):
        wait_until(lambda: len(self.events) >= count, f"{count} events")
        return self.events

    def close(self):
        self.source.close()
        self.join()

    def join(self):
        """It ends by itself."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
