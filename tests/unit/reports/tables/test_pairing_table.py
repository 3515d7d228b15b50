"""Two runs in a table: which is which, what differs, and what must be known of either."""

import json

from tmapr.artifacts.documents.runs import Provenance
from tmapr.evaluation.bootstrap import Interval
from tmapr.reports.tables.comparison import tabulate_pairings
from tmapr.studies.comparison import Difference
from tmapr.studies.pairing import Measure, Pairing

MADE = {
    "tmapr": "0",
    "numpy": "0",
    "settings_sha256": "",
    "map": "",
    "experiment_sha256": "",
    "sequences": {},
    "made_from": {},
}
HONEST = Provenance(**MADE, labels="off", alignment="none")
RMSE = Measure("RMSE m", 500, 1.0, 1.25, Difference(-0.25, Interval(-0.375, -0.125)))
F1 = Measure("F1, all", 600, 0.5, 0.75, Difference(-0.25, Interval(-0.5, -0.125)), higher_is_better=True)


def test_every_measure_of_every_sequence_is_a_row():
    table = tabulate_pairings(
        [Pairing("noon", (RMSE,)), Pairing("night", (RMSE, F1))], [("runs/x", HONEST), ("runs/y", HONEST)]
    )
    assert [row[::2][:2] for row in table.cells] == [("noon", "RMSE m"), ("night", "RMSE m"), ("night", "F1, all")]
    assert table.cells[1][3:] == ("500", "1.000", "1.250", "-0.250", "-0.375", "-0.125", "better")
    assert table.cells[2][3:] == ("600", "0.500", "0.750", "-0.250", "-0.500", "-0.125", "worse")


def test_the_runs_are_named_with_what_each_was_allowed():
    cheated = Provenance(**MADE, labels="truth+120", alignment="apr-oracle")
    notes = tabulate_pairings([Pairing("night", (RMSE,))], [("runs/x", HONEST), ("runs/y", cheated)]).notes
    assert notes[0] == "A: runs/x; labels off; alignment none"
    assert notes[1].startswith("B: runs/y; labels truth+120; alignment apr-oracle (ORACLE); ORACLE: ")
    assert "upper bound" in notes[1]


def test_a_sequence_left_out_is_told_beneath_the_table():
    table = tabulate_pairings(
        [Pairing("night", refusal="night: left out, because")], [("runs/x", HONEST), ("runs/y", HONEST)]
    )
    assert table.rows == ()
    assert table.notes[-1] == "night: left out, because"


def test_json_keeps_the_unrounded_difference():
    difference = Difference(1 / 3, Interval(0.1, 0.5))
    table = tabulate_pairings(
        [Pairing("night", (Measure("RMSE m", 9, 1.0, 2.0, difference),))], [("x", HONEST), ("y", HONEST)]
    )
    (row,) = json.loads(table.json())["rows"]
    assert row["difference"] == 1 / 3
    assert row["verdict"] == "worse"
