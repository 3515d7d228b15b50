"""Films as other programs read them: how long, how large, whole or not at all."""

import resource
import tracemalloc
from dataclasses import replace

import cv2
import numpy as np
import pytest

from commandline import command
from filmed import evaluated_run, filmed_run
from made_up import run_block
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.reports.film.cut import Cut
from tmapr.reports.film.film import make_film
from tmapr.reports.film.footage import Reel
from tmapr.reports.reported import ReportedRun


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return evaluated_run(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def run(folder):
    return ReportedRun.load(folder)


@pytest.fixture
def quiet_opencv():
    """As in a process of its own, where that is set before OpenCV is loaded."""
    level = cv2.utils.logging.getLogLevel()
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    yield
    cv2.utils.logging.setLogLevel(level)


def play(path):
    """All frames of a video, and its rate."""
    reader = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
    frames = []
    while (shown := reader.read())[0]:
        frames.append(shown[1])
    return frames, reader.get(cv2.CAP_PROP_FPS)


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_unasked_the_first_test_is_filmed_whole_into_the_report(folder, run, capfd):
    """And nothing reaches the terminal but one line: not what the encoder has to say."""
    assert command("film", folder, "--width", 320) == 0
    path = folder / "report/night.webm"
    frames, rate = play(path)
    seconds = run.sequences[0].seconds
    assert len(frames) == len(seconds)
    assert frames[0].shape == (180, 320, 3)
    assert len(frames) / rate == pytest.approx(seconds[-1], rel=0.05)
    said = capfd.readouterr()
    told = f"{len(frames) / rate:.1f} s, {len(frames)} pictures of 320x180, {path.stat().st_size / 1e6:.1f} MB"
    assert said.out == f"{path}: {told}\n"
    assert said.err == ""
    assert files_in(folder / "report") == ["night.webm"]


def test_a_part_is_filmed_as_fast_as_asked(folder, tmp_path):
    out = tmp_path / "deep/part.webm"
    options = ["--from", 4, "--to", 10, "--speed", 2, "--rate", 5, "--width", 640]
    assert command("film", folder, "--sequence", "night", "--out", out, *options, "--quiet") == 0
    frames, rate = play(out)
    assert (len(frames), rate) == (16, 5.0)
    assert frames[0].shape == (360, 640, 3)


def test_an_animation_shows_the_same_frames(folder, tmp_path):
    options = ["--from", 4, "--to", 10, "--speed", 2, "--rate", 5, "--width", 640]
    for name in ("part.webm", "part.gif"):
        assert command("film", folder, "--out", tmp_path / name, *options) == 0
    found, animation = cv2.imreadanimation(str(tmp_path / "part.gif"))
    assert found
    assert sum(animation.durations) == 16 * 200
    for shown, frame in zip(animation.frames, play(tmp_path / "part.webm")[0], strict=True):
        assert shown.shape[:2] == (360, 640)
        assert np.abs(shown[..., :3].astype(int) - frame).mean() < 5.0


def test_a_run_without_true_positions_is_filmed_too(tmp_path, capsys):
    folder = filmed_run(tmp_path).path
    path = RunFolder(folder).percepts("night")
    whole = Recording.load(path)
    replace(whole, truth=np.full_like(whole.truth, np.nan), known=np.zeros(len(whole), bool)).save(path)
    run_block(tmp_path)
    assert command("film", folder, "--width", 320, "--to", 3) == 0
    assert len(play(folder / "report/night.webm")[0]) > 3


@pytest.mark.parametrize("name", ["film.webm", "film.gif"])
def test_a_film_that_is_cut_off_leaves_what_was_there(run, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"the film before")

    def interrupted(rows):
        yield from rows[: len(rows) // 2]
        raise KeyboardInterrupt

    cut = Cut.of(run.sequences[0].seconds, 25.0, stop=5.0)
    with pytest.raises(KeyboardInterrupt):
        make_film(run, run.sequences[0], cut, path, 320, interrupted)
    assert files_in(tmp_path) == [name]
    assert path.read_bytes() == b"the film before"


@pytest.mark.parametrize(("name", "largest"), [("film.webm", 40_000), ("film.gif", 40_000), ("film.webm", 500)])
def test_a_full_disk_is_one_line_and_leaves_nothing(folder, tmp_path, capfd, quiet_opencv, name, largest):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    try:
        code = command("film", folder, "--out", tmp_path / name, "--width", 640, "--to", 6)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 2
    said = capfd.readouterr().err
    assert said.startswith(f"tmapr: {tmp_path / name}: cannot be written, the disk is full (File too large)")
    assert said.count("\n") == 1
    assert files_in(tmp_path) == []


REFUSED = {
    "an unknown sequence": (["--sequence", "noon"], "noon: was not localized by this run; there are night"),
    "an end before the beginning": (["--from", "9", "--to", "3"], "--from 9: is later than --to 3"),
    "a beginning after the end": (["--from", "900"], "--from 900: the drive lasts "),
    "a negative second": (["--from", "-1"], "--from -1: must be seconds since the first frame"),
    "no number": (["--to", "nan"], "--to nan: must be seconds since the first frame"),
    "standing still": (["--speed", "0"], "--speed 0: must be from 0.01 to 1000"),
    "too many frames": (["--rate", "240"], "--rate 240: must be from 1 to 60"),
    "too narrow": (["--width", "100"], "--width 100: must be from 320 to 3840"),
    "another format": (["--out", "film.mp4"], "--out film.mp4: a film is a .webm or a .gif file, not .mp4"),
    "no format": (["--out", "film"], "--out film: a film is a .webm or a .gif file, not one without a suffix"),
    "a folder": (["--out", "."], "is a folder; name the file to write"),
}


@pytest.mark.parametrize(("options", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_filmed_is_refused_in_one_line(folder, tmp_path, monkeypatch, capsys, options, reason):
    monkeypatch.chdir(tmp_path)
    assert command("film", folder, *options) == 2
    said = capsys.readouterr().err
    assert reason in said
    assert said.startswith("tmapr: ")
    assert said.count("\n") == 1
    assert files_in(tmp_path) == []


def test_a_folder_without_a_run_is_left_as_it_is(tmp_path, capsys):
    assert command("film", tmp_path) == 2
    assert capsys.readouterr().err.startswith(f"tmapr: {tmp_path}: holds no")
    assert files_in(tmp_path) == []


def test_pictures_pass_and_none_is_kept(run):
    """Of a drive of any length: the most memory is that of a few pictures."""
    sequence = run.sequences[0]
    rows = list(range(len(sequence.table.stamps)))
    reel = Reel(run, sequence, rows)
    reel.wind(5)
    tracemalloc.start()
    kept, _ = tracemalloc.get_traced_memory()
    for row in rows:
        reel.wind(row)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - kept < 3 * 64 * 80 * 2 + 50_000 < 0.5 * len(rows) * 64 * 80
