"""Recordings change after they were encoded: the next run is that of a fresh folder, and encodes what it must.

Images that need not be read are blackened, with their sizes and time stamps kept: had they been read, the percepts
would not be those of the fresh folder.
"""

import os
import shutil
from dataclasses import replace

import pytest

from tmapr.artifacts.arrays import load_arrays, save_arrays
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.percepts import KIND, VERSION, Origin, Recording
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.experiment import read_experiment
from tmapr.running import encoding as encoding_module
from tmapr.running.encoding import Encoding
from tmapr.running.evaluating import evaluate_run, read_errors
from tmapr.running.finished import FinishedRun
from tmapr.running.running import map_experiment, run_experiment
from tmapr.types import Fault
from walked import COUNT, blacken, view, without_times, write_list, write_walk


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """A finished run."""
    home = write_walk(tmp_path_factory.mktemp("walked"))
    make(home, home / "run")
    return home


@pytest.fixture
def home(walked, tmp_path):
    """A copy of it, with the time stamps of the data, that a test may change."""
    shutil.copytree(walked, tmp_path / "home")
    (tmp_path / "home/walk.toml").write_text(
        (walked / "walk.toml").read_text().replace(str(walked), str(tmp_path / "home"))
    )
    return tmp_path / "home"


def experiment(home):
    return read_experiment(home / "walk.toml")


def make(home, run, trust="stamps"):
    """Map if there is no map, run and evaluate; the lines that were told, and errors.json."""
    told, folder = [], RunFolder(run)
    encoding = Encoding(experiment(home), folder, trust=trust, tell=told.append)
    if not folder.map.exists():
        map_experiment(experiment(home), folder, encoding=encoding)
    run_experiment(experiment(home), folder, encoding=encoding)
    evaluate_run(FinishedRun.load(folder)).save(folder.errors)
    return told


def images(home, name):
    return sorted((home / "data" / name).glob("*.png"))


def correct_positions(home):
    for name in ("noon", "night"):
        write_list(home / "data" / name, range(COUNT), shift=12.0)


def replace_image(home):
    write_frame(home / "data/noon/07.png", view(7, seed=42))


def remove_frames(home):
    write_list(home / "data/night", [row for row in range(COUNT) if row not in (4, 5, 9, 12)])
    for row in (4, 5, 9, 12):
        (home / f"data/night/{row:02}.png").unlink()


def extend_reference(home):
    for row in range(COUNT, COUNT + 5):
        write_frame(home / f"data/noon/{row:02}.png", view(row))
    write_list(home / "data/noon", range(COUNT + 5))


def freeze(home):
    shutil.copy(home / "data/night/03.png", home / "data/night/04.png")


def tear(home):
    (home / "data/night/03.png").write_bytes(b"\x89PNG torn")


def rename(home):
    for name in ("noon", "night"):
        table = home / "data" / name / "frames.csv"
        table.write_text(table.read_text().replace(".png", ".PNG"))
        for image in images(home, name):
            image.rename(image.with_suffix(".PNG"))


def touch(home):
    for image in images(home, "noon") + images(home, "night"):
        os.utime(image)


def change_stamps(home):
    table = home / "data/night/frames.csv"
    table.write_text(table.read_text().replace("1000000000", "1000000001"))


MAPPED = "map.npz: what it was made from, noon, has changed since; mapped again"
CHANGES = {
    "positions corrected by 12 m": (
        correct_positions,
        {},
        [
            "noon: positions changed; 0 of 16 images are encoded again",
            MAPPED,
            "night: positions changed; 0 of 16 images are encoded again",
        ],
    ),
    "one image replaced": (
        replace_image,
        {"noon": (7, 8)},
        ["noon: 1 of 16 images changed; 2 of 16 images are encoded again", MAPPED],
    ),
    "four frames removed": (
        remove_frames,
        {"night": (3, 6, 8, 10, 11, 13)},
        ["night: 4 images removed; 3 of 12 images are encoded again"],
    ),
    "the reference extended": (
        extend_reference,
        {"noon": range(COUNT - 1, COUNT + 5)},
        ["noon: 5 images added; 5 of 21 images are encoded again", MAPPED],
    ),
    "an image became that before it": (
        freeze,
        {"night": (3, 4, 5)},
        ["night: 1 of 16 images changed; 2 of 16 images are encoded again"],
    ),
    "an image torn": (
        tear,
        {"night": (2, 3, 4)},
        ["night: 1 of 16 images changed; 2 of 16 images are encoded again"],
    ),
    "files renamed": (rename, {"noon": range(COUNT), "night": range(COUNT)}, []),
    "files copied": (touch, {"noon": range(COUNT), "night": range(COUNT)}, []),
    "stamps changed": (change_stamps, {}, ["night: stamps changed; 0 of 16 images are encoded again"]),
}


