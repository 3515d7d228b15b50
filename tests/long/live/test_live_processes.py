"""Processes beside a drive: a reader that goes, a log whose writer is killed or cannot write, a viewer that serves."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader

import tmapr
from repository import SUPPORT

UNREAD = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
from pathlib import Path
from answered import reload_drive
from tmapr.exceptions import InputError
from tmapr.live.outputs.lines import LinesSink
scene, answers = reload_drive(Path(sys.argv[1]), 1)
sink = LinesSink(sys.stdout)
sink.begin(scene)
sink.take(answers[0])
sys.stdin.readline()
for _ in range(200):
    try:
        sink.take(answers[0])
    except InputError as error:
        print(error, file=sys.stderr)
sink.close()
"""


def test_a_reader_that_goes_is_told_of_once_and_the_drive_goes_on(scene):
    command = [sys.executable, "-c", UNREAD, str(scene.map_folder)]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=buffered) as writer:
        assert json.loads(writer.stdout.readline())["number"] == 0
        writer.stdout.close()
        writer.stdin.write("go on\n")
        writer.stdin.close()
        told = writer.stderr.read()
        assert writer.wait(timeout=60) == 0, told
    assert told.startswith("--json: ")
    assert told.count("\n") == 1


def recover(path, topic):
    """The stamps of a topic as a reader finds them that goes through a file from its beginning until it ends."""
    stamps = []
    with path.open("rb") as file, suppress(McapError):  # the end of a file that was never finished
        for _, _, message in NonSeekingReader(file).iter_messages(topics=[topic], log_time_order=False):
            stamps.append(message.publish_time)
    return stamps


PREPARED = f"""
import os, resource, signal, sys
sys.path.insert(0, {str(SUPPORT)!r})
from pathlib import Path
from answered import HEALTH, reload_drive
from tmapr.exceptions import InputError
from tmapr.live.outputs.mcap import McapSink
scene, answers = reload_drive(Path(sys.argv[1]), 12)
sink = McapSink(Path(sys.argv[2]))
sink.begin(scene)
"""


KILLED = """
for answer in answers[:9]:
    sink.take(answer)
sink.report(HEALTH)
sink.take(answers[9])
os.kill(os.getpid(), signal.SIGKILL)
"""


FILLED = """
def fill(most):
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

for answer in answers[:4]:
    sink.take(answer)
sink.report(HEALTH)
first, whole = sink.path, sink.path.stat().st_size
fill(whole + 100)
for answer in answers[4:6]:
    sink.take(answer)
try:
    sink.report(HEALTH)
except InputError as error:
    print(error)
assert first.stat().st_size == whole
fill(100)
for answer in answers[6:8]:
    try:
        sink.take(answer)
    except InputError as error:
        print(error)
try:
    McapSink(Path(sys.argv[2]).with_name("other.mcap")).begin(scene)
except InputError as error:
    print(error)
fill(resource.RLIM_INFINITY)
for answer in answers[8:]:
    sink.take(answer)
sink.close()
"""


def run_writer(script, scene, path):
    return subprocess.run(
        [sys.executable, "-c", PREPARED + script, str(scene.map_folder), str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_after_a_kill_all_that_was_reported_is_there(tmp_path, scene, answers):
    path = tmp_path / "drive.mcap"
    ended = run_writer(KILLED, scene, path)
    assert ended.returncode == -9, ended.stderr
    assert recover(path, "/tmapr/odometry") == [answer.stamp for answer in answers[:9]]
    assert recover(path, "/tmapr/image/compressed") == [answer.stamp for answer in answers[:9]]


def test_a_full_disk_is_told_and_the_log_goes_on_in_another_file(tmp_path, scene, answers):
    path = tmp_path / "drive.mcap"
    ended = run_writer(FILLED, scene, path)
    assert ended.returncode == 0, ended.stderr
    *told, refused = ended.stdout.splitlines()
    assert len(told) == 3
    assert all("File too large" in line for line in told)
    assert refused.startswith(f"{tmp_path / 'other.mcap'}: cannot be written")
    stamps = [answer.stamp for answer in answers]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "drive-2.mcap", path]
    assert recover(path, "/tmapr/odometry") == stamps[:4]
    assert recover(tmp_path / "drive-2.mcap", "/tmapr/odometry") == stamps[8:12]


def test_a_run_is_served_until_somebody_interrupts(scene, tmp_path):
    run = tmp_path / "run"
    tmapr.run(scene.map_folder, tmapr.locate_sample() / "night", run)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    told = tmp_path / "told.txt"
    with told.open("w") as stream:
        serving = subprocess.Popen([sys.executable, "-m", "tmapr", "view", run, f"serve:{port}"], stderr=stream)
    until = time.monotonic() + 100
    while time.monotonic() < until and "ssh -L" not in told.read_text():
        time.sleep(0.1)
    socket.create_connection(("127.0.0.1", port)).close()
    serving.send_signal(signal.SIGINT)
    assert serving.wait(100) == 0
    here, elsewhere = told.read_text().splitlines()
    assert f"rerun --connect rerun+http://127.0.0.1:{port}/proxy" in here
    assert f"ssh -L {port}:localhost:{port}" in elsewhere
