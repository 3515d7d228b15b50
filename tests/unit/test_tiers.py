"""Every test is of a tier, and unit tests keep to theirs."""

import os
import re
import sys

import pytest

import tiers
from repository import ROOT

UNIT, PACKAGES = ROOT / "tests/unit", ROOT / "src/tmapr"


def test_every_test_file_is_of_a_tier():
    found = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}
    assert found == {"unit", "system", "long"}


def test_folders_of_unit_tests_are_packages():
    folders = {path.name for path in UNIT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {name for name in folders if not (PACKAGES / name).is_dir()} == {"benchmarks"}


def test_no_unit_test_runs_a_command():
    pattern = re.compile(r"^\s*(?:from|import) (?:commandline|subprocess|multiprocessing)\b", re.MULTILINE)
    assert [path.name for path in UNIT.rglob("*.py") if pattern.search(path.read_text())] == []


def test_a_process_is_refused_in_a_unit_test():
    with pytest.raises(RuntimeError, match="starts no process"), tiers.watch_tier("tests/unit/a"):
        os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})


@pytest.mark.parametrize(("test", "slow"), [("tests/unit/a", True), ("tests/system/a", False)])
@pytest.mark.skipif(sys.gettrace() is not None, reason="traced: nothing is timed")
def test_a_unit_test_that_takes_longer_fails(test, slow, monkeypatch):
    failed = False
    with monkeypatch.context() as changed:
        changed.setattr(tiers, "MOST_SECONDS", 0.0)
        try:
            with tiers.watch_tier(test):
                sum(range(10_000))
        except pytest.fail.Exception:
            failed = True
    assert failed is slow
