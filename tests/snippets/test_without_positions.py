"""A map with positions and a folder of nothing but images: every command works, and none asks for truth."""

import re
from contextlib import chdir

import numpy as np
import pytest
from parsing import find_verb, parse_verb
from world import COUNT, LOOKS, walk, write_drive

from commandline import command
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.trajectory import load_estimates

EXPERIMENT = 'name = "blind"\ndata = { root = "data", reference = "noon", test = ["night"] }\n'
ASKS = re.compile(r"evaluate|no frame has a true position|compare with", re.IGNORECASE)
STEPS = [
    "map blind.toml",
    "run blind.toml",
    "show runs/blind",
    "report runs/blind",
    "film runs/blind",
]
MADE = ("map.html", "index.html", "night.webm")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home in which the night was recorded by a camera alone."""
    home = tmp_path_factory.mktemp("blind")
    write_drive(home / "data/noon", walk(*LOOKS["noon"]))
    for row, counts in enumerate(walk(*LOOKS["night"])):
        write_frame(home / f"data/night/{row:06}.png", counts)
    (home / "blind.toml").write_text(EXPERIMENT)
    with chdir(home):
        for verb in ("map", "run"):
            assert command(verb, "blind.toml", "--quiet") == 0
    return home


@pytest.mark.parametrize("typed", STEPS)
def test_no_command_asks_for_true_positions(typed, home, capsys):
    with chdir(home):
        code = command(*typed.split())
    said = capsys.readouterr()
    assert code == 0, said.err
    assert not ASKS.search(said.out + said.err)


def test_a_check_foretells_what_works_without_them(home, capsys):
    with chdir(home):
        assert command("check", "blind.toml") == 0
    assert "it can be localized and reported, not evaluated\n" in capsys.readouterr().out


def test_the_map_the_run_and_the_film_can_be_looked_at(home):
    assert sorted(path.name for path in (home / "runs/blind/report").iterdir()) == sorted(MADE)


def test_the_estimates_are_right_though_nothing_knows_it(home):
    estimates = load_estimates(home / "runs/blind/estimates/night.csv")
    truth = np.column_stack([2.0 * np.arange(COUNT), np.full(COUNT, 5.0)])
    assert np.median(np.linalg.norm(estimates.positions - truth, axis=1)) < 1.0


def test_who_evaluates_it_all_the_same_is_told_what_else_there_is(home, capsys):
    with chdir(home):
        assert command("evaluate", "runs/blind") == 2
    shown = re.search(r"`tmapr (.+?)`", capsys.readouterr().err)[1]
    parse_verb(shown.split())
    assert find_verb(shown.split())[0].name == "report"
