"""Films: what they tell is what the run says, they are whole or not at all, and other programs read them."""

import resource
import shutil
import tracemalloc
from dataclasses import replace

import cv2
import numpy as np
import pytest
from scipy.stats import chi2

from commandline import command
from shown_frames import seen_in
from tmapr.artifacts.trajectory import Column
from tmapr.config import changed
from tmapr.reports.film.colours import ALARM
from tmapr.reports.film.cut import Cut
from tmapr.reports.film.film import make_film
from tmapr.reports.film.footage import Reel, Shelf
from tmapr.reports.film.layout import USUAL, Layout
from tmapr.reports.film.marks import trace_ellipse
from tmapr.reports.film.moments import Story
from tmapr.reports.film.panels import list_facts
from tmapr.reports.film.scenes import Scene
from tmapr.types import Status

LAYOUT = Layout.of(USUAL)


@pytest.fixture(scope="module")
def folder(street, tmp_path_factory):
    """A run for commands: each writes a line into its log."""
    return shutil.copytree(street, tmp_path_factory.mktemp("home") / "street", symlinks=True) / "runs/street"


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


def draw(run, row, folder):
    """The film's frame of a row."""
    story = Story(run, run.sequences[0])
    with Shelf(folder) as shelf:
        for _ in shelf.lay(run, [story.find_match(row).row]):
            pass
        return Scene(story, LAYOUT, 1280, Reel(run, run.sequences[0], [row]), shelf).draw(row)


def panel(pixels, box):
    """What heat there was: bright where it is."""
    scale = pixels.shape[1] / 1280
    left, top, right, bottom = (round(edge * scale) for edge in (box.left, box.top, box.right, box.bottom))
    return pixels[top:bottom, left:right].max(axis=-1)


def facts(run, sequence, row):
    return {fact.label: fact.value for fact in list_facts(Story(run, sequence).tell(row))}


@pytest.mark.parametrize("row", [5, 40])
def test_the_pictures_are_those_of_the_frame_and_of_its_match(run, street, tmp_path, row):
    pixels = draw(run, row, tmp_path)
    assert seen_in(panel(pixels, LAYOUT.query), street / "data/night") == row
    matched = run.sequences[0].table.references.values[row]
    assert seen_in(panel(pixels, LAYOUT.match), street / "data/noon") == matched


def test_numbers_are_those_of_the_run(run):
    (drive,), row = run.sequences, 12
    told = facts(run, drive, row)
    error = np.hypot(*(drive.fused.values[row] - drive.truth.values[row]))
    radius = np.sqrt(chi2.ppf(0.95, 2) * np.linalg.eigvalsh(drive.table.covariances[row])[-1])
    assert (told["true error"], told["95 % radius"]) == (f"{error:.1f} m", f"{radius:.1f} m")
    assert told["speed"] == f"{np.hypot(*drive.table.velocities[row]):.1f} m/s"
    assert told["off the map"] == f"{100 * drive.table.p_off_map.values[row]:.0f} %"


def test_the_ellipse_holds_95_percent(rng):
    root = rng.normal(size=(2, 2))
    covariance, center = root @ root.T + 0.1 * np.eye(2), np.array([300.0, -20.0])
    away = trace_ellipse(center, covariance) - center
    distances = np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance), away)
    np.testing.assert_allclose(distances, chi2.ppf(0.95, 2))


def test_a_claim_that_is_wrong_is_called_wrong_where_that_is_known(run, blind):
    (drive,), row = run.sequences, 12
    away = replace(drive, fused=Column(drive.fused.values + 50.0, drive.fused.known))
    moments = [Story(run, each).tell(row) for each in (drive, away)]
    assert [moment.wrong for moment in moments] == [False, True]
    assert next(fact for fact in list_facts(moments[1]) if fact.label == "true error").colour == ALARM
    first = drive.table.statuses.index(Status.PREDICTING)
    assert not Story(run, away).tell(first).wrong
    unknown = Story(blind, blind.sequences[0]).tell(row)
    assert (unknown.truth, unknown.error, unknown.wrong) == (None, None, False)
    assert "true error" not in facts(blind, blind.sequences[0], row)


