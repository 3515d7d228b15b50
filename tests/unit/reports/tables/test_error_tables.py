"""The tables of errors.json: what stands where, what a dash is, and that a terminal is wide enough."""

import io
import json

import pytest
from rich.console import Console

from tmapr.artifacts.documents.runs import Errors, SequenceErrors
from tmapr.cli.evaluate import print_errors
from tmapr.reports.tables.errors import (
    tabulate_decisions,
    tabulate_honesty,
    tabulate_poses,
    tabulate_rankings,
    tabulate_tracks,
)
from tmapr.types import CoordinateFrame


def figures(scale):
    return {
        key: scale * (place + 1) for place, key in enumerate(("rmse", "mean", "median", "p75", "p95", "p99", "max"))
    }


def spread(scale):
    return {
        key: scale * (place + 1) for place, key in enumerate(("rmse", "mean", "median", "std", "min", "max", "sse"))
    }


def over(delta, unit, **statistics):
    return {"delta": delta, "unit": unit, "all_pairs": False, "alignment": "none"} | statistics


@pytest.fixture
def entry():
    """An entry of errors.json with numbers as wide as they come."""
    return {
        "frames": 12345,
        "apr": figures(37.0),
        "retrieval": figures(29.0),
        "fused": figures(1.0) | {"rmse_interval": [0.914, 1.138]},
        "heading": {"frames": 99, "rmse_deg": 7.7, "mean_deg": 5.5, "median_deg": 3.3, "p95_deg": 111.1},
        "ape": {"alignment": "none", "poses": 600} | spread(40.0),
        "rpe": [over(1, "frames", pairs=599, **spread(2.0)), over(10.0, "metres", pairs=0)],
        "loops": {
            "precision": 0.81,
            "recall": 0.72,
            "f1": 0.76,
            "decision_recall": 0.93,
            "accepted": 567,
            "queries": 600,
            "f1_interval": [0.701, 0.822],
            "average_precision": 0.912,
            "recall_at_full_precision": 0.333,
            "decision_recall_at_full_precision": 0.444,
            "recall_at": {"1": 0.61, "5": 0.65, "10": 0.66},
            "global_recall_at": {"1": 0.51, "5": 0.55, "10": 0.56},
        },
        "reasons": {"accepted": 600},
        "status": {"localized": 600},
        "nees": {
            "mean": 4066.73,
            "coverage95": 0.912,
            "by_status": {"localized": {"frames": 9, "mean": 2.0, "coverage95": 0.961}},
        },
        "nis": {"mean": 10.21, "inside95": 0.887, "count": 500},
        "jumps": {"apr": 473, "fused": 0},
        "step_ms": {"p50": 11.0, "p95": 13.81, "max": 99.0},
    }


def read(**entries):
    """The test sequences of a file that holds these entries."""
    return {name: SequenceErrors.model_validate_json(json.dumps(entry)) for name, entry in entries.items()}


def test_tracks_show_the_tail_of_the_errors_and_the_interval_of_the_fused_rmse(entry):
    table = tabulate_tracks(read(night=entry))
    assert table.titles == (
        "sequence",
        "frames",
        "track",
        "RMSE m",
        "mean m",
        "median m",
        "p95 m",
        "max m",
        "jumps",
    )
    assert table.cells[2] == ("night", "12345", "fused", "1.00", "2.00", "3.00", "5.00", "7.00", "0")
    assert [row[2] for row in table.cells] == ["APR", "retrieval", "fused"]
    assert table.notes == ("fused RMSE m, 95 % interval: night 0.91 to 1.14",)


def test_pose_errors_are_named_by_what_they_were_taken_over(entry):
    entry["ape"]["alignment"] = "planar"
    rows = tabulate_poses(read(night=entry)).cells
    assert [row[1] for row in rows] == ["APE m, planar", "RPE m over 1 frame", "RPE m over 10 m"]
    assert rows[0][2:] == ("600", "40.00", "80.00", "120.00", "160.00", "240.00")
    assert rows[2][2:] == ("0", "–", "–", "–", "–", "–")


def test_decisions_come_with_the_interval_of_f1(entry):
    table = tabulate_decisions(read(night=entry))
    assert table.cells == (("night", "0.810", "0.720", "0.760", "0.930", "567"),)
    assert table.notes == ("F1, 95 % interval: night 0.701 to 0.822",)


def test_rankings_put_the_global_search_beneath_ours(entry):
    assert tabulate_rankings(read(night=entry)).cells == (
        ("night", "ours", "0.610", "0.650", "0.660", "0.912", "0.333", "0.444"),
        ("night", "global", "0.510", "0.550", "0.560", "–", "–", "–"),
    )


def test_where_the_systems_ranking_is_unknown_its_row_has_dashes(entry):
    entry["loops"]["recall_at"] = None
    assert tabulate_rankings(read(night=entry)).cells[0] == ("night", "ours", "–", "–", "–", "0.912", "0.333", "0.444")


def test_honesty_tells_the_ellipse_while_localized_the_innovations_and_the_heading(entry):
    assert tabulate_honesty(read(night=entry)).cells == (
        ("night", "4066.73", "0.912", "0.961", "10.21", "0.887", "3.3", "111.1", "13.81"),
    )


def test_without_heading_and_innovations_honesty_has_dashes(entry):
    row = tabulate_honesty(read(night=entry | {"heading": None, "nis": None})).cells[0]
    assert row == ("night", "4066.73", "0.912", "0.961", "–", "–", "–", "–", "13.81")


def test_a_terminal_of_80_columns_shows_every_table_without_folding(entry, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert Console(file=io.StringIO()).width == 80
    stated = {"labels": "off", "alignment": "none", "settings_sha256": "0" * 64}
    errors = Errors(test=read(overcast=entry), frame=CoordinateFrame(), **stated)
    print_errors(errors)
    printed = capsys.readouterr().out
    rows = [line.split() for line in printed.splitlines()]
    for table in (tabulate_tracks, tabulate_poses, tabulate_decisions, tabulate_rankings, tabulate_honesty):
        shown = table(errors.test)
        assert " ".join(shown.titles).split() in rows
        for cells in shown.cells:
            assert " ".join(cells).split() in rows
    for note in (*tabulate_tracks(errors.test).notes, *tabulate_decisions(errors.test).notes):
        assert note in printed
