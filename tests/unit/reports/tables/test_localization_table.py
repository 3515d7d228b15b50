"""The table of localization errors holds each run's tracks, its comparison where there is one, and what differs."""

import json
import re

import pytest

from tmapr.artifacts.documents.runs import Errors
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.reports.tables.localization import EvaluatedRun, load_comparison, tabulate_localization

ENTRY = {
    "frames": 9,
    "apr": {"rmse": 14.1, "mean": 11.2, "median": 8.7},
    "retrieval": {"rmse": 3.3, "mean": 0.9, "median": 0.6},
    "fused": {"rmse": 0.954, "mean": 0.7, "median": 0.5, "rmse_interval": [0.8, 1.2]},
    "jumps": {"apr": 4, "fused": 0},
    "reasons": {"accepted": 9},
    "status": {"localized": 9},
    "nees": {"mean": 2.0, "coverage95": 0.95},
    "loops": {},
    "step_ms": {"p50": 1.0, "p95": 1.0, "max": 1.0},
}
METHODS = [
    {"name": "full system", "about": "", "seeds": 3, "rmse": 0.7, "rmse_spread": 0.1, "mean": 0.6, "median": 0.5},
    {"name": "AtLoc", "about": "frozen encoder", "seeds": 1, "rmse": 43.0, "mean": 34.7, "median": 28.0},
]


def errors(alignment="none", labels="off", **tests):
    found = tests or {"night": ENTRY}
    stated = {"test": found, "alignment": alignment, "labels": labels, "settings_sha256": "abcdef" * 10, "frame": {}}
    return Errors.model_validate_json(json.dumps(stated))


def run(label="city", compared=None, **others):
    return EvaluatedRun(label, "data here; mapped from noon", errors(**others), compared)


@pytest.fixture
def folder(tmp_path):
    """A run folder and a way to leave a comparison in it."""
    folder = RunFolder(tmp_path / "city")
    folder.comparison.mkdir(parents=True)
    return folder


def leave(folder, content):
    (folder.comparison / "comparison.json").write_text(json.dumps(content))
    return load_comparison(folder)


def parsed(table):
    return json.loads(table.json())["rows"]


def test_a_sequence_has_the_three_tracks_with_the_values_of_the_file():
    rows = parsed(tabulate_localization([run()]))
    assert [row["method"] for row in rows] == ["APR", "retrieval (first candidate)", "fused"]
    assert [[row[key] for key in ("rmse", "mean", "median")] for row in rows] == [
        [14.1, 11.2, 8.7],
        [3.3, 0.9, 0.6],
        [0.954, 0.7, 0.5],
    ]
    assert {(row["run"], row["sequence"], row["source"], row["alignment"]) for row in rows} == {
        ("city", "night", "run", "none")
    }


def test_the_fused_error_has_its_interval_where_the_file_has_one():
    apr, _, fused = parsed(tabulate_localization([run()]))
    assert (fused["low"], fused["high"]) == (0.8, 1.2)
    assert (apr["low"], apr["high"]) == (None, None)
    older = ENTRY | {"fused": {"rmse": 1.0, "mean": 1.0, "median": 1.0}}
    assert parsed(tabulate_localization([run(night=older)]))[2]["low"] is None


def test_a_track_that_is_missing_is_dashes():
    apr, _, fused = tabulate_localization([run(night=ENTRY | {"apr": None})]).cells
    assert apr[7:] == ("–",) * 5
    assert fused[7:] == ("0.95", "0.80", "1.20", "0.70", "0.50")


def test_runs_and_sequences_stand_in_the_order_given():
    table = tabulate_localization([run("valley", dusk=ENTRY, night=ENTRY), run("city")])
    assert [(row["run"], row["sequence"]) for row in parsed(table)] == [
        *[("valley", "dusk")] * 3,
        *[("valley", "night")] * 3,
        *[("city", "night")] * 3,
    ]


def test_methods_that_were_compared_follow_the_tracks_of_their_sequence(folder):
    compared = leave(folder, {"test": {"night": METHODS, "noon": METHODS}})
    rows = parsed(tabulate_localization([run(compared=compared, night=ENTRY, dusk=ENTRY)]))
    assert [row["source"] for row in rows] == [*["run"] * 3, *["compare"] * 2, *["run"] * 3]
    assert [row["method"] for row in rows[3:5]] == ["full system", "AtLoc (frozen encoder)"]
    assert [rows[3][key] for key in ("seeds", "rmse", "mean", "median")] == [3, 0.7, 0.6, 0.5]
    assert {row["alignment"] for row in rows[3:5]} == {"not stated"}


def test_a_run_without_a_comparison_has_none(folder):
    assert load_comparison(folder) is None


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"test": []}, "test: Input should be an object"),
        ({"test": {"night": [{"rmse": 1.0}]}}, "test.night.0.name: Field required"),
        ({"test": {"night": [{"name": "A", "rmse": float("inf")}]}}, "rmse: Input should be a finite number"),
    ],
)
def test_a_damaged_comparison_is_refused_with_the_place_and_the_way_out(folder, content, says):
    with pytest.raises(InputError, match=re.escape(says)) as refusal:
        leave(folder, content)
    assert str(refusal.value).startswith(f"{folder.comparison / 'comparison.json'}: ")
    assert str(refusal.value).endswith(f"`tmapr compare {folder.experiment}`")


def test_an_oracle_is_marked_in_its_rows_and_named_once():
    table = tabulate_localization([run(alignment="apr-oracle"), run("valley", alignment="apr-oracle"), run("campus")])
    marks = [row["alignment"] for row in parsed(table)]
    assert marks == ["apr-oracle (ORACLE)"] * 6 + ["none"] * 3
    assert sum(note.startswith("ORACLE: ") for note in table.notes) == 1


def test_labels_from_the_truth_are_called_an_upper_bound():
    notes = tabulate_localization([run(labels="truth+120")]).notes
    assert any("labels truth+120" in note and "upper bound" in note for note in notes)


def test_hostile_names_stay_in_their_cell():
    table = tabulate_localization([run("a_b|c", **{"x & $y$": ENTRY})])
    assert r"| a\_b\|c | x &amp; $y$ | test | APR | run |" in table.markdown()
    assert r"a\_b|c & x \& \$y\$ & test & APR & run" in table.latex()
