"""`tmapr report` as a user gives it."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from commandline import command
from made_up import run_block, write_block
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    return run_block(home).path


@pytest.fixture
def run(finished, tmp_path):
    """A copy that a test may spoil."""
    return shutil.copytree(finished, tmp_path / "block")


@pytest.fixture
def evaluated(evaluated_once, tmp_path):
    """The same after `tmapr evaluate`."""
    return shutil.copytree(evaluated_once, tmp_path / "block")


@pytest.fixture(scope="module")
def evaluated_once(finished, tmp_path_factory):
    run = shutil.copytree(finished, tmp_path_factory.mktemp("evaluated") / "block")
    assert command("evaluate", run, "--quiet") == 0
    return run


@pytest.fixture(scope="module")
def blind(tmp_path_factory):
    """A run whose test sequence was recorded without positions."""
    home = tmp_path_factory.mktemp("blind")
    write_block(home, size=60.0)
    percepts = RunFolder(home / "runs/block").percepts("night")
    night = Recording.load(percepts)
    unknown = np.zeros(len(night), dtype=bool)
    replace(night, known=unknown, truth=np.full_like(night.truth, np.nan)).save(percepts)
    return run_block(home).path


def fused(run):
    return json.loads((run / "errors.json").read_text())["test"]["night"]["fused"]["rmse"]


def test_a_finished_run_is_evaluated_and_its_page_is_where_the_command_says(run, capsys):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != "log.txt"}
    assert command("report", run) == 0
    assert capsys.readouterr().out == f"{run / 'report/index.html'}\n"
    page = run / "report/index.html"
    assert {
        path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path not in (page, run / "log.txt")
    } == before
    assert command("evaluate", run, "--quiet") == 0
    assert f">{fused(run):.2f}</td>" in page.read_text()


@pytest.mark.parametrize(
    ("form", "start"), [("markdown", "| run |"), ("latex", "\\begin{tabular}"), ("json", '{\n  "rows"')]
)
def test_a_table_is_printed(evaluated, capsys, form, start):
    assert command("report", evaluated, "--format", form) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(start)
    assert (str(fused(evaluated))[:5] if form == "json" else f"{fused(evaluated):.2f}"[:-1]) in printed
    assert not (evaluated / "report").exists()


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_out_names_the_file(evaluated, tmp_path, capsys, form):
    out = tmp_path / "new/place.txt"
    assert command("report", evaluated, "--format", form, "--out", out) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert "night" in out.read_text()
    assert not (evaluated / "report").exists()


def test_a_comparison_does_not_replace_the_first_runs_own_page(evaluated, tmp_path, capsys):
    other = shutil.copytree(evaluated, tmp_path / "other")
    assert command("report", evaluated, other) == 0
    assert capsys.readouterr().out == f"{evaluated / 'report/comparison.html'}\n"
    text = (evaluated / "report/comparison.html").read_text()
    assert text.count("<h1>") == 1
    assert "2 runs compared" in text
    assert not (evaluated / "report/index.html").exists()


def remove(name):
    return lambda run: (run / name).unlink()


def append(name, text):
    return lambda run: (run / name).write_text((run / name).read_text() + text)


def shorten(run):
    lines = (run / "estimates/night.csv").read_text().splitlines(keepends=True)
    (run / "estimates/night.csv").write_text("".join(lines[:-3]))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (shutil.rmtree, "no such run folder; make one with `tmapr run"),
        (remove("experiment.toml"), "holds no experiment.toml; is it a run folder"),
        (remove("provenance.json"), "holds no finished run; make one with `tmapr run"),
        (remove("estimates/night.csv"), "night.csv: cannot be read as a table"),
        (remove("percepts/night.npz"), "no percepts of 'night'"),
        (append("experiment.toml", "\n# other\n"), "has changed since its estimates were made; run `tmapr run` again"),
        (shorten, "its frames are not those of the percepts; run again"),
    ],
    ids=["folder", "experiment", "unfinished", "estimates", "percepts", "stale", "cut"],
)
def test_a_bad_run_is_refused_in_one_line_and_nothing_is_written(run, capsys, spoil, says):
    spoil(run)
    assert command("report", run) == 2
    refusal = capsys.readouterr()
    assert refusal.out == ""
    assert refusal.err.startswith("tmapr: ")
    assert refusal.err.count("\n") == 1
    assert says in refusal.err
    assert not (run / "report").exists()
    assert not (run / "errors.json").exists()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (remove("estimates/night.csv"), "night.csv: cannot be read as a table"),
        (remove("percepts/night.npz"), "no percepts of 'night'"),
    ],
    ids=["estimates", "percepts"],
)
def test_a_run_that_was_evaluated_and_then_spoilt_is_refused_by_the_same_words(evaluated, capsys, spoil, says):
    spoil(evaluated)
    assert command("report", evaluated) == 2
    assert says in capsys.readouterr().err


def test_one_bad_run_of_two_leaves_an_earlier_page_as_it_was(evaluated, tmp_path, capsys):
    out = tmp_path / "page.html"
    out.write_text("earlier")
    assert command("report", evaluated, tmp_path / "nowhere", "--out", out) == 2
    assert out.read_text() == "earlier"
    assert "nowhere: no such run folder" in capsys.readouterr().err


def test_a_folder_as_out_is_refused(run, tmp_path, capsys):
    assert command("report", run, "--out", tmp_path) == 2
    assert "is a folder; name the file to write" in capsys.readouterr().err


def test_a_run_without_true_positions_has_its_page_too(blind, capsys):
    assert command("report", blind) == 0
    told = capsys.readouterr()
    assert told.out == f"{blind / 'report/index.html'}\n"
    assert "On night, it is localized" in (blind / "report/index.html").read_text()


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "json"])
def test_its_row_of_a_table_has_nothing_where_nobody_knows(blind, evaluated, capsys, form):
    assert command("report", evaluated, blind, "--format", form) == 0
    printed = capsys.readouterr().out
    if form == "json":
        told, unknown = json.loads(printed)["rows"]
        assert [key for key, value in told.items() if value is None] == []
        assert unknown["fused_rmse"] is None
        assert 0 < unknown["localized"] < 100
        return
    (row,) = [line for line in printed.splitlines() if line.count({"latex": "--"}.get(form, "–")) >= 9]
    assert "night" in row


@pytest.mark.parametrize("table", ["localization", "fusion"])
def test_a_table_of_the_paper_needs_true_positions_and_says_so_in_one_line(blind, evaluated, capsys, table):
    assert command("report", evaluated, blind, "--table", table) == 2
    refusal = capsys.readouterr()
    assert refusal.out == ""
    assert refusal.err.count("\n") == 1
    assert f"{blind}: no frame has a true position, which --table {table} needs" in refusal.err


def test_runs_with_and_without_true_positions_share_a_page(blind, evaluated, tmp_path, capsys):
    out = tmp_path / "both.html"
    assert command("report", evaluated, blind, "--out", out) == 0
    text = out.read_text()
    assert text.index("<title>Map of 2 runs</title>") < text.index("<table>")
