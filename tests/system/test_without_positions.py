"""A map with positions and a folder of nothing but images: every command works, and none asks for truth."""

import re
import shutil
from contextlib import chdir

import numpy as np
import pytest

from commandline import command
from tmapr.artifacts.trajectory import load_estimates

ASKS = re.compile(r"evaluate|no frame has a true position|compare with", re.IGNORECASE)


@pytest.fixture(scope="module")
def home(street, tmp_path_factory):
    """The night as a camera alone recorded it, localized in the street's map."""
    home = tmp_path_factory.mktemp("blind")
    for image in sorted((street / "data/night").rglob("*.jpg"))[:30]:
        (home / "blind").mkdir(exist_ok=True)
        shutil.copy(image, home / "blind")
    shutil.copytree(street / "runs", home / "runs", symlinks=True)
    shutil.copytree(street / "data/noon", home / "data/noon")
    with chdir(home):
        assert command("run", "runs/street", "--source", "blind", "--quiet") == 0
    return home


@pytest.mark.parametrize("typed", ["show", "report", "film"])
def test_no_command_asks_for_true_positions(typed, home, capsys):
    more = ("--to", "2", "--width", "320") if typed == "film" else ()
    with chdir(home):
        code = command(typed, "runs/blind", *more)
    said = capsys.readouterr()
    assert code == 0, said.err
    assert not ASKS.search(said.out + said.err)


def test_a_check_foretells_what_works_without_them(home, capsys):
    with chdir(home):
        assert command("check", "runs/blind/experiment.toml") == 0
    assert "not evaluated" in capsys.readouterr().out


def test_the_estimates_are_right_though_nothing_knows_it(home, street):
    blind = load_estimates(home / "runs/blind/estimates/blind.csv").positions
    known = load_estimates(street / "runs/street/estimates/night.csv").positions[: len(blind)]
    assert np.median(np.hypot(*(blind - known).T)) < 1.0


def test_who_evaluates_it_all_the_same_is_told_what_else_there_is(home, capsys):
    with chdir(home):
        assert command("evaluate", "runs/blind") == 2
    assert "`tmapr report " in capsys.readouterr().err
