"""Lines for other programs: JSON for each frame, and the track as TUM."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from evo.tools.file_interface import read_tum_trajectory_file

from answered import HEALTH, say
from tmapr.artifacts.trajectory import save_estimates
from tmapr.exceptions import InputError
from tmapr.geodesy import LOCAL_FRAME
from tmapr.live.outputs.lines import LinesSink
from tmapr.live.outputs.tum import TumSink
from tmapr.types import Reason, Verdict


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


def print_lines(path, scene, answers):
    with path.open("w") as stream:
        sink = LinesSink(stream)
        sink.begin(scene)
        for answer in answers:
            sink.take(answer)
        sink.report(HEALTH)
        sink.take(answers[-1])
        sink.close()
    return [json.loads(line, parse_constant=refuse_constant) for line in path.read_text().splitlines()]


def test_each_frame_is_a_line_whose_numbers_are_the_estimates(tmp_path, scene, answers):
    lines = print_lines(tmp_path / "lines", scene, answers)
    assert len(lines) == len(answers) + 1
    for line, answer in zip(lines, answers, strict=False):
        estimate = answer.estimate
        assert line["stamp"] == answer.stamp
        assert line["number"] == answer.number
        assert [line["x"], line["y"], line["vx"], line["vy"]] == estimate.belief.mean.tolist()
        assert (line["lon"], line["lat"]) == estimate.lon_lat
        assert line["covariance"] == estimate.covariance.ravel()[[0, 1, 3]].tolist()
        assert line["heading"] == estimate.heading
        assert line["status"] == estimate.status
        assert line["reason"] == estimate.verdict.reason
        assert line["candidate"]["reference"] == estimate.candidate.reference
        assert line["candidate"]["sequence"] == "noon"
        assert line["semi_axis"] == estimate.belief.semi_axis
        assert line["lessons"] == answer.lessons
    assert lines[0]["ms"] == {"queued": 2.0, "perception": 31.0, "waiting": 0.5, "localization": 4.0}


def test_a_line_says_how_many_frames_were_dropped_before_it(tmp_path, scene, answers):
    assert [line["dropped"] for line in print_lines(tmp_path / "lines", scene, answers[:2])] == [0, 0, 5]


def test_what_is_unknown_or_not_finite_is_null(tmp_path, scene, answers):
    blind = say(answers[0], mean=[math.nan, 1, math.inf, 0], covariance=np.full((4, 4), math.nan), frame=LOCAL_FRAME)
    verdict = Verdict(Reason.FAULTY_FRAME)
    blind = replace(
        blind, estimate=replace(blind.estimate, candidate=None, route=None, recognition=None, verdict=verdict)
    )
    line = print_lines(tmp_path / "lines", scene, [blind])[0]
    unknown = {name for name, value in line.items() if value is None}
    assert unknown == {
        *("x", "vx", "lon", "lat", "covariance", "semi_axis", "heading"),
        *("confidence", "candidate", "p_place", "p_off_map", "fault"),
    }
    assert line["y"] == 1.0


def write_track(path, scene, answers):
    sink = TumSink(path)
    sink.begin(scene)
    for answer in answers:
        sink.take(answer)
    sink.report(HEALTH)
    sink.close()


def test_the_track_is_what_a_run_writes(tmp_path, scene, answers):
    write_track(tmp_path / "live.tum", scene, answers)
    estimates = [answer.estimate for answer in answers]
    save_estimates(tmp_path / "run.csv", tmp_path / "run.tum", estimates, [False] * len(answers))
    assert (tmp_path / "live.tum").read_bytes() == (tmp_path / "run.tum").read_bytes()


def test_evo_reads_the_track_while_it_is_written(tmp_path, scene, answers):
    path = tmp_path / "deep" / "live.tum"
    sink = TumSink(path)
    sink.begin(scene)
    for answer in answers[:5]:
        sink.take(answer)
    track = read_tum_trajectory_file(str(path))
    np.testing.assert_array_equal(track.positions_xyz[:, :2], [answer.estimate.position for answer in answers[:5]])
    sink.close()


def test_a_drive_that_goes_on_goes_on_with_its_track(tmp_path, scene, answers):
    whole, twice = tmp_path / "whole.tum", tmp_path / "twice.tum"
    write_track(whole, scene, answers)
    write_track(twice, scene, answers[:9])
    twice.write_bytes(twice.read_bytes() + b"1679536806.5 12.")  # a power cut tore the last line
    write_track(twice, scene, answers[9:])
    assert twice.read_bytes() == whole.read_bytes()


def test_late_frames_have_no_line(tmp_path, scene, answers):
    path, late = tmp_path / "live.tum", [Reason.OLDER_STAMP, Reason.REPEATED_STAMP]
    write_track(path, scene, [answers[3], *(say(answers[2], reason=reason) for reason in late), answers[4]])
    write_track(tmp_path / "plain.tum", scene, answers[3:5])
    assert path.read_bytes() == (tmp_path / "plain.tum").read_bytes()


def test_a_camera_whose_clock_was_set_back_is_told_of(tmp_path, scene, answers):
    sink = TumSink(tmp_path / "live.tum")
    sink.begin(scene)
    sink.take(answers[3])
    with pytest.raises(
        InputError, match=r"live.tum: holds stamps up to \d+, and frame 2 is of \d+: the camera's clock"
    ):
        sink.take(answers[2])
    sink.take(answers[4])
    sink.close()
    assert len((tmp_path / "live.tum").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    "content", ["a text\n", "1.5 0 0 0 0 0 0 1\n", "no line", "x" * 9000, "-.000000001 0 0 0 0 0 0 1\n"]
)
def test_what_is_no_track_of_ours_is_left_alone(tmp_path, scene, content):
    path = tmp_path / "live.tum"
    path.write_text(content)
    with pytest.raises(InputError, match=r"live.tum: is no trajectory of ours, and is not appended to"):
        TumSink(path).begin(scene)
    assert path.read_text() == content


def test_a_folder_is_no_track(tmp_path, scene):
    with pytest.raises(InputError, match=r"cannot be written \(Is a directory\); name another file"):
        TumSink(tmp_path).begin(scene)


def test_stamps_before_1970_are_taken_up_too(tmp_path, scene, answers):
    path = tmp_path / "live.tum"
    write_track(path, scene, [say(answers[0], stamp=-3_000_000_001)])
    write_track(path, scene, [say(answers[0], stamp=-1), say(answers[0], stamp=7)])
    assert [line.split()[0] for line in path.read_text().splitlines()] == [
        "-3.000000001",
        "-0.000000001",
        "0.000000007",
    ]
