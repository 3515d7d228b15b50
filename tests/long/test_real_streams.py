"""What docs/results/classifier.md says of the real descriptor streams, where they are at hand."""

import json
import subprocess
import sys

import pytest

from repository import ROOT

STREAMS = ROOT.parent / "shared/data/descriptors"

pytestmark = [
    pytest.mark.skipif(not STREAMS.is_dir(), reason=f"the real descriptor streams are not at {STREAMS}"),
]


@pytest.fixture(scope="module")
def results():
    program = [sys.executable, ROOT / "benchmarks/real_descriptors.py", "--quick", "--data", STREAMS]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("stream", ["Gardens Point rp768", "St Lucia rp768"])
def test_no_subset_is_significantly_below_global_retrieval(stream, results):
    below = [name for name, figures in results[stream].items() if figures["significantly_below_global"]]
    assert len(results[stream]) == 9
    assert below == []


def test_the_class_score_helps_where_conditions_are_familiar(results):
    stream = results["St Lucia rp768"]
    assert stream["ACIL"]["R@1"] > stream["global retrieval"]["R@1"] + 0.05


@pytest.mark.parametrize("stream", ["Gardens Point rp768", "St Lucia rp768"])
def test_an_immediate_label_tells_the_next_frame_the_answer(stream, results):
    labels = results[f"{stream}, labels"]
    assert labels["truth+0"] > labels["truth+120"] + 0.05
