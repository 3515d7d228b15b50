"""From image files in the folder layout to estimates, with the shipped network and without torch."""

import json
import os
import re
import shutil
import subprocess
import sys

import cv2
import numpy as np
import pytest

from commandline import command
from tmapr.artifacts.images import write_png
from tmapr.artifacts.percepts import Origin, Recording
from tmapr.artifacts.run import file_digest
from tmapr.artifacts.trajectory import load_estimates
from tmapr.exceptions import InputError
from tmapr.perception.settings import DEFAULT_WEIGHTS, SHIPPED_HEAD, Perception
from tmapr.types import Fault, Odometry, Reason

COUNT, HEIGHT, WIDTH, STEP = 30, 128, 160, 24
METRES = 2.0
EMPTY, TORN = 10, 11
START = 1_628_215_174_691_250_698
WALK = """
name = "walk"
[data]
layout = "folder"
root = "data"
reference = "noon"
test = ["night"]
[places]
projection = { dimension = 64 }
[tracking.gates]
min_similarity = 0.3
"""


def panorama():
    """A wall as long as the walk, rough at several scales."""
    rng = np.random.default_rng(41)
    wide = HEIGHT, WIDTH + COUNT * STEP
    rough = [cv2.resize(rng.normal(size=(wide[0] // cell, wide[1] // cell)), wide[::-1]) for cell in (32, 16, 8)]
    return np.sum(rough, axis=0)


def look(row):
    """The heading that is recorded of a frame, a quarter turn and more from the way it goes."""
    return 1.5 + 0.01 * row


def write_sequence(folder, start, change):
    """Frames of the walk along the wall, two metres apart, ten a second; the camera looks at the wall."""
    wall, rows = panorama(), ["stamp,file,x,y,heading,speed"]
    for row in range(COUNT):
        counts = change(wall[:, row * STEP : row * STEP + WIDTH]).clip(0, 16382).astype(np.uint16)
        write_png(folder / f"images/{row:02}.png", counts)
        rows.append(f"{start + row * 100_000_000},images/{row:02}.png,{METRES * row},5.0,{look(row)},{20 + row / 64}")
    (folder / "frames.csv").write_text("\n".join(rows) + "\n")


def write_walk(home):
    noise = np.random.default_rng(42)
    write_sequence(home / "data/noon", START, lambda scene: 3500 + 300 * scene)
    write_sequence(home / "data/night", START + 10**13, lambda s: 2900 + 90 * s + noise.normal(0, 4, s.shape))
    images = home / "data/night/images"
    write_png(images / f"{EMPTY}.png", np.full((HEIGHT, WIDTH), 3000, np.uint16))
    (images / f"{TORN}.png").write_bytes((images / f"{TORN}.png").read_bytes()[:5000])
    (home / "walk.toml").write_text(WALK)


WITHOUT_TORCH = """
import json, sys

class Absent:  # as if not installed; SciPy would ask a None among the modules for its tensors
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
{}
print()
print(json.dumps([name for name, module in sys.modules.items() if name.partition(".")[0] == "torch" and module]))
"""
COMMANDS = """
from tmapr.cli.main import run
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["tmapr", *arguments]
    try:
        run()
    except SystemExit as stopped:
        assert not stopped.code, (arguments, stopped.code)
"""
STEPS = """
import tmapr
from pathlib import Path
from tmapr.data.folder import read_folder
localizer = tmapr.load("runs/walk")
estimates = [localizer.step(frame) for frame in read_folder(Path("data"), "night")]
print(json.dumps([[*estimate.position, estimate.verdict.reason] for estimate in estimates]))
"""


def without_torch(program, home, *arguments):
    """Run a program where torch cannot be imported; its last two lines, from JSON."""
    whole = [sys.executable, "-c", WITHOUT_TORCH.format(program), *arguments]
    done = subprocess.run(whole, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *printed, last = done.stdout.splitlines()
    assert json.loads(last) == []
    return printed


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The walk mapped, run and evaluated."""
    home = tmp_path_factory.mktemp("walk")
    write_walk(home)
    verbs = [["map", "walk.toml", "--device", "cpu"], ["run", "walk.toml"], ["evaluate", "runs/walk"]]
    printed = without_torch(COMMANDS, home, json.dumps(verbs))
    return home, "\n".join(printed)


@pytest.fixture
def home(finished, tmp_path, monkeypatch):
    """A copy of it to change."""
    shutil.copytree(finished[0], tmp_path / "home")
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


def refusal(capsys, *arguments):
    """The one line that a refused command says."""
    capsys.readouterr()
    assert command(*arguments) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), said.err[:7]) == ("", 1, "tmapr: ")
    return said.err


def estimates(home):
    return load_estimates(home / "runs/walk/estimates/night.csv")


def test_images_are_mapped_localized_and_evaluated_without_torch(finished):
    home, printed = finished
    assert "runs/walk/map.npz: 30 references in" in printed
    errors = json.loads((home / "runs/walk/errors.json").read_text())["test"]["night"]
    assert (errors["frames"], errors["apr"]) == (COUNT, None)
    # Half a frame's step: the wall looks the same at night but for its contrast.
    assert errors["retrieval"]["median"] <= METRES / 2
    assert errors["fused"]["median"] < 5 * METRES


def test_what_a_table_says_of_the_motion_comes_with_the_percepts(finished):
    found = Recording.load(finished[0] / "runs/walk/percepts/night.npz")
    assert [percept.motion for percept in found.percepts] == [Odometry(20.0 + row / 64) for row in range(COUNT)]


def test_without_a_pose_head_a_localized_frame_heads_as_its_reference_was_recorded(finished):
    table = estimates(finished[0])
    headed = table.headings.known
    assert headed.sum() > COUNT / 2
    np.testing.assert_allclose(table.headings.values[headed], look(table.references.values[headed]))
    assert not table.apr_headings.known.any()
    turns = np.loadtxt(finished[0] / "runs/walk/estimates/night.tum")[:, 6:]
    expected = np.where(headed, table.headings.values, 0.0) / 2
    np.testing.assert_allclose(turns, np.column_stack([np.sin(expected), np.cos(expected)]), atol=1e-12)


def test_a_frame_that_cannot_be_used_is_localized_without_its_image(finished):
    home, _ = finished
    found = Recording.load(home / "runs/walk/percepts/night.npz")
    faults = {row: percept.fault for row, percept in enumerate(found.percepts) if percept.fault}
    assert faults == {EMPTY: Fault.EMPTY, TORN: Fault.INVALID}
    faulty = [row for row, reason in enumerate(estimates(home).reasons) if reason == Reason.FAULTY_FRAME]
    assert faulty == [EMPTY, TORN]


@pytest.mark.parametrize("sequence", ["noon", "night"])
def test_percepts_carry_the_mark_of_the_perception_that_made_them(sequence, finished):
    cached = Recording.load(finished[0] / f"runs/walk/percepts/{sequence}.npz")
    weights = {"encoder": DEFAULT_WEIGHTS, "head": file_digest(SHIPPED_HEAD)}
    assert cached.origin == Origin(Perception().model_dump(mode="json"), weights)


def test_percepts_carry_the_stamps_and_positions_of_the_frames(finished):
    cached = Recording.load(finished[0] / "runs/walk/percepts/noon.npz")
    assert cached.stamps.tolist() == [START + row * 100_000_000 for row in range(COUNT)]
    np.testing.assert_array_equal(cached.truth, [(METRES * row, 5.0) for row in range(COUNT)])
    assert all(percept.position is None for percept in cached.percepts)


def test_a_second_run_reads_the_cache_and_no_image(home):
    shutil.rmtree(home / "data")
    before = (home / "runs/walk/estimates/night.csv").read_bytes()
    assert command("map", "walk.toml", "--quiet") == command("run", "walk.toml", "--quiet") == 0
    assert (home / "runs/walk/estimates/night.csv").read_bytes() == before


def test_frames_given_one_by_one_are_localized_as_by_the_run(home):
    *_, stepped, _ = without_torch(STEPS, home)
    table = estimates(home)
    found = json.loads(stepped)
    assert [reason for *_, reason in found] == list(table.reasons)
    # The cache keeps float32; one frame at a time and a batch differ by as much.
    np.testing.assert_allclose([position for *position, _ in found], table.positions, atol=1e-3)


CLIP = "perception.image.clip_limit = 2.0 (now 3.0)"


@pytest.mark.parametrize("verb", ["map", "run"])
def test_other_preprocessing_is_refused_with_the_key_that_differs_where_the_images_are_not(verb, home, capsys):
    shutil.rmtree(home / "data")
    said = refusal(capsys, verb, "walk.toml", "--set", "perception.image.clip_limit=3.0")
    assert f"runs/walk/percepts/noon.npz: was made with {CLIP}" in said


def test_other_preprocessing_is_that_of_a_fresh_folder_and_is_told_with_the_key_that_differs(home, capsys):
    other = ("--set", "perception.image.clip_limit=3.0")
    assert command("run", "walk.toml", *other) == 0
    told = capsys.readouterr().err.splitlines()
    encoded = f"its percepts were made with {CLIP}; all images are encoded again"
    mapped = "runs/walk/map.npz: what it was made from, noon, has changed since; mapped again"
    assert told == [f"noon: {encoded}", mapped, f"night: {encoded}"]
    assert command("map", "walk.toml", *other, "--quiet", "--run", "fresh") == 0
    assert command("run", "walk.toml", *other, "--quiet", "--run", "fresh") == 0
    for file in ("percepts/night.npz", "map.npz", "estimates/night.csv"):
        assert file_digest(home / "runs/walk" / file) == file_digest(home / "fresh" / file)


def test_content_is_compared_and_all_is_made_anew_on_request(home, capsys):
    image = home / "data/night/images/20.png"
    before, known = file_digest(home / "runs/walk/percepts/night.npz"), image.stat()
    image.write_bytes(bytes(known.st_size))
    os.utime(image, ns=(known.st_atime_ns, known.st_mtime_ns))
    told = []
    for option in ("--quiet", "--verify", "--force"):
        assert command("run", "walk.toml", option) == 0
        told.append((capsys.readouterr().err, file_digest(home / "runs/walk/percepts/night.npz") == before))
    assert told == [
        ("", True),
        ("night: 1 of 30 images changed; 2 of 30 images are encoded again\n", False),
        ("", False),
    ]


def test_a_loaded_map_of_other_preprocessing_is_refused(home):
    import tmapr as package

    written = home / "runs/walk/experiment.toml"
    written.write_text(written.read_text().replace("clip_limit = 2.0", "clip_limit = 3.0"))
    with pytest.raises(InputError, match=rf"map.npz: was made with {re.escape(CLIP)}"):
        package.load(home / "runs/walk")


def test_a_sequence_that_is_not_there_is_refused_and_nothing_is_cached(home, capsys):
    said = refusal(capsys, "map", "walk.toml", "--run", "fresh", "--set", "data.reference=dusk")
    assert "data/dusk" in said
    assert not (home / "fresh").exists()


def test_images_that_were_not_there_are_encoded_when_they_are(home, capsys):
    (home / "data/noon/images").rename(home / "unplugged")
    refusal(capsys, "map", "walk.toml", "--run", "fresh")
    (home / "unplugged").rename(home / "data/noon/images")
    assert command("map", "walk.toml", "--run", "fresh", "--quiet") == 0


def test_images_none_of_which_can_be_read_are_refused_with_the_reason_and_not_cached(home, capsys):
    colours = np.random.default_rng(5).integers(0, 255, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    for file in (home / "data/noon/images").iterdir():
        write_png(file, colours)
    assert "is a false-colour picture" in refusal(capsys, "map", "walk.toml", "--run", "fresh")
    assert not (home / "fresh").exists()


HELP = (
    "import sys; from typer.testing import CliRunner; from tmapr.cli.main import app;"
    "assert CliRunner().invoke(app, [*sys.argv[1:], '--help']).exit_code == 0;"
    "print(*sorted({'torch', 'onnxruntime', 'cv2', 'numpy'} & set(sys.modules)))"
)


@pytest.mark.parametrize("verbs", [[], ["map"], ["export"], ["weights", "inspect"], ["weights", "train"]], ids=" ".join)
def test_help_imports_nothing_heavy(verbs):
    done = subprocess.run([sys.executable, "-c", HELP, *verbs], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["map", "walk.toml", "--run", "fresh", "--set", "perception.encoder=vit.pth"], "needs torch: pip"),
        (["export", "--out", "walk.onnx"], "needs torch; run: pip install 'tmapr[export]'"),
        (["weights", "inspect", "vit.pth"], "torch; run: pip install 'tmapr[train]'"),
        (["weights", "train", "head.safetensors"], "torch; run: pip install 'tmapr[train]'"),
    ],
    ids=["another encoder", "export", "weights inspect", "weights train"],
)
def test_what_needs_torch_says_so_where_there_is_none(arguments, answer, home):
    program = "import sys; sys.modules['torch'] = None; from tmapr.cli.main import run; run()"
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert answer in done.stderr
