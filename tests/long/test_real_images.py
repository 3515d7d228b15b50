"""What docs/results/real_images.md says of real thermal images, where they are at hand."""

import json
import subprocess
import sys

import pytest

from repository import ROOT
from tmapr.artifacts.images import read_image

IMAGES = ROOT.parent / "shared/data/metu_vistir"

pytestmark = pytest.mark.skipif(not IMAGES.is_dir(), reason=f"the real thermal images are not at {IMAGES}")


def test_places_under_another_sky_are_recognised(tmp_path):
    program = [sys.executable, ROOT / "benchmarks/real_images.py", "--sheet", tmp_path / "sheet.png"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])["found"]
    assert found["default perceiver"]["right"] >= 25
    assert found["default perceiver"]["low"] > found["pixels"]["high"]
    assert read_image(tmp_path / "sheet.png").std() > 20
