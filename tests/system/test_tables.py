"""`tmapr report --table` as a user gives it: each of the paper's tables, in each format, from real run folders."""

import json
import re
import shutil

import pytest

from commandline import command, refusal

NAMES = ("localization", "fusion", "loops", "system")
COMPARISON = {"test": {"night": [{"name": "AtLoc", "about": "ResNet-34", "seeds": 1, "rmse": 43.5, "mean": 30.25}]}}


def variant(key, kind, rmse, difference):
    gap = None if difference is None else {"value": difference, "low": -1.5, "high": 1.5, "verdict": "not told apart"}
    loops = {"precision": 0.5, "recall": 0.25, "f1": 1 / 3, "decision_recall": 0.75, "accepted": 8}
    night = {"frames": 9, "rmse": rmse, "mean": 1.0, "median": 0.5, "p95": 3.0, "jumps": 2, "coverage95": None}
    test = {"night": night | {"loops": loops if kind == "subset" else None, "difference": gap}}
    return {"key": key, "title": key.upper(), "kind": kind, "settings": {}, "test": test}


ABLATION = {
    "kind": "ablation",
    "made_by": "tmapr 0.1.0",
    "experiment": "street",
    "settings_sha256": "0" * 64,
    "alignment": "none",
    "labels": "off",
    "apr": {"mapped": {}},
    "rows": [
        variant("acil", "subset", 2.0, None),
        variant("ug", "subset", 1.75, 0.125),
        variant("apr", "system", 9.0, -7.0),
        variant("full", "system", 2.0, None),
    ],
}


@pytest.fixture(scope="module")
def finished(street, tmp_path_factory):
    """A run with a comparison and an ablation in it."""
    home = shutil.copytree(street, tmp_path_factory.mktemp("home") / "street", symlinks=True)
    run = home / "runs/street"
    shutil.rmtree(run / "report")
    (run / "compare").mkdir()
    (run / "compare/comparison.json").write_text(json.dumps(COMPARISON))
    (run / "ablation.json").write_text(json.dumps(ABLATION))
    return home


@pytest.fixture
def run(finished, tmp_path):
    """A copy that a test may spoil."""
    return shutil.copytree(finished, tmp_path / "street") / "runs/street"


def table(capsys, *arguments):
    assert command("report", *arguments, "--format", "json") == 0
    return json.loads(capsys.readouterr().out)


def test_the_table_of_localization_is_of_the_errors_whether_they_were_evaluated_or_not(run, capsys):
    rows = table(capsys, run, "--table", "localization")["rows"]
    evaluated = (run / "errors.json").rename(run / "kept.json")
    assert table(capsys, run, "--table", "localization")["rows"] == rows
    assert not (run / "errors.json").exists()
    evaluated.rename(run / "errors.json")
    errors = json.loads((run / "errors.json").read_text())["test"]["night"]
    assert errors["apr"] is None
    assert [row["rmse"] for row in rows] == [None, *(errors[key]["rmse"] for key in ("retrieval", "fused")), 43.5]
    assert rows[3]["method"] == "AtLoc (ResNet-34)"
    assert not (run / "report").exists()


def test_the_table_of_fusion_is_of_the_errors(run, capsys):
    (row,) = table(capsys, run, "--table", "fusion")["rows"]
    errors = json.loads((run / "errors.json").read_text())["test"]["night"]
    gain = 100 * (errors["retrieval"]["rmse"] - errors["fused"]["rmse"]) / errors["retrieval"]["rmse"]
    assert row["gain_over_retrieval"] == pytest.approx(gain)
    assert (row["apr_jumps"], row["fused_jumps"]) == (errors["jumps"]["apr"], errors["jumps"]["fused"])


def test_the_notes_say_where_the_run_and_its_data_come_from(run, capsys):
    notes = table(capsys, run, "--table", "fusion")["notes"]
    hashed = json.loads((run / "errors.json").read_text())["settings_sha256"][:12]
    (origin,) = (note for note in notes if note.startswith("street: "))
    assert all(word in origin for word in ("noon", "labels off", "alignment none", hashed))


