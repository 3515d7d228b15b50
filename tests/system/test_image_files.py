"""From image files to estimates by the shipped network: what percepts carry of them, and which are refused."""

import re
import shutil

import cv2
import numpy as np
import pytest

import tmapr
from commandline import command, refusal
from tmapr.artifacts.percepts import Origin, Recording
from tmapr.artifacts.run import file_digest
from tmapr.artifacts.trajectory import load_estimates
from tmapr.data.folder import read_folder
from tmapr.exceptions import InputError
from tmapr.perception.settings import DEFAULT_WEIGHTS, SHIPPED_HEAD, Perception
from tmapr.types import Fault, Odometry, Reason

CLIP = ("--set", "perception.image.clip_limit=3.0")
DIFFERS = "perception.image.clip_limit = 2.0 (now 3.0)"


@pytest.fixture
def home(street_copy, monkeypatch):
    monkeypatch.chdir(street_copy)
    return street_copy


def add_column(table, name, values):
    header, *rows = table.read_text().splitlines()
    table.write_text(
        "\n".join([f"{header},{name}", *(f"{row},{each}" for row, each in zip(rows, values, strict=True))])
    )


@pytest.mark.parametrize("name", ["noon", "night"])
def test_percepts_carry_stamps_positions_and_the_mark_of_the_perception_that_made_them(name, street):
    cached = Recording.load(street / f"runs/street/percepts/{name}.npz")
    frames = list(read_folder(street / "data", name, cached.frame))
    assert cached.stamps.tolist() == [frame.stamp for frame in frames]
    np.testing.assert_array_equal(cached.truth, [frame.position for frame in frames])
    assert {percept.position for percept in cached.percepts} == {None}
    weights = {"encoder": DEFAULT_WEIGHTS, "head": file_digest(SHIPPED_HEAD)}
    assert cached.origin == Origin(Perception().model_dump(mode="json"), weights)


def test_headings_and_speeds_of_the_tables_come_to_percepts_and_estimates(home):
    """Without a pose head, a localized frame heads as its reference was recorded."""
    headings = 1.5 + 0.01 * np.arange(70)
    add_column(home / "data/noon/frames.csv", "heading", headings)
    speeds = 3.7 + np.arange(70) / 1024  # about what was driven
    add_column(home / "data/night/frames.csv", "speed", speeds)
    assert command("run", "street.toml", "--quiet") == 0
    night = Recording.load(home / "runs/street/percepts/night.npz")
    assert [percept.motion for percept in night.percepts] == [Odometry(speed) for speed in speeds]
    table = load_estimates(home / "runs/street/estimates/night.csv")
    headed = table.headings.known
    assert headed.sum() > 10
    np.testing.assert_allclose(table.headings.values[headed], headings[table.references.values[headed]])
    turns = np.loadtxt(home / "runs/street/estimates/night.tum")[:, 6:]
    halves = np.where(headed, table.headings.values, 0.0) / 2
    np.testing.assert_allclose(turns, np.column_stack([np.sin(halves), np.cos(halves)]), atol=1e-12)


def test_a_frame_that_cannot_be_used_is_answered_without_its_image(home):
    empty, torn = (home / f"data/night/images/{row}.jpg" for row in (10, 11))
    cv2.imwrite(str(empty), np.full((256, 320), 90, np.uint8))
    torn.write_bytes(torn.read_bytes()[:2000])
    assert command("run", "street.toml", "--quiet") == 0
    found = Recording.load(home / "runs/street/percepts/night.npz")
    assert {row: each.fault for row, each in enumerate(found.percepts) if each.fault} == {
        10: Fault.EMPTY,
        11: Fault.INVALID,
    }
    reasons = load_estimates(home / "runs/street/estimates/night.csv").reasons
    assert [row for row, reason in enumerate(reasons) if reason == Reason.FAULTY_FRAME] == [10, 11]


def test_frames_given_one_by_one_are_localized_as_by_the_run(street):
    localizer = tmapr.load(street / "runs/street")
    table = load_estimates(street / "runs/street/estimates/night.csv")
    for row, frame in zip(range(12), tmapr.open_sequence(street / "data/night"), strict=False):
        found = localizer.step(frame)
        assert found.verdict.reason == table.reasons[row]
        # The cache keeps float32; one frame at a time and a batch differ by as much.
        np.testing.assert_allclose(found.position, table.positions[row], atol=1e-3)


def test_a_second_run_reads_the_cache_and_no_image(home):
    shutil.rmtree(home / "data")
    before = (home / "runs/street/estimates/night.csv").read_bytes()
    assert command("map", "street.toml", "--quiet") == command("run", "street.toml", "--quiet") == 0
    assert (home / "runs/street/estimates/night.csv").read_bytes() == before


@pytest.mark.parametrize("verb", ["map", "run"])
def test_other_preprocessing_is_refused_with_the_key_that_differs_where_the_images_are_not(verb, home, capsys):
    shutil.rmtree(home / "data")
    said = refusal(capsys, verb, "street.toml", *CLIP)
    assert "runs/street/percepts/noon.npz" in said
    assert DIFFERS in said


def test_a_loaded_map_of_other_preprocessing_is_refused(home):
    written = home / "runs/street/experiment.toml"
    written.write_text(written.read_text().replace("clip_limit = 2.0", "clip_limit = 3.0"))
    with pytest.raises(InputError, match=rf"map.npz: .*{re.escape(DIFFERS)}"):
        tmapr.load(home / "runs/street")


def test_other_preprocessing_is_that_of_a_fresh_folder_and_is_told_with_the_key_that_differs(home, capsys):
    for name in ("noon", "night"):
        table = home / f"data/{name}/frames.csv"
        table.write_text("\n".join(table.read_text().splitlines()[:13]))
    assert command("run", "street.toml", *CLIP) == 0
    told = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in told if DIFFERS in line] == ["noon", "night"]
    for verb in ("map", "run"):
        assert command(verb, "street.toml", *CLIP, "--quiet", "--run", "fresh") == 0
    for file in ("percepts/night.npz", "map.npz", "estimates/night.csv"):
        assert file_digest(home / "runs/street" / file) == file_digest(home / "fresh" / file)


def test_a_sequence_that_is_not_there_is_refused_and_nothing_is_cached(home, capsys):
    assert "data/dusk" in refusal(capsys, "map", "street.toml", "--run", "fresh", "--set", "data.reference=dusk")
    assert not (home / "fresh").exists()


def test_images_none_of_which_can_be_read_are_refused_with_the_reason_and_not_cached(home, capsys):
    colours = np.random.default_rng(5).integers(0, 255, (64, 64, 3)).astype(np.uint8)
    for file in (home / "data/noon/images").iterdir():
        cv2.imwrite(str(file), colours)
    assert "false-colour" in refusal(capsys, "map", "street.toml", "--run", "fresh")
    assert not (home / "fresh").exists()
