"""`tmapr report` as a user gives it."""

import json
import shutil

import pytest

from commandline import command


@pytest.fixture(scope="module")
def finished(tmp_path_factory, write_block):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    run = home / "runs/block"
    for verb in ("map", "run"):
        assert command(verb, home / "block.toml", "--run", run, "--quiet") == 0
    return run


@pytest.fixture
def run(finished, tmp_path):
    """A copy that a test may spoil."""
    return shutil.copytree(finished, tmp_path / "block")


def fused(run):
    return json.loads((run / "errors.json").read_text())["test"]["night"]["fused"]["rmse"]


def test_a_finished_run_is_evaluated_and_its_page_is_where_the_command_says(run, capsys):
    assert not (run / "errors.json").exists()
    assert command("report", run) == 0
    assert capsys.readouterr().out == f"{run / 'report/index.html'}\n"
    assert f"RMSE {fused(run):.2f} m" in (run / "report/index.html").read_text()


@pytest.mark.parametrize(
    ("form", "start"), [("markdown", "| run |"), ("latex", "\\begin{tabular}"), ("json", '{\n  "rows"')]
)
def test_a_table_is_printed(run, capsys, form, start):
    assert command("report", run, "--format", form) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(start)
    assert f"{fused(run):.2f}"[:-1] in printed
    assert not (run / "report").exists()


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_out_names_the_file(run, tmp_path, capsys, form):
    out = tmp_path / "new/place.txt"
    assert command("report", run, "--format", form, "--out", out) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert "night" in out.read_text()
    assert not (run / "report").exists()


def test_a_comparison_does_not_replace_the_first_runs_own_page(run, tmp_path, capsys):
    other = shutil.copytree(run, tmp_path / "other")
    assert command("report", run, other) == 0
    assert capsys.readouterr().out == f"{run / 'report/comparison.html'}\n"
    text = (run / "report/comparison.html").read_text()
    assert text.count("<h1>") == 1
    assert "2 runs compared" in text
    assert not (run / "report/index.html").exists()


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


def test_one_bad_run_of_two_leaves_an_earlier_page_as_it_was(run, tmp_path, capsys):
    out = tmp_path / "page.html"
    out.write_text("earlier")
    assert command("report", run, tmp_path / "nowhere", "--out", out) == 2
    assert out.read_text() == "earlier"
    assert "nowhere: no such run folder" in capsys.readouterr().err


def test_a_folder_as_out_is_refused(run, tmp_path, capsys):
    assert command("report", run, "--out", tmp_path) == 2
    assert "is a folder; name the file to write" in capsys.readouterr().err
