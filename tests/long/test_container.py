"""The Dockerfile, where an engine runs: it builds, and the image runs the demo as a user who is not root."""

import shutil
import subprocess

import pytest

from repository import ROOT


def docker(*words):
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def image():
    if not shutil.which("docker") or docker("info").returncode:
        pytest.skip("no engine runs here")
    built = docker("build", "--tag", "tmapr-tested", str(ROOT))
    assert built.returncode == 0, built.stderr[-4000:]
    yield "tmapr-tested"
    docker("image", "rm", "tmapr-tested")


def test_the_image_runs_the_demo(image):
    assert docker("run", "--rm", "--entrypoint", "id", image, "-un").stdout.strip() == "robot"
    assert "Localize a robot" in docker("run", "--rm", image).stdout
    told = docker("run", "--rm", image, "demo", "--quick")
    assert told.returncode == 0, told.stderr
    assert "CPU seconds" in told.stdout
