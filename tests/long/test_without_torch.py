"""Where torch is not installed: mapping, localizing and evaluating work, and what needs it says so in one line."""

import json
import subprocess
import sys

import pytest

from street import EXPERIMENT
from tmapr.data.sample import locate_sample

ABSENT = """
import json, sys

class Absent:  # as if not installed; SciPy would ask a None among the modules for its tensors
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
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
localizer = tmapr.load("runs/street")
print(json.dumps([localizer.step(frame).verdict.reason for frame in tmapr.open_sequence("data/night")]))
"""
REFUSING = "import sys; sys.modules['torch'] = None; from tmapr.cli.main import run; run()"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "data").symlink_to(locate_sample())
    (tmp_path / "street.toml").write_text(EXPERIMENT)
    return tmp_path


def run(home, program, *arguments):
    called = [sys.executable, "-c", program, *arguments]
    return subprocess.run(called, cwd=home, capture_output=True, text=True, check=False)


def test_images_are_mapped_localized_and_evaluated(home):
    verbs = [["map", "street.toml"], ["run", "street.toml"], ["evaluate", "runs/street"]]
    done = run(home, ABSENT + COMMANDS, json.dumps(verbs))
    assert done.returncode == 0, done.stderr
    errors = json.loads((home / "runs/street/errors.json").read_text())["test"]["night"]
    assert (errors["frames"], errors["apr"]) == (70, None)
    assert errors["retrieval"]["median"] < 3
    done = run(home, ABSENT + STEPS)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout).count("accepted") > 35


@pytest.mark.parametrize(
    "arguments",
    [
        ["map", "street.toml", "--run", "fresh", "--set", "perception.encoder=vit.pth"],
        ["export", "--out", "walk.onnx"],
        ["weights", "inspect", "vit.pth"],
        ["weights", "train", "head.safetensors"],
    ],
    ids=" ".join,
)
def test_what_needs_torch_says_how_to_install_it(arguments, home):
    done = run(home, REFUSING, *arguments)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert "torch" in done.stderr
    assert "pip install" in done.stderr
