"""`tmapr live` as a process: a folder that grows, signals, kills, every file that it writes read back by others."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest
from mcap.reader import make_reader

import tmapr

NIGHT = tmapr.locate_sample() / "night"


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live") / "map"
    tmapr.make_map(tmapr.locate_sample() / "noon", folder)
    return folder


@pytest.fixture(scope="module")
def offline(mapped, tmp_path_factory):
    return tmapr.run(mapped, NIGHT, tmp_path_factory.mktemp("offline") / "run").estimates()


def begin(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "tmapr", "live", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call(*arguments):
    process = begin(*arguments)
    out, err = process.communicate()
    return process.returncode, out, err


def grow(folder, frames):
    """Put images into a folder one by one, named by their stamps, as a driver does."""
    for frame in frames:
        aside = folder / "aside.part"
        shutil.copy(frame.file, aside)
        aside.rename(folder / f"{frame.stamp}{frame.file.suffix}")
        yield frame


def test_a_recording_as_fast_as_it_goes_is_the_offline_run(mapped, tmp_path, offline):
    code, out, err = call(mapped, "--source", NIGHT, "--rate", 0, "--run", tmp_path / "robot", "--json")
    assert code == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    assert [[line["x"], line["y"]] for line in lines] == offline.positions.tolist()
    assert [line["status"] for line in lines] == [str(status) for status in offline.statuses]
    assert "70 frames came: 70 answered, 0 dropped" in err
    assert '"stamp"' not in (tmp_path / "robot/log.txt").read_text()


def test_a_folder_that_grows_with_every_output_until_a_signal(mapped, tmp_path):
    """Metrics are read while it runs; the log, the trajectory and the recording of the viewer when it has ended."""
    grown, robot = tmp_path / "frames", tmp_path / "robot"
    grown.mkdir()
    frames = list(tmapr.open_sequence(NIGHT))
    port = 20_000 + os.getpid() % 20_000
    outputs = ["--mcap", tmp_path / "drive.mcap", "--tum", tmp_path / "drive.tum", "--view", tmp_path / "drive.rrd"]
    with begin(mapped, "--source", grown, "--run", robot, "--json", "--metrics", port, *outputs) as process:
        _wait_for_metrics(port)
        stamps = []
        for frame in grow(grown, frames[:25]):
            line = json.loads(process.stdout.readline())
            stamps.append(line["stamp"])
            assert line["stamp"] == frame.stamp
        scraped = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate()
    assert process.returncode == 0, err
    assert "25 frames came: 25 answered, 0 dropped" in err
    localized = next(line for line in scraped.splitlines() if 'status="localized"' in line and "_total" in line)
    assert float(localized.split()[-1]) > 0
    with (tmp_path / "drive.mcap").open("rb") as stream:
        tracked = [
            message for _, channel, message in make_reader(stream).iter_messages() if "odometry" in channel.topic
        ]
    assert len(tracked) == 25
    assert len((tmp_path / "drive.tum").read_text().splitlines()) > 0
    assert (tmp_path / "drive.rrd").stat().st_size > 10_000
    assert (robot / "state.npz").exists()


def _wait_for_metrics(port):
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read()
        except OSError:
            time.sleep(0.05)
        else:
            return


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_and_started_again_it_goes_on_as_if_it_had_not_been(mapped, tmp_path, offline, number):
    grown, lines = tmp_path / "frames", []
    frames = list(tmapr.open_sequence(NIGHT))
    grown.mkdir()
    for part in (frames[:30], frames[30:60]):
        with begin(mapped, "--source", grown, "--run", tmp_path / "robot", "--json") as process:
            _wait_for_start(process, tmp_path / "robot")
            for _ in grow(grown, part):
                lines.append(json.loads(process.stdout.readline()))
            process.send_signal(number)
            _, err = process.communicate()
        assert process.returncode == 0, err
    assert [line["stamp"] for line in lines] == [frame.stamp for frame in frames[:60]]
    np.testing.assert_array_equal([[line["x"], line["y"]] for line in lines], offline.positions[:60])


def _wait_for_start(process, robot):
    """It has begun when the folder is watched: it says so in its log, last of all that it says before a frame comes."""
    log = robot / "log.txt"
    ended = log.read_text().count("ended:") if log.exists() else 0
    while not (log.exists() and log.read_text().count("waits for frames") > ended):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--source", "nowhere"], "nowhere: no such folder, bag or video"),
        (["--source", NIGHT, "--rate", "-1"], "--rate -1"),
        (["--source", NIGHT, "--metrics", "http"], "--metrics http: give a port"),
        (["--source", NIGHT, "--mcap", "drive.bag"], "drive.bag"),
        (["--source", NIGHT, "--view", "somehow"], "somehow"),
        (["--source", "ros2:/thermal"], "ros2 launch tmapr_ros localize.launch.py map:=MAP image:=/thermal"),
        (["--source", NIGHT, "--publish", "ros1"], "roscore|rospy"),
        (["--source", NIGHT, "--set", "places.cell=20"], "was mapped with places.cell"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(mapped, tmp_path, monkeypatch, arguments, said):
    monkeypatch.setenv("ROS_MASTER_URI", "http://127.0.0.1:1")
    code, out, err = call(mapped, "--run", tmp_path / "robot", *arguments)
    assert code == 2, err
    assert any(each in err for each in said.split("|"))
    assert len(err.strip().splitlines()) == 1
    assert not out


def test_a_reader_that_goes_away_does_not_end_the_drive(mapped, tmp_path):
    with begin(mapped, "--source", NIGHT, "--rate", 0, "--run", tmp_path / "robot", "--json") as process:
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        process.wait()
    assert process.returncode == 0, err
    assert "70 frames came: 70 answered" in err
