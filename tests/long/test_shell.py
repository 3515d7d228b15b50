"""The command in processes of its own: what it loads for its help, completion in a real shell, the examples."""

import os
import shutil
import subprocess
import sys

import pytest

from repository import ROOT

needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")


@pytest.fixture
def shell(tmp_path):
    """Runs lines in a real bash that has the command on its path, and a home of its own."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tmapr").write_text(f'#!/bin/sh\nexec {sys.executable} -m tmapr "$@"\n')
    (tmp_path / "bin/tmapr").chmod(0o755)
    (tmp_path / "home").mkdir()
    environment = {
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(ROOT / "src"),
    }

    def run(lines):
        done = subprocess.run(
            ["bash", "--norc", "-c", lines],
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.home = tmp_path / "home"
    return run


def test_neither_version_nor_help_loads_a_network():
    program = "import sys; from tmapr.cli.main import run\ntry: run()\nexcept SystemExit: pass\n"
    heavy = "{'torch', 'onnxruntime', 'numba', 'cv2', 'scipy'} & set(sys.modules)"
    for option in ("--version", "--help"):
        done = subprocess.run(
            [sys.executable, "-c", f"{program}assert not {heavy}, {heavy}", option],
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


COMPLETE = """eval "$(tmapr --show-completion)"
COMP_WORDS=({words}); COMP_CWORD={place}
_tmapr_completion tmapr
printf '%s\\n' "${{COMPREPLY[@]}}" """


@needs_bash
@pytest.mark.parametrize(
    ("words", "place", "offered"),
    [
        ("tmapr ev", 1, {"evaluate"}),
        ("tmapr re", 1, {"report"}),
        ("tmapr report --fo", 2, {"--format"}),
        ("tmapr report --format l", 3, {"latex"}),
        ("tmapr weights p", 2, {"pull"}),
    ],
)
def test_a_real_shell_completes_verbs_options_and_choices(shell, words, place, offered):
    assert set(shell(COMPLETE.format(words=words, place=place)).split()) == offered
    assert not list(shell.home.rglob("*"))


def test_a_whole_run_imports_no_torch(tmp_path):
    mapped = f"tmapr.make_map(tmapr.locate_sample() / 'noon', {str(tmp_path)!r})"
    program = f"import sys, tmapr; {mapped}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_the_examples_run(example, tmp_path):
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "localized, accepted" in done.stdout
