"""`tmapr report` as a user gives it."""

import csv
import json
import shutil

import pytest

from commandline import command, refusal


@pytest.fixture
def run(street_copy):
    """An evaluated run without a page, which a test may spoil."""
    shutil.rmtree(street_copy / "runs/street/report")
    return street_copy / "runs/street"


@pytest.fixture(scope="module")
def blind(street, tmp_path_factory):
    """A run whose test sequence was recorded without positions."""
    home = shutil.copytree(street, tmp_path_factory.mktemp("blind") / "street", symlinks=True)
    table = home / "data/night/frames.csv"
    rows = list(csv.DictReader(table.read_text().splitlines()))
    table.write_text("stamp,file\n" + "".join(f"{row['stamp']},{row['file']}\n" for row in rows))
    assert command("run", home / "street.toml", "--run", home / "runs/street", "--quiet") == 0
    return home / "runs/street"


def fused(run):
    return json.loads((run / "errors.json").read_text())["test"]["night"]["fused"]["rmse"]


def test_a_run_that_was_not_evaluated_has_its_page_where_the_command_says_and_nothing_else_changes(run, capsys):
    rmse = fused(run)
    (run / "errors.json").unlink()
    apart = {run / "report/index.html", run / "log.txt", run / ".lock"}

    def contents():
        return {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path not in apart}

    before = contents()
    assert command("report", run) == 0
    assert capsys.readouterr().out == f"{run / 'report/index.html'}\n"
    assert contents() == before
    assert f">{rmse:.2f}</td>" in (run / "report/index.html").read_text()


@pytest.mark.parametrize(
    ("form", "start"), [("markdown", "| run |"), ("latex", "\\begin{tabular}"), ("json", "{"), ("text", "run ")]
)
def test_a_table_is_printed_or_written_to_the_file_that_out_names(run, tmp_path, capsys, form, start):
    assert command("report", run, "--format", form) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(start)
    assert (str(fused(run)) if form == "json" else f"{fused(run):.2f}") in printed
    assert command("report", run, "--format", form, "--out", tmp_path / "new/place.txt") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'new/place.txt'}\n"
    assert (tmp_path / "new/place.txt").read_text() == printed
    assert not (run / "report").exists()


def test_a_comparison_does_not_replace_the_first_runs_own_page(run, blind, capsys):
    assert command("report", run, blind) == 0
    assert capsys.readouterr().out == f"{run / 'report/comparison.html'}\n"
    assert "2 runs compared" in (run / "report/comparison.html").read_text()
    assert not (run / "report/index.html").exists()


def remove(name):
    return lambda run: (run / name).unlink()


def edit_experiment(run):
    (run / "experiment.toml").write_text((run / "experiment.toml").read_text() + "\n# other\n")


def shorten(run):
    lines = (run / "estimates/night.csv").read_text().splitlines(keepends=True)
    (run / "estimates/night.csv").write_text("".join(lines[:-3]))


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (shutil.rmtree, ("street", "tmapr run")),
        (remove("experiment.toml"), ("experiment.toml", "run folder")),
        (remove("provenance.json"), ("street", "tmapr run")),
        (remove("estimates/night.csv"), ("night.csv",)),
        (remove("percepts/night.npz"), ("night",)),
        (edit_experiment, ("experiment.toml", "tmapr run")),
        (shorten, ("night.csv", "run again")),
    ],
    ids=["folder", "experiment", "unfinished", "estimates", "percepts", "stale", "cut"],
)
@pytest.mark.parametrize("evaluated", [True, False])
def test_a_bad_run_is_refused_in_one_line_and_nothing_is_written(run, capsys, spoil, named, evaluated):
    if not evaluated:
        (run / "errors.json").unlink()
    spoil(run)
    said = refusal(capsys, "report", run)
    assert all(word in said for word in named), said
    assert not (run / "report").exists()


def test_one_bad_run_of_two_leaves_an_earlier_page_as_it_was_and_a_folder_is_no_file(run, tmp_path, capsys):
    out = tmp_path / "page.html"
    out.write_text("earlier")
    assert "nowhere" in refusal(capsys, "report", run, tmp_path / "nowhere", "--out", out)
    assert out.read_text() == "earlier"
    assert "is a folder" in refusal(capsys, "report", run, "--out", tmp_path)


def test_a_run_without_true_positions_has_its_page_too(blind, capsys):
    assert command("report", blind) == 0
    assert capsys.readouterr().out == f"{blind / 'report/index.html'}\n"
    assert "% of 70 frames" in (blind / "report/index.html").read_text()


def test_its_row_of_a_table_has_nothing_where_nobody_knows(blind, run, capsys):
    assert command("report", run, blind, "--format", "json") == 0
    told, unknown = json.loads(capsys.readouterr().out)["rows"]
    assert told["fused_rmse"] == fused(run)
    assert unknown["fused_rmse"] is None
    assert 0 < unknown["localized"] <= 100


@pytest.mark.parametrize("table", ["localization", "fusion"])
def test_a_table_of_the_paper_needs_true_positions_and_says_so_in_one_line(blind, run, capsys, table):
    said = refusal(capsys, "report", run, blind, "--table", table)
    assert str(blind) in said
    assert f"--table {table}" in said