QUICK = tuple(CHANGES)[:5]


@pytest.mark.parametrize(
    "what", [pytest.param(each, marks=() if each in QUICK else pytest.mark.long) for each in CHANGES]
)
def test_a_changed_recording_gives_what_a_fresh_folder_gives_and_only_what_changed_is_encoded(home, what):
    change, needed, lines = CHANGES[what]
    change(home)
    make(home, home / "fresh")
    for name in ("noon", "night"):
        for image in images(home, name):
            if int(image.stem) not in needed.get(name, ()):
                blacken(image)
    told = make(home, home / "run")
    assert told == [f"{home}/run/{line}" if line == MAPPED else line for line in lines]
    for file in ("percepts/noon.npz", "percepts/night.npz", "map.npz", "state.npz", "estimates/night.csv"):
        assert (home / "run" / file).read_bytes() == (home / "fresh" / file).read_bytes(), file
    mine, fresh = (without_times((home / run / "errors.json").read_text()) for run in ("run", "fresh"))
    assert without_digests(mine) == without_digests(fresh)
    assert make(home, home / "run") == []


def without_digests(text):
    """Without that of the provenance, which has times in it."""
    return [line for line in text.splitlines() if "evaluated_sha256" not in line]


def test_faults_are_those_of_the_whole_stream_after_a_frozen_frame_is_gone(home):
    freeze(home)
    make(home, home / "run")
    assert Recording.load(home / "run/percepts/night.npz").percepts[4].fault is Fault.FROZEN
    write_frame(home / "data/night/03.png", view(3, seed=9))
    make(home, home / "run")
    assert Recording.load(home / "run/percepts/night.npz").percepts[4].fault is None


def test_an_image_is_frozen_if_it_is_the_last_one_that_could_be_read(home):
    tear(home)
    make(home, home / "run")
    shutil.copy(home / "data/night/04.png", home / "data/night/02.png")
    told = make(home, home / "run")
    assert told == ["night: 1 of 16 images changed; 3 of 16 images are encoded again"]
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


def test_percepts_of_an_earlier_version_are_encoded_once_more(home):
    path = home / "run/percepts/night.npz"
    before = path.read_bytes()
    replace(Recording.load(path), sources=None).save(path)
    said = "night: its percepts were of an earlier version, which kept no sources; all images are encoded again"
    assert make(home, home / "run") == [said]
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
    assert make(home, home / "run")[-1] == "night: positions changed; 0 of 16 images are encoded again"
    assert Recording.load(halved).precision == "float16"


def test_percepts_of_two_precisions_are_not_put_into_one_file(home, halved):
    freeze(home)
    made = "its percepts were made in float16, images changed, and here it is float32"
    assert make(home, home / "run") == [f"night: {made}; all images are encoded again"]
    make(home, home / "fresh")
    assert halved.read_bytes() == (home / "fresh/percepts/night.npz").read_bytes()
    assert Recording.load(halved).precision == "float32"


@pytest.fixture
def unturned(home):
    """The home as version 3 would have left it."""
    before = {name: (home / f"run/percepts/{name}.npz").read_bytes() for name in ("noon", "night")}
    for name in before:
        forget_shifts(home / f"run/percepts/{name}.npz")
    return before


def forget_shifts(path):
    header, arrays = load_arrays(path, KIND, VERSION)
    arrays.pop("shifts")
    save_arrays(path, replace(header, version=3), arrays)


def test_percepts_of_a_version_that_did_not_look_for_turns_are_encoded_once_more(home, unturned):
    said = "its percepts were of an earlier version, which did not look for turns; all images are encoded again"
    assert make(home, home / "run") == [f"noon: {said}", f"night: {said}"]
    for name, before in unturned.items():
        assert (home / f"run/percepts/{name}.npz").read_bytes() == before
    assert make(home, home / "run") == []


