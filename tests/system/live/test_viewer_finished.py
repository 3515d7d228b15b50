"""A finished run in the viewer: by the verb, and by the option of `tmapr run`."""

import numpy as np
import pytest

import tmapr
from commandline import command
from tmapr.artifacts.run import RunFolder
from tmapr.live.viewer.finished import tell_run
from tmapr.perception.image import Image
from tmapr.running.finished import FinishedRun
from viewed import Recorded


@pytest.fixture(scope="module")
def run(scene, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ran") / "run"
    tmapr.run(scene.map_folder, tmapr.locate_sample() / "night", folder)
    return folder


@pytest.fixture(scope="module")
def recorded(run, tmp_path_factory):
    file = tmp_path_factory.mktemp("viewed") / "night.rrd"
    assert command("view", run, file, "--quiet") == 0
    assert list(file.parent.iterdir()) == [file]
    return Recorded(file)


def load(run):
    """What it says of the night."""
    return FinishedRun.load(RunFolder(run)).sequence("night")


def test_a_recording_says_what_the_table_says(run, recorded):
    table = load(run).table
    frames = range(len(table.stamps))
    for path in ("/camera/image", "/map/here", "/curves/trust", "/state"):
        assert sorted(recorded.rows[path]) == list(frames)
    assert [recorded.stamps[row] for row in frames] == table.stamps.tolist()
    here = [recorded.at("/map/here", row, "Transform3D:translation")[0][:2] for row in frames]
    np.testing.assert_allclose(recorded.middle + np.array(here), table.positions, atol=1e-4)
    said = np.array([recorded.at("/curves/trust", row, "Scalars:scalars") for row in frames])
    known = np.column_stack([table.similarities.values, table.p_place.values, table.p_off_map.values])
    np.testing.assert_array_equal(said, known)
    assert "/curves/latency" not in recorded.rows


def test_pictures_are_those_of_the_frame_and_of_its_match(run, recorded):
    table, night = load(run).table, tmapr.open_sequence(tmapr.locate_sample() / "night")
    moments = tell_run(FinishedRun.load(RunFolder(run)), "night")
    for row, (moment, frame) in enumerate(zip(moments, night, strict=True)):
        counts = frame.image()
        np.testing.assert_array_equal(moment.picture, Image().prepare(counts, counts.shape, "area"))
        if moment.match is None:
            continue
        (words,) = recorded.at("/match/words", row, "Points2D:labels")
        assert words.startswith(f"frame {table.references.values[row]} of noon")


def test_the_true_way_is_drawn_where_it_is_known(run, recorded):
    recording = load(run).recording
    pieces = [row["Points2D:positions"] for _, row in sorted(recorded.rows["/map/truth/past"].items())]
    recent = recorded.at("/map/truth/recent", len(recording) - 1, "Points2D:positions")
    drawn = recorded.middle + np.concatenate([*pieces, recent])
    np.testing.assert_allclose(drawn, recording.truth[recording.known], atol=1e-4)


def test_a_file_that_was_there_is_replaced_when_the_new_one_is_whole(run, tmp_path):
    file = tmp_path / "night.rrd"
    file.write_text("older")
    assert command("view", run, file, "--sequence", "nobody", "--quiet") == 2
    assert file.read_text() == "older"
    assert command("view", run, file, "--quiet") == 0
    assert Recorded(file).rows
    assert list(tmp_path.iterdir()) == [file]


def test_running_shows_the_run_that_was_made(run, tmp_path, capsys):
    file = tmp_path / "shown.rrd"
    assert command("run", run, "--view", file) == 0
    assert f"watch: rerun {file}" in capsys.readouterr().err
    assert len(Recorded(file).rows["/state"]) == len(load(run).table.stamps)


def test_a_way_that_leads_nowhere_is_refused_before_anything_is_run(run, tmp_path, capsys):
    before = sorted(path.stat().st_mtime_ns for path in run.rglob("*"))
    assert command("run", run, "--view", tmp_path / "shown.mp4") == 2
    assert "must be one of spawn|serve|serve:PORT|FILE.rrd" in capsys.readouterr().err
    assert sorted(path.stat().st_mtime_ns for path in run.rglob("*")) == before


def test_a_run_folder_that_is_not_there_says_which_command_makes_it(tmp_path, capsys):
    assert command("view", tmp_path / "nowhere") == 2
    assert "no such run folder; make one with `tmapr run EXPERIMENT`" in capsys.readouterr().err
