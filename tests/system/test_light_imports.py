"""What must not need a heavy library: modules that can be imported without one, and help without any."""

import json
import subprocess
import sys

import pytest

# In this order: what an earlier row may import, a later one may too.
WITHOUT = [
    (["tmapr.simulation.light"], ["numba", "torch", "cv2", "pydantic", "scipy"]),
    (["tmapr.simulation.camera"], ["numba", "torch", "cv2", "scipy"]),
    ([f"tmapr.simulation.{name}" for name in ("streets", "heat", "weather", "traverse", "world")], ["numba", "torch"]),
    (["tmapr.perception.image", "tmapr.perception.normaliser", "tmapr.baselines.settings"], ["torch"]),
]
IMPORT = """
import importlib, json, sys
for modules, absent in json.loads(sys.argv[1]):
    blocked = dict.fromkeys(absent)
    sys.modules.update(blocked)
    for module in modules:
        importlib.import_module(module)
    for name in blocked:
        del sys.modules[name]
"""
HELP = """
import json, sys
from typer.testing import CliRunner
from tmapr.cli.main import app
for verbs in json.loads(sys.argv[1]):
    assert CliRunner().invoke(app, [*verbs, "--help"]).exit_code == 0, verbs
    assert not {"torch", "onnxruntime", "cv2", "numpy"} & set(sys.modules), verbs
"""


@pytest.mark.parametrize(
    ("program", "given"),
    [(IMPORT, WITHOUT), (HELP, [[], ["map"], ["export"], ["weights", "inspect"], ["weights", "train"]])],
    ids=["modules", "help"],
)
def test_nothing_heavy_is_imported_by(program, given):
    done = subprocess.run([sys.executable, "-c", program, json.dumps(given)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
