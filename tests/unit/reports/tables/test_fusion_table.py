"""The table of fusion sets the fused track beside both of its inputs, and does not hide a loss."""

import json

import pytest

from tmapr.artifacts.documents.runs import Errors, SequenceErrors
from tmapr.reports.tables.localization import EvaluatedRun, tabulate_fusion
from tmapr.types import CoordinateFrame

UNTOLD = {
    "reasons": {"accepted": 9},
    "status": {"localized": 9},
    "nees": {"mean": 2.0, "coverage95": 0.95},
    "loops": {},
    "step_ms": {"p50": 1.0, "p95": 1.0, "max": 1.0},
}
"""What an entry of errors.json also has, and this table does not show."""


def figures(rmse):
    return {"rmse": rmse, "mean": rmse, "median": rmse} if rmse is not None else None


def entry(apr, retrieval, fused, jumps):
    return SequenceErrors(
        **UNTOLD,
        frames=7,
        apr=figures(apr),
        retrieval=figures(retrieval),
        fused=figures(fused),
        jumps={"apr": None, "fused": None} | jumps,
    )


def run(label="city", alignment="none", **tests):
    stated = {"alignment": alignment, "labels": "off", "settings_sha256": "0" * 64}
    return EvaluatedRun(label, "data", Errors(test=tests, frame=CoordinateFrame(), **stated))


NIGHT = entry(20.0, 4.0, 3.0, {"apr": 12, "fused": 0})


def parsed(*runs):
    return json.loads(tabulate_fusion(runs).json())["rows"]


def test_a_row_holds_both_inputs_the_output_and_the_gains():
    assert parsed(run(night=NIGHT)) == [
        {
            "run": "city",
            "sequence": "night",
            "protocol": "test",
            "alignment": "none",
            "frames": 7,
            "apr_rmse": 20.0,
            "apr_jumps": 12,
            "retrieval_rmse": 4.0,
            "retrieval_jumps": None,
            "fused_rmse": 3.0,
            "fused_jumps": 0,
            "gain_over_apr": pytest.approx(85.0),
            "gain_over_retrieval": pytest.approx(25.0),
        }
    ]


def test_a_loss_is_a_gain_below_zero():
    (row,) = parsed(run(away=entry(10.0, 8.0, 12.0, {"apr": 0, "fused": 1})))
    assert (row["gain_over_apr"], row["gain_over_retrieval"]) == (pytest.approx(-20.0), pytest.approx(-50.0))


@pytest.mark.parametrize(
    ("apr", "retrieval", "fused", "gains"),
    [
        (None, 4.0, 2.0, (None, 50.0)),
        (4.0, None, 2.0, (50.0, None)),
        (0.0, 4.0, 2.0, (None, 50.0)),
        (4.0, 4.0, 0.0, (100.0, 100.0)),
    ],
)
def test_there_is_no_gain_over_an_input_that_is_missing_or_exact(apr, retrieval, fused, gains):
    (row,) = parsed(run(night=entry(apr, retrieval, fused, {"apr": None, "fused": 0})))
    assert (row["gain_over_apr"], row["gain_over_retrieval"]) == gains


def test_an_oracle_is_marked_in_its_row():
    table = tabulate_fusion([run(night=NIGHT), run("valley", "apr-oracle", night=NIGHT)])
    assert [cells[3] for cells in table.cells] == ["none", "apr-oracle (ORACLE)"]
    assert any(note.startswith("ORACLE: ") for note in table.notes)