@pytest.mark.parametrize("what", ["truth", "belief", "images"])
def test_a_run_that_lacks_something_is_filmed_too(run, blind, tmp_path, what):
    plain = replace(run.sequences[0], trial=replace(run.sequences[0].trial, beliefs=None))
    lacking = {
        "truth": blind,
        "belief": replace(run, sequences=(plain,)),
        "images": replace(run, experiment=changed(run.experiment, {"data.root": str(tmp_path / "nowhere")})),
    }[what]
    cut = Cut.of(run.sequences[0].seconds, 25.0, stop=3.0)
    make_film(lacking, lacking.sequences[0], cut, tmp_path / "film.webm", 320, lambda rows: rows)
    assert len(play(tmp_path / "film.webm")[0]) == cut.count


def test_the_first_test_is_filmed_into_the_report_and_only_one_line_is_said(folder, run, capfd):
    assert command("film", folder, "--width", 320) == 0
    frames, rate = play(folder / "report/night.webm")
    seconds = run.sequences[0].seconds
    assert len(frames) == len(seconds)
    assert frames[0].shape == (180, 320, 3)
    assert len(frames) / rate == pytest.approx(seconds[-1], rel=0.05)
    said = capfd.readouterr()
    assert said.out.startswith(f"{folder / 'report/night.webm'}: ")
    assert (said.out.count("\n"), said.err) == (1, "")


def test_a_part_is_filmed_as_fast_as_asked_and_an_animation_shows_the_same_frames(folder, tmp_path):
    options = ["--from", 4, "--to", 10, "--speed", 2, "--rate", 5, "--width", 640, "--sequence", "night", "--quiet"]
    for name in ("part.webm", "part.gif"):
        assert command("film", folder, "--out", tmp_path / "deep" / name, *options) == 0
    frames, rate = play(tmp_path / "deep/part.webm")
    assert (len(frames), rate) == (16, 5.0)
    found, animation = cv2.imreadanimation(str(tmp_path / "deep/part.gif"))
    assert found
    assert sum(animation.durations) == 16 * 200
    for shown, frame in zip(animation.frames, frames, strict=True):
        assert np.abs(shown[..., :3].astype(int) - frame).mean() < 8.0


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


@pytest.mark.parametrize(("name", "largest"), [("film.webm", 20_000), ("film.gif", 20_000), ("film.webm", 500)])
def test_a_full_disk_is_one_line_and_leaves_nothing(folder, tmp_path, capfd, quiet_opencv, name, largest):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    try:
        code = command("film", folder, "--out", tmp_path / name, "--width", 640, "--to", 3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    said = capfd.readouterr().err
    assert code == 2
    assert said.startswith(f"tmapr: {tmp_path / name}: cannot be written")
    assert said.count("\n") == 1
    assert files_in(tmp_path) == []


REFUSED = {
    "an unknown sequence": (["--sequence", "noon"], ("noon", "night")),
    "an end before the beginning": (["--from", "9", "--to", "3"], ("--from 9", "--to 3")),
    "a beginning after the end": (["--from", "900"], ("--from 900",)),
    "a negative second": (["--from", "-1"], ("--from -1",)),
    "no number": (["--to", "nan"], ("--to nan",)),
    "standing still": (["--speed", "0"], ("--speed 0", "0.01 to 1000")),
    "too many frames": (["--rate", "240"], ("--rate 240", "1 to 60")),
    "too narrow": (["--width", "100"], ("--width 100", "320 to 3840")),
    "another format": (["--out", "film.mp4"], ("--out film.mp4", ".webm")),
    "no format": (["--out", "film"], ("--out film", ".webm")),
    "a folder": (["--out", "."], ("folder",)),
}


@pytest.mark.parametrize(("options", "named"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_filmed_is_refused_in_one_line(folder, tmp_path, monkeypatch, capsys, options, named):
    monkeypatch.chdir(tmp_path)
    assert command("film", folder, *options) == 2
    said = capsys.readouterr().err
    assert said.startswith("tmapr: ")
    assert all(word in said for word in named), said
    assert said.count("\n") == 1
    assert files_in(tmp_path) == []


def test_pictures_pass_and_none_is_kept(run):
    """Of a drive of any length: the most memory is that of a few pictures."""
    sequence = run.sequences[0]
    rows = list(range(len(sequence.table.stamps)))
    reel = Reel(run, sequence, rows)
    size = reel.wind(5).nbytes
    tracemalloc.start()
    kept, _ = tracemalloc.get_traced_memory()
    for row in rows:
        reel.wind(row)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - kept < 3 * size + 50_000 < 0.1 * len(rows) * size
