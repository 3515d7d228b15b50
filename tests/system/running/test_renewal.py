"""Recordings change after they were encoded: the next run is that of a fresh folder, and encodes what it must."""

import os
import shutil
from dataclasses import replace

import pytest

from renewed import (
    assert_renewed,
    copy_walk,
    correct_positions,
    count_encoded,
    experiment,
    finish_walk,
    freeze,
    images,
    make,
    remove_frames,
    replace_image,
    tear,
)
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.percepts import Origin, Recording
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.experiment import read_experiment
from tmapr.running import encoding as encoding_module
from tmapr.running.encoding import Encoding
from tmapr.running.evaluating import evaluate_run, read_errors
from tmapr.running.finished import FinishedRun
from tmapr.running.running import map_experiment, run_experiment
from tmapr.types import Fault
from walked import COUNT, blacken, view, write_list


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    return finish_walk(tmp_path_factory.mktemp("walked"))


@pytest.fixture
def home(walked, tmp_path):
    return copy_walk(walked, tmp_path / "home")


@pytest.mark.parametrize("what", ["positions corrected by 12 m", "one image replaced", "four frames removed"])
def test_a_changed_recording_gives_what_a_fresh_folder_gives_and_only_what_changed_is_encoded(home, what):
    """Every other change is in `tests/long`."""
    assert_renewed(home, what)


def test_an_image_is_frozen_if_it_is_the_last_one_that_could_be_read(home):
    tear(home)
    make(home, home / "run")
    shutil.copy(home / "data/night/04.png", home / "data/night/02.png")
    assert count_encoded(make(home, home / "run")) == {"night": 3}
    assert Recording.load(home / "run/percepts/night.npz").percepts[4].fault is Fault.FROZEN


def test_content_that_kept_its_size_and_time_stamp_is_found_where_all_is_read(home):
    before = (home / "run/percepts/noon.npz").read_bytes()
    other, image = view(7, seed=42), home / "data/noon/07.png"
    known = image.stat()
    write_frame(image, other)
    image.write_bytes(image.read_bytes().ljust(known.st_size, b"\0")[: known.st_size])
    os.utime(image, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert make(home, home / "run") == []
    assert (home / "run/percepts/noon.npz").read_bytes() == before
    assert make(home, home / "run", "content")[0].startswith("noon: 1 of 16 images changed; 2 of")


def test_all_is_made_anew_where_nothing_is_believed(home):
    (home / "run/percepts/noon.npz").write_bytes(b"damaged")
    fresh = make(home, home / "fresh")
    assert make(home, home / "run", "nothing") == fresh == []
    assert (home / "run/percepts/noon.npz").read_bytes() == (home / "fresh/percepts/noon.npz").read_bytes()


def test_a_program_s_own_percepts_are_never_encoded_over(home):
    path = home / "run/percepts/noon.npz"
    replace(Recording.load(path), origin=Origin()).save(path)
    before = path.read_bytes()
    for trust in ("stamps", "nothing"):
        with pytest.raises(InputError, match=r'set perception\.encoder = "own"'):
            make(home, home / "run", trust)
    assert path.read_bytes() == before


def test_percepts_that_do_not_say_what_they_were_made_from_are_encoded_once_more(home):
    path = home / "run/percepts/night.npz"
    before = path.read_bytes()
    replace(Recording.load(path), sources=None).save(path)
    (said,) = make(home, home / "run")
    assert said.startswith("night: ")
    assert said.endswith("all images are encoded again")
    assert path.read_bytes() == before


@pytest.fixture
def halved(home):
    """The home as if a GPU had encoded the night."""
    path = home / "run/percepts/night.npz"
    replace(Recording.load(path), precision="float16").save(path)
    return path


def test_percepts_of_another_precision_are_used_as_long_as_none_is_missing(home, halved):
    before = halved.read_bytes()
    assert make(home, home / "run") == []
    assert halved.read_bytes() == before
    correct_positions(home)
    assert count_encoded(make(home, home / "run")) == {"noon": 0, "map": 1, "night": 0}
    assert Recording.load(halved).precision == "float16"


def test_percepts_of_two_precisions_are_not_put_into_one_file(home, halved):
    freeze(home)
    (said,) = make(home, home / "run")
    assert said.startswith("night: ")
    assert "float16" in said
    assert said.endswith("all images are encoded again")
    make(home, home / "fresh")
    assert halved.read_bytes() == (home / "fresh/percepts/night.npz").read_bytes()
    assert Recording.load(halved).precision == "float32"


def test_shifts_are_those_of_the_whole_stream_after_an_image_is_replaced_or_cannot_be_read(home):
    """The picture moves by a quarter to the left from each view to the next; what follows a torn image by a half."""
    shifts = [percept.shift for percept in Recording.load(home / "run/percepts/night.npz").percepts]
    assert shifts[0] is None
    assert shifts[1:] == pytest.approx([-0.25] * (COUNT - 1), abs=0.01)
    tear(home)
    make(home, home / "run")
    again = [percept.shift for percept in Recording.load(home / "run/percepts/night.npz").percepts]
    assert again[:3] + again[5:] == shifts[:3] + shifts[5:]
    assert again[3] is None
    assert again[4] != shifts[4]


def test_images_that_a_shutter_repeats_are_no_change(home):
    """Three equal ones in a row are two equal pairs; each is compared with its own stamp and position."""
    for row in (4, 5, 6):
        shutil.copy(home / "data/night/03.png", home / f"data/night/{row:02}.png")
    make(home, home / "run")
    assert make(home, home / "run") == []


def test_without_the_recording_its_percepts_and_their_positions_are_used_and_a_line_says_so(home):
    estimates = (home / "run/estimates/night.csv").read_bytes()
    shutil.rmtree(home / "data")
    absent = make(home, home / "run")
    assert [line.partition(":")[0] for line in absent] == ["noon", "night"]
    assert (home / "run/estimates/night.csv").read_bytes() == estimates
    run = FinishedRun.load(RunFolder(home / "run"))
    evaluate_run(run)
    assert run.remarks == absent


def test_a_sequence_whose_name_begins_with_a_dot_is_kept_as_any_other(home):
    path = home / "walk.toml"
    path.write_text(path.read_text().replace('"night"', '"./night"'))
    make(home, home / "dotted")
    for image in images(home, "night"):
        blacken(image)
    assert make(home, home / "dotted") == []
    plain, dotted = home / "run/estimates/night.csv", home / "dotted/estimates/.__night.csv"
    assert dotted.read_bytes() == plain.read_bytes()


def test_an_evaluation_takes_the_positions_of_the_recording_and_a_line_says_so(home):
    folder = RunFolder(home / "run")
    make(home, folder.path)
    before = FinishedRun.load(folder)
    assert read_errors(before).test["night"].fused.rmse < 3
    assert before.remarks == []
    write_list(home / "data/night", range(COUNT), shift=12.0)
    after = FinishedRun.load(folder)
    assert read_errors(after).test["night"].fused.rmse > 9
    said = "night: positions changed since its percepts were made; what the recording says counts"
    assert after.remarks == [said]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (replace_image, "noon: 1 of 16"),
        (remove_frames, "night: 4"),
        (correct_positions, "noon: its positions"),
    ],
)
def test_an_evaluation_of_estimates_that_no_longer_follow_is_refused(home, change, said):
    make(home, home / "run")
    change(home)
    with pytest.raises(InputError, match=f"{said}.*`tmapr run`"):
        evaluate_run(FinishedRun.load(RunFolder(home / "run")))