def test_without_the_recording_they_are_used_as_they_are(home, unturned):
    kept = {name: (home / f"run/percepts/{name}.npz").read_bytes() for name in unturned}
    shutil.rmtree(home / "data")
    make(home, home / "run")
    assert {name: (home / f"run/percepts/{name}.npz").read_bytes() for name in unturned} == kept
    assert {percept.shift for percept in Recording.load(home / "run/percepts/night.npz").percepts} == {None}


def test_a_program_s_own_without_shifts_are_used_as_they_are(home):
    own = read_experiment(home / "walk.toml", ["perception.encoder=own"])
    folder, told = RunFolder(home / "own"), []
    for name in ("noon", "night"):
        path = folder.percepts(name)
        replace(Recording.load(home / f"run/percepts/{name}.npz"), origin=Origin(), sources=None).save(path)
        forget_shifts(path)
    kept = folder.percepts("night").read_bytes()
    map_experiment(own, folder)
    run_experiment(own, folder, encoding=Encoding(own, folder, tell=told.append))
    assert (told, folder.percepts("night").read_bytes()) == ([], kept)


def test_an_evaluation_of_what_version_3_left_is_not_refused(home):
    """Its estimates were made from percepts without shifts, and are compared with the same."""
    own = read_experiment(home / "walk.toml", ["perception.encoder=own"])
    folder = RunFolder(home / "own")
    for name in ("noon", "night"):
        recording = Recording.load(home / f"run/percepts/{name}.npz")
        blind = tuple(replace(percept, shift=None) for percept in recording.percepts)
        replace(recording, percepts=blind, origin=Origin(), sources=None).save(folder.percepts(name))
    map_experiment(own, folder)
    run_experiment(own, folder)
    for name in ("noon", "night"):
        forget_shifts(folder.percepts(name))
    evaluate_run(FinishedRun.load(folder))


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


def tell_absence(home, name):
    """The line on a recording that nobody can look at."""
    return f"{name}: is not in {home}/data; the percepts and positions kept in {home}/run/percepts/{name}.npz are used"


def test_without_the_recording_its_percepts_and_their_positions_are_used_and_a_line_says_so(home):
    estimates = (home / "run/estimates/night.csv").read_bytes()
    shutil.rmtree(home / "data")
    absent = [tell_absence(home, name) for name in ("noon", "night")]
    assert make(home, home / "run") == absent
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
        (replace_image, "noon: 1 of 16 images changed since its percepts were made; run `tmapr run` again"),
        (remove_frames, "night: 4 images removed since its percepts were made; run `tmapr run` again"),
        (correct_positions, "noon: its positions have changed since the estimates were made; run `tmapr run` again"),
    ],
)
def test_an_evaluation_of_estimates_that_no_longer_follow_is_refused(home, change, said):
    make(home, home / "run")
    change(home)
    with pytest.raises(InputError) as refused:
        evaluate_run(FinishedRun.load(RunFolder(home / "run")))
    assert str(refused.value) == said


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
    with pytest.raises(InputError, match="noon: its positions have changed since the estimates were made"):
        FinishedRun.load(folder)
    run_experiment(own, folder, encoding=Encoding(own, folder, tell=told.append))
    assert told == [f"{home}/own/{MAPPED}"]
    assert FinishedRun.load(folder).environment.memory.positions.min() == 3.0


@pytest.mark.parametrize(
    ("stop", "left", "notes"),
    [
        (KeyboardInterrupt, 1, ["15 of 16 images of noon are kept; the same command goes on"]),
        (RuntimeError, 4, []),  # what was kept on the way
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
    assert stopped.value.__dict__.get("__notes__", []) == notes
    assert not folder.percepts("noon").exists()
    for image in images(home, "noon")[:11]:
        blacken(image)
    encoding = Encoding(experiment(home), folder, tell=told.append)
    encoding.recording("noon")
    encoding.publish()
    assert told == [f"noon: goes on where an encoding was interrupted; {left} of 16 images are left"]
    assert folder.percepts("noon").read_bytes() == (home / "run/percepts/noon.npz").read_bytes()
    assert sorted(path.name for path in folder.percepts_folder.iterdir()) == ["noon.keypoints.npz", "noon.npz"]
