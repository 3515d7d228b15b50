"""A viewer elsewhere: whoever connects gets the drive, and whoever hangs holds up nobody."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
from rerun.chunk import RrdReader

import tmapr
from tmapr.exceptions import InputError
from tmapr.live.viewer.sink import open_view

GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
"""With which a client of gRPC begins, and an empty frame of settings."""
PATIENCE = 100.0
"""Seconds after which a test fails that would not end: nothing here takes a tenth of it."""


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.fixture
def client(port, tmp_path):
    """A real viewer without a window, which writes down what it is sent."""
    import rerun_cli

    program = Path(rerun_cli.__file__).with_name("rerun")
    begun = []

    def connect():
        command = [program, "--connect", f"rerun+http://127.0.0.1:{port}/proxy", "--save", tmp_path / "got.rrd"]
        quiet = os.environ | {"CI": "true", "HOME": str(tmp_path)}
        begun.append(subprocess.Popen(command, env=quiet, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return begun[-1]

    yield connect
    for each in begun:
        each.kill()
        each.wait()


def test_how_to_watch_is_told_here_and_from_elsewhere(port, scene):
    told = []
    sink = open_view(f"serve:{port}", told.append)
    sink.begin(scene)
    sink.close()
    assert told == [
        f"watch: rerun --connect rerun+http://127.0.0.1:{port}/proxy",
        f"on another machine, before that: ssh -L {port}:localhost:{port} ROBOT",
    ]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux lists its open ports there")
def test_only_this_machine_reaches_the_server(port, scene):
    sink = open_view(f"serve:{port}")
    sink.begin(scene)
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in line]
    sink.close()
    assert [each for each in listening if each.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]
    assert f":{port:04X} " not in Path("/proc/net/tcp6").read_text()


def test_a_port_that_is_taken_is_refused(port, scene):
    with socket.create_server(("127.0.0.1", port)), pytest.raises(InputError, match=f"port {port} cannot be had"):
        open_view(f"serve:{port}").begin(scene)


def test_a_viewer_that_comes_late_gets_the_drive_and_its_layout(port, scene, answers, client, tmp_path):
    sink = open_view(f"serve:{port}")
    sink.begin(scene)
    for answer in answers[:20]:
        sink.take(answer)
    viewer = client()
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and not _has_frame(tmp_path / "got.rrd", 19):
        time.sleep(0.5)
    viewer.send_signal(signal.SIGINT)
    viewer.wait(PATIENCE)
    sink.close()
    got = _read(tmp_path / "got.rrd")
    numbers = [number for chunk in got.stream() for number in _list_frames(chunk, "/camera/image")]
    assert sorted(numbers) == list(range(20))
    assert len(got.blueprints()) == 1


def test_a_client_that_never_reads_holds_up_nobody(port, scene, answers):
    sink = open_view(f"serve:{port}")
    sink.begin(scene)
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
    for each in clients[1:]:
        each.sendall(GREETING)
    driving = Thread(target=lambda: _take_all(sink, answers, 250), daemon=True)
    driving.start()
    driving.join(PATIENCE)
    for each in clients:
        each.close()
    assert not driving.is_alive()


def test_a_viewer_that_is_stopped_holds_up_nobody(port, scene, answers, client, tmp_path):
    """A real one, which had begun to receive: suspended, it keeps its connection and reads no more."""
    sink = open_view(f"serve:{port}")
    sink.begin(scene)
    viewer = client()
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and not (tmp_path / "got.rrd").exists():
        time.sleep(0.1)
    sink.take(answers[0])
    time.sleep(1.0)
    viewer.send_signal(signal.SIGSTOP)
    driving = Thread(target=lambda: _take_all(sink, answers, 250), daemon=True)
    driving.start()
    driving.join(PATIENCE)
    assert not driving.is_alive()


def test_a_process_ends_though_its_viewer_hangs(port, scene, tmp_path):
    program = """
import socket, sys
from pathlib import Path
import tmapr
from tmapr.live.events import Answer, Scene, Timings
from tmapr.live.viewer.sink import open_view

folder, port = Path(sys.argv[1]), int(sys.argv[2])
localizer = tmapr.load(folder).new_drive()
sink = open_view(f"serve:{port}")
sink.begin(Scene(localizer, folder, folder, "night"))
hanging = socket.create_connection(("127.0.0.1", port))
for number, frame in enumerate(tmapr.open_sequence(tmapr.locate_sample() / "night", frame=localizer.frame)[:3]):
    sink.take(Answer(number, frame, localizer.step(frame), Timings(0.0, 0.0, 0.0, 0.0)))
sink.close()
print("closed")
"""
    given = [sys.executable, "-c", program, str(scene.map_folder), str(port)]
    ended = subprocess.run(given, capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout) == (0, "closed\n")


def test_a_hung_viewer_costs_no_frame_of_a_drive(port, scene, tmp_path):
    """The command itself, and a client that connects as soon as it can and never reads."""
    night = tmapr.locate_sample() / "night"
    asked = ["--source", night, "--rate", "0", "--frames", "30", "--view", f"serve:{port}", "--run", tmp_path / "kept"]
    command = [sys.executable, "-m", "tmapr", "live", scene.map_folder, *asked]
    driving = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    hanging = None
    while hanging is None and driving.poll() is None:
        with suppress(OSError):
            hanging = socket.create_connection(("127.0.0.1", port))
            hanging.sendall(GREETING)
    said, _ = driving.communicate(timeout=PATIENCE)
    assert hanging is not None
    hanging.close()
    assert driving.returncode == 0
    assert "30 frames came: 30 answered, 0 dropped" in said


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have a screen or do not say")
def test_without_a_screen_no_viewer_is_opened(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(InputError, match=re.escape("there is no screen here; say `serve` or FILE.rrd")):
        open_view("spawn")


def _take_all(sink, answers, count):
    for number in range(count):
        sink.take(replace(answers[number % len(answers)], number=number))
    sink.close()


def _list_frames(chunk, path):
    if chunk.entity_path != path or chunk.is_static:
        return []
    return chunk.to_record_batch().column("frame").to_pylist()


def _read(path):
    """A recording that is still being written, or was cut off: it has no list of its contents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RrdReader(path)


def _has_frame(path, number):
    """Whether a recording has come to a frame."""
    try:
        return any(number in _list_frames(chunk, "/camera/image") for chunk in _read(path).stream())
    except (OSError, RuntimeError, ValueError):  # its last piece is not whole yet
        return False