def test_a_program_s_new_percepts_are_mapped_again_and_its_old_estimates_refused(home):
    own = read_experiment(home / "walk.toml", ["perception.encoder=own"])
    folder, told = RunFolder(home / "own"), []
    for name in ("noon", "night"):
        replace(Recording.load(home / f"run/percepts/{name}.npz"), origin=Origin(), sources=None).save(
            folder.percepts(name)
        )
    map_experiment(own, folder)
    run_experiment(own, folder)
    noon = Recording.load(folder.percepts("noon"))
    replace(noon, truth=noon.truth + 3.0).save(folder.percepts("noon"))
    with pytest.raises(InputError, match="noon: its positions"):
        FinishedRun.load(folder)
    run_experiment(own, folder, encoding=Encoding(own, folder, tell=told.append))
    assert count_encoded(told) == {"map": 1}
    assert FinishedRun.load(folder).environment.memory.positions.min() == 3.0


@pytest.mark.parametrize(
    ("stop", "left", "notes"),
    [
        (KeyboardInterrupt, 1, 1),
        (RuntimeError, 4, 0),  # what was kept on the way
    ],
)
def test_an_interrupted_encoding_goes_on(home, monkeypatch, stop, left, notes):
    monkeypatch.setattr(encoding_module, "_SAVED_EVERY", 6)
    folder, told = RunFolder(home / "cut"), []

    def stopping(rows):
        yield from rows[:15]
        raise stop

    with pytest.raises(stop) as stopped:
        Encoding(experiment(home), folder, watch=stopping).recording("noon")
    assert len(stopped.value.__dict__.get("__notes__", [])) == notes
    assert not folder.percepts("noon").exists()
    for image in images(home, "noon")[:11]:
        blacken(image)
    encoding = Encoding(experiment(home), folder, tell=told.append)
    encoding.recording("noon")
    encoding.publish()
    assert [f"{left} of 16" in line for line in told] == [True]
    assert folder.percepts("noon").read_bytes() == (home / "run/percepts/noon.npz").read_bytes()
    assert folder.keypoints("noon").read_bytes() == (home / "run/percepts/noon.keypoints.npz").read_bytes()
    assert sorted(path.name for path in folder.percepts_folder.iterdir()) == ["noon.keypoints.npz", "noon.npz"]