def test_an_ablation_needs_no_finished_run(run, capsys):
    (run / "provenance.json").unlink()
    rows = table(capsys, run, "--table", "system")["rows"]
    assert [(row["method"], row["rmse"], row["difference"]) for row in rows] == [
        ("APR", 9.0, -7.0),
        ("FULL", 2.0, None),
    ]
    rows = table(capsys, run, "--table", "loops")["rows"]
    assert [(row["method"], row["f1"], row["difference"]) for row in rows] == [
        ("ACIL", 1 / 3, None),
        ("UG", 1 / 3, 0.125),
    ]


def test_two_runs_of_an_ablation_get_a_mean(run, capsys):
    other = shutil.copytree(run, run.parent / "other")
    rows = table(capsys, run, other, "--table", "system")["rows"]
    assert [(row["run"], row["runs"]) for row in rows] == [
        *[(str(run), 1)] * 2,
        *[(str(other), 1)] * 2,
        *[("all", 2)] * 2,
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_prints_the_same_cells(run, capsys, name):
    def printed(form):
        assert command("report", run, "--table", name, "--paper", "--format", form) == 0
        return capsys.readouterr().out

    rows = json.loads(printed("json"))["rows"]
    markdown = [line.strip("| ").split(" | ") for line in printed("markdown").splitlines() if line.startswith("|")]
    latex = re.findall(r"^(?!\\multicolumn)(.* & .*) \\\\$", printed("latex"), re.MULTILINE)
    text = [re.split(r"  +", line.strip()) for line in printed("text").splitlines()]
    # A title, a rule in Markdown, and then a line for each row.
    assert len(markdown) - 2 == len(latex) - 1 == len(rows)
    for row, written, typeset, plain in zip(rows, markdown[2:], latex[1:], text[1:], strict=False):
        assert len(written) == len(row)
        assert typeset.split(" & ") == [_typeset(cell) for cell in written]
        assert plain == written
        for cell, value in zip(written, row.values(), strict=True):
            if isinstance(value, float):
                # Two decimals at least in metres, one in percent.
                assert float(cell) == pytest.approx(value, abs=0.051)
            else:
                assert cell == ("–" if value is None else str(value))


def _typeset(cell):
    return cell.replace("–", "--").replace("%", r"\%").replace("_", r"\_")


@pytest.mark.parametrize("name", NAMES)
def test_the_papers_rows_come_only_when_asked_for(run, capsys, name):
    ours = table(capsys, run, "--table", name)
    both = table(capsys, run, "--table", name, "--paper")
    assert "paper" not in {row["run"] for row in ours["rows"]}
    assert both["rows"][: len(ours["rows"])] == ours["rows"]
    assert {row["run"] for row in both["rows"][len(ours["rows"]) :]} == {"paper"}


@pytest.mark.parametrize(
    ("options", "named"),
    [(["--paper"], ("--paper", "--table")), (["--table", "loops", "--format", "html"], ("--format html", "markdown"))],
)
def test_options_that_do_not_go_together_are_refused(run, capsys, options, named):
    said = refusal(capsys, "report", run, *options)
    assert all(word in said for word in named)


@pytest.mark.parametrize("name", ["loops", "system"])
def test_a_run_without_an_ablation_is_told_how_to_make_one(run, capsys, name):
    (run / "ablation.json").unlink()
    said = refusal(capsys, "report", run, "--table", name)
    assert str(run) in said
    assert "tmapr ablate" in said


@pytest.mark.parametrize("name", ["localization", "fusion"])
def test_an_unfinished_run_is_refused_as_everywhere(run, capsys, name):
    (run / "provenance.json").unlink()
    assert "tmapr run" in refusal(capsys, "report", run, "--table", name)


def test_damaged_files_of_other_commands_are_refused(run, capsys):
    (run / "compare/comparison.json").write_bytes(b"\xff\xfe")
    assert "comparison.json: content" in refusal(capsys, "report", run, "--table", "localization")
    (run / "ablation.json").write_text('{"kind": "ablation"}')
    assert "ablation.json: made_by" in refusal(capsys, "report", run, "--table", "loops")
