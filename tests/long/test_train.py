"""`tmapr train` on a folder of made-up images, and the head in every command after it."""

import json
import re
import shutil
import subprocess
import sys
from contextlib import chdir

import numpy as np
import pytest

import tmapr
from commandline import command, refusal
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.lock import writing
from tmapr.artifacts.trajectory import load_estimates
from tmapr.perception.weights import read_checkpoint

EXPERIMENT = """
name = "street"
[data]
train = ["noon"]
reference = "noon"
test = ["night"]
[training]
epochs = 2
learning_rate = 1e-3
[tracking.gates]
min_similarity = 0.1
"""
HEIGHT, WIDTH = 64, 80
NOON, NIGHT = 30, 6


def write_drive(folder, count, seed):
    """Images along a street of 40 m: a warm edge moves through the picture with the position."""
    rng = np.random.default_rng(seed)
    columns = np.arange(WIDTH)
    lines = ["stamp,file,x,y,heading"]
    for row, x in enumerate(np.linspace(0.0, 40.0, count)):
        edge = 800 / (1 + np.exp(-(columns - x * WIDTH / 40.0) / 3))
        write_frame(folder / f"{row:02}.png", (3000 + edge + rng.normal(0, 5, (HEIGHT, WIDTH))).astype(np.uint16))
        lines.append(f"{10**18 + row * 10**8},{row:02}.png,{x:.3f},5.0,0.1")
    (folder / "frames.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home in which the head was trained, the street mapped and the night localized."""
    home = tmp_path_factory.mktemp("home")
    write_drive(home / "data/noon", NOON, seed=1)
    write_drive(home / "data/night", NIGHT, seed=2)
    (home / "street.toml").write_text(EXPERIMENT)
    with chdir(home):
        for verb in ("train", "map", "run"):
            assert command(verb, "street.toml", "--quiet", "--device", "cpu") == 0
    return home


@pytest.fixture
def street(home, monkeypatch):
    monkeypatch.chdir(home)
    return home / "runs/street"


@pytest.fixture
def copied(home, tmp_path, monkeypatch):
    """A home of one's own to spoil."""
    shutil.copytree(home, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy/runs/street"


def test_the_estimates_carry_the_head_s_positions(street):
    table = load_estimates(street / "estimates/night.csv")
    assert table.apr_positions.known.all()
    assert table.apr_headings.known.all()
    assert np.isfinite(table.apr_positions.values).all()


def test_the_run_s_own_experiment_names_the_head(street):
    named = re.search(r'^apr = "(.*?)"', (street / "experiment.toml").read_text(), re.MULTILINE)[1]
    assert re.fullmatch(r"apr/00000[12]/head\.safetensors", named)
    assert read_checkpoint(street / named).card.apr.pooled == (7, 7)


def test_a_new_folder_that_is_saved_to_has_the_head_of_its_own(street, tmp_path):
    frame = next(iter(tmapr.open_sequence(street.parents[1] / "data/night")))
    expected = tmapr.load(street).step(frame).percept.position
    shutil.copytree(street, tmp_path / "moved", symlinks=True)
    tmapr.load(tmp_path / "moved").save(tmp_path / "new")
    shutil.rmtree(tmp_path / "moved")
    np.testing.assert_array_equal(tmapr.load(tmp_path / "new").step(frame).percept.position, expected)


def test_a_finished_training_says_so_and_changes_nothing(street, capsys):
    before = {path: path.stat().st_mtime_ns for path in (street / "apr").rglob("*")}
    assert command("train", "street.toml") == 0
    assert capsys.readouterr().out.startswith("already trained: best epoch ")
    assert {path: path.stat().st_mtime_ns for path in (street / "apr").rglob("*")} == before


def test_two_processes_train_by_the_same_command(copied):
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "tmapr"]
    shutil.rmtree(copied / "apr")
    shutil.rmtree(copied / "cache")
    done = subprocess.run(
        [*launch, "train", "street.toml", "--device", "cpu"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("best epoch ") == 1
    assert (
        read_checkpoint(copied / "apr" / (copied / "apr/best").read_text().strip() / "head.safetensors").card.apr
        is not None
    )


@pytest.mark.parametrize("model", ["atloc", "robustloc", "thermalloc"])
def test_a_baseline_is_trained_and_resumed_by_the_same_command(copied, capsys, model):
    options = ["street.toml", "--model", model, "--device", "cpu", "--set", "perception.size=[64, 64]"]
    options += ["--set", "baselines.robustloc.size=32", "--set", "baselines.robustloc.spacing=1"]
    assert command("train", *options, "--set", "training.epochs=1") == 0
    assert "weights (" in capsys.readouterr().out
    assert command("train", *options) == 0
    assert "2 epochs, 1 of them done" in capsys.readouterr().out
    assert command("train", *options) == 0
    assert capsys.readouterr().out.startswith("already trained: best epoch ")
    trained = copied / "baselines" / model
    assert (trained / (trained / "best").read_text().strip() / "model.safetensors").is_file()
    said = refusal(capsys, "train", *options, "--set", f"baselines.{model}.rotation=planar")
    assert f"was trained with baselines.{model}.rotation = log-quaternion (now planar)" in said


def test_tokens_on_the_fly_teach_as_kept_ones_do(copied):
    shutil.rmtree(copied / "apr")
    assert command("train", "street.toml", "--quiet", "--device", "cpu", "--set", "training.cached=false") == 0
    assert (copied / "cache/pictures/noon/index.npz").exists()
    record = json.loads((copied / "apr/000002/training.json").read_text())
    assert record["training"]["cached"] is False


def test_changed_settings_are_refused_with_the_key_and_the_way_out(street, capsys):
    said = refusal(capsys, "train", "street.toml", "--set", "training.dropout=0.2")
    assert "training.dropout = 0.1 (now 0.2)" in said
    assert "remove runs/street/apr to train again" in said


def test_a_folder_that_is_being_written_is_not_trained_in(copied, capsys):
    with writing(copied):
        said = refusal(capsys, "train", "street.toml", "--device", "cpu", "--set", "training.epochs=9")
    assert "is being written by process" in said


def test_percepts_made_without_the_head_are_made_again(copied, capsys):
    (copied / "apr").rename(copied / "elsewhere")
    for made in ("map.npz", "percepts"):
        shutil.rmtree(copied / made) if made == "percepts" else (copied / made).unlink()
    assert command("map", "street.toml", "--quiet") == 0
    (copied / "elsewhere").rename(copied / "apr")
    assert command("map", "street.toml") == 0
    said = capsys.readouterr().err
    assert said.startswith("noon: its percepts were made with perception.apr = None (now runs/street/apr/")
    assert said.endswith("; all images are encoded again\n")


def test_percepts_of_another_head_are_told_by_its_digest(copied, capsys):
    shutil.rmtree(copied / "apr")
    assert command("train", "street.toml", "--quiet", "--set", "training.seed=1", "--device", "cpu") == 0
    assert command("run", "street.toml") == 0
    assert "; other apr weights (" in capsys.readouterr().err


def test_a_descriptor_is_trained_by_the_same_command(copied, capsys):
    options = ["street.toml", "--model", "descriptor", "--device", "cpu"]
    said = refusal(capsys, "train", *options)
    assert "data.train names one traverse, 'noon'" in said
    write_drive(copied.parents[1] / "data/dusk", NOON, seed=3)
    options += ["--set", 'data.train=["noon", "dusk"]', "--set", "metric.steps=2", "--set", "metric.pairs=8"]
    assert command("train", *options) == 0
    told = capsys.readouterr().out
    assert "step 0: as it is now; R@1 " in told
    assert "the shipped head is trained" in told
    assert ("no better than before" in told) != ("[perception]" in told)
