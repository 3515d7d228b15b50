"""Tables of a stream: learning over the thirds of a drive, what is left of earlier ones, no figure without its name."""

import json
import re

import pytest

from tmapr.artifacts.documents.runs import Errors, Provenance, SequenceTimings
from tmapr.evaluation.bootstrap import Interval
from tmapr.reports.tables.comparison import tabulate_pairings
from tmapr.reports.tables.errors import list_warnings, warn_of
from tmapr.reports.tables.localization import EvaluatedRun, tabulate_fusion, tabulate_localization
from tmapr.reports.tables.stream import describe_labels, tabulate_forgetting, tabulate_stream
from tmapr.studies.comparison import Difference
from tmapr.studies.pairing import Measure, Pairing

STEP = {"p50": 1.0, "p95": 1.0, "max": 1.0}
ENTRY = {
    "frames": 9,
    "apr": {"rmse": 14.1, "mean": 11.2, "median": 8.7},
    "retrieval": {"rmse": 3.3, "mean": 0.9, "median": 0.6},
    "fused": {"rmse": 0.954, "mean": 0.7, "median": 0.5},
    "jumps": {"apr": 4, "fused": 0},
    "reasons": {"accepted": 9},
    "status": {"localized": 9},
    "nees": {"mean": 2.0, "coverage95": 0.95},
    "loops": {},
    "step_ms": STEP,
}
TAUGHT = {"protocol": "stream", "labels": "truth+120", "trained": False}
SEEN = TAUGHT | {"trained": True}
TESTED = {"protocol": "test", "labels": "off", "trained": False}


def figures(value, frames=9):
    return {"frames": frames, "recall_at_1": value, "precision": 1.0, "recall": value, "f1": value, "rmse": 10 * value}


def streamed(value):
    return {"whole": figures(value), "thirds": [figures(value + part / 100, 3) for part in (1, 2, 3)]}


STREAM = {
    "order": ["2", "3"],
    "labels": "truth+120",
    "while_learning": {"2": streamed(0.5), "3": streamed(0.6)},
    "asked_again": {"2": {"2": figures(0.7)}, "3": {"2": figures(0.65), "3": figures(0.8)}},
}


def errors(stream=STREAM, labels="off", **tests):
    found = tests or {"2": ENTRY | SEEN, "3": ENTRY | TAUGHT, "4": ENTRY | TESTED}
    stated = {"test": found, "alignment": "none", "labels": labels, "settings_sha256": "abcdef" * 10, "frame": {}}
    return Errors.model_validate_json(json.dumps(stated | {"stream": stream}))


def parsed(table):
    return json.loads(table.json())["rows"]


def test_each_streamed_sequence_is_shown_whole_and_in_thirds():
    rows = parsed(tabulate_stream(errors()))
    assert [(row["sequence"], row["part"], row["frames"]) for row in rows[:4]] == [
        ("2", "whole", 9),
        ("2", "beginning", 3),
        ("2", "middle", 3),
        ("2", "end", 3),
    ]
    assert [row["f1"] for row in rows[:4]] == [0.5, 0.51, 0.52, 0.53]
    assert [row["protocol"] for row in rows[::4]] == ["stream truth+120, trained on", "stream truth+120"]


def test_the_earlier_sequences_are_a_triangle_beneath_what_was_found_while_learning():
    learning, first, second = parsed(tabulate_forgetting(errors().stream))
    assert (learning["asked"], first["asked"], second["asked"]) == ("while it was learned", "after 2", "after 3")
    assert (learning["2 recall_at_1"], first["2 recall_at_1"], second["2 recall_at_1"]) == (0.5, 0.7, 0.65)
    assert (learning["3 f1"], first["3 f1"], second["3 f1"]) == (0.6, None, 0.8)
    assert second["3 rmse"] == 8.0


def test_without_a_stream_there_is_no_such_table():
    found = errors(stream=None, night=ENTRY)
    assert tabulate_stream(found) is None
    assert tabulate_forgetting(found.stream) is None


@pytest.mark.parametrize("table", [tabulate_localization, tabulate_fusion])
def test_every_row_says_its_protocol_and_whether_its_drive_was_trained_on(table):
    shown = table([EvaluatedRun("city", "data", errors())])
    told = {row["sequence"]: row["protocol"] for row in parsed(shown)}
    assert told == {"2": "stream truth+120, trained on", "3": "stream truth+120", "4": "test"}
    notes = " ".join(shown.notes)
    assert "stream truth+120: while it was scored, it learned from the true positions of earlier frames" in notes
    assert "trained on: networks saw this drive in training" in notes
    assert "labels off (test), truth+120 (stream)" in notes


def test_a_stream_that_teaches_itself_needs_no_warning_and_one_of_the_truth_does():
    own = errors(**{"3": ENTRY | TAUGHT | {"labels": "fused"}})
    assert warn_of(own) == []
    (warning,) = warn_of(errors(**{"3": ENTRY | TAUGHT}))
    assert "the paper's protocol" in warning
    assert "without the word stream" in warning


def test_labels_of_tests_are_an_upper_bound_only_where_there_are_tests():
    assert list_warnings("none", "truth+9", ["stream fused"]) == []
    assert "upper bound" in list_warnings("none", "truth+9", ["stream fused", "test"])[0]


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([TESTED], "off"),
        ([TAUGHT], "truth+120 (stream)"),
        ([TAUGHT, TESTED], "off (test), truth+120 (stream)"),
        ([{}], "off"),
    ],
)
def test_labels_are_told_by_protocol(entries, told):
    read = [SequenceTimings.model_validate_json(json.dumps(entry | {"step_ms": STEP})) for entry in entries]
    assert describe_labels("off", read) == told


def test_two_runs_of_different_protocols_are_paired_under_both_names():
    made = {"tmapr": "1", "numpy": "2", "settings_sha256": "", "map": "", "experiment_sha256": "", "labels": "off"}
    made |= {"made_from": {}}
    runs = [
        Provenance.model_validate_json(
            json.dumps(made | {"alignment": "none", "sequences": {"3": {"step_ms": STEP} | entry}})
        )
        for entry in (TAUGHT, TESTED)
    ]
    measure = Measure("RMSE m", 9, 1.0, 2.0, Difference(-1.0, Interval(-2.0, -0.5)))
    table = tabulate_pairings([Pairing("3", (measure,))], [("a", runs[0]), ("b", runs[1])])
    assert parsed(table)[0]["protocol"] == "stream truth+120 | test"
    assert re.match(r"A: a; labels truth\+120 \(stream\); alignment none; stream truth\+120: while", table.notes[0])
    assert table.notes[1] == "B: b; labels off; alignment none"
