"""A study of one small world through the command: its rows, its tables, and nothing that is computed twice."""

import json

import pytest

from commandline import command

PLAN = """
name = "trial"
purpose = "choose"
drives = ["night"]
every = [1, 3]
[worlds]
families = ["campus"]
first_style = 2
seed = 5
frames = 40
[[disturbance]]
name = "teleport"
[[method]]
name = "default"
[[method]]
name = "sequence"
baseline = "sequence"
"""
METHODS = ("default", "sequence")


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """The study, and a way to ask for it again."""
    home = tmp_path_factory.mktemp("study")
    (home / "trial.toml").write_text(PLAN)

    def ask(*options):
        return command("study", home / "trial.toml", "--rows", home / "rows", "--home", home, *options)

    assert ask("--latex", home / "tables.tex", "--markdown", home / "tables.md") == 0
    return home, ask


def read(home, method="default"):
    path = home / f"rows/trial/{method}/campus-2.json"
    return path, json.loads(path.read_text())


@pytest.mark.parametrize("method", METHODS)
def test_a_row_has_every_case_and_says_what_made_it(asked, method):
    _, row = read(asked[0], method)
    titles = ["night", "night, every 3", "night, teleport", "night, teleport, every 3"]
    assert list(row["drives"]) == titles
    assert [row["drives"][title]["frames"] for title in titles] == [40, 14, 32, 12]
    assert all(len(row["made_by"][name]) == 64 for name in ("source", "settings", "data"))
    assert row["made_by"]["machine"]["cores"] >= 1


def test_the_tables_are_printed_and_written(asked, capsys):
    home, ask = asked
    capsys.readouterr()
    assert ask() == 0
    assert capsys.readouterr().out == (home / "tables.md").read_text()
    assert (home / "tables.tex").read_text().count("\\begin{tabular}") == 2


def test_the_same_study_again_computes_nothing(asked, capsys):
    home, ask = asked
    before = [(path.stat().st_mtime_ns, row) for path, row in (read(home, method) for method in METHODS)]
    capsys.readouterr()
    assert ask() == 0
    assert capsys.readouterr().err == ""
    assert [(path.stat().st_mtime_ns, row) for path, row in (read(home, method) for method in METHODS)] == before


def test_other_settings_are_a_method_of_their_own_beside_the_first(asked, capsys):
    home, ask = asked
    capsys.readouterr()
    assert ask("--set", "tracking.certainty=0.99", "--method", "surer", "--against", "default") == 0
    assert "each method less default" in capsys.readouterr().out
    assert read(home, "surer")[1]["made_by"]["settings"] != read(home)[1]["made_by"]["settings"]
