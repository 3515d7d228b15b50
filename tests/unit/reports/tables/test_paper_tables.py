"""The paper's numbers stand beneath ours, marked, and what the notes say of them can be recomputed from them."""

import json

import pytest

from tmapr.reports.tables.ablation import tabulate_loops, tabulate_system
from tmapr.reports.tables.localization import tabulate_fusion, tabulate_localization
from tmapr.reports.tables.paper import append_paper_rows
from tmapr.reports.tables.table import Table, TableColumn

TABLES = {
    "localization": (tabulate_localization([]), 12),
    "fusion": (tabulate_fusion([]), 3),
    "loops": (tabulate_loops([]), 9),
    "system": (tabulate_system([]), 4),
}
"""Without runs, and how many rows the paper has."""

DATA = ("Real-UGV-Campus", "MS2", "STherO Valley")
SUBSETS = ("ACIL", "ACIL+U", "ACIL+G", "ACIL+H", "ACIL+U+G", "ACIL+U+H", "ACIL+G+H", "ACIL+U+G+H")


def published(name):
    table, _ = TABLES[name]
    return json.loads(append_paper_rows(table, name).json())["rows"]


@pytest.mark.parametrize("name", TABLES)
def test_every_table_gets_its_rows_marked_as_the_papers_with_its_data(name):
    rows = published(name)
    assert len(rows) == TABLES[name][1]
    assert {row["run"] for row in rows} == {"paper"}
    assert {row["sequence"] for row in rows} <= set(DATA)


@pytest.mark.parametrize("name", TABLES)
def test_the_notes_say_that_data_and_alignment_differ(name):
    table, _ = TABLES[name]
    notes = append_paper_rows(table, name).notes
    assert notes[: len(table.notes)] == table.notes
    added = " ".join(notes[len(table.notes) :])
    assert "on its own recordings" in added
    assert "fitted to the test truth before fusion" in added


def test_our_rows_stay_first_and_as_they_are():
    columns = tuple(TableColumn(key, key) for key in ("sequence", "run", "protocol", "method", "rmse"))
    ours = ("night", "city", "test", "fused", 1.0)
    table = append_paper_rows(Table(columns, (ours,), ("ours",)), "system")
    assert table.rows[:2] == (ours, ("MS2", "paper", "not stated", "APR", 19.07))
    assert table.notes[0] == "ours"


def test_a_table_without_the_papers_columns_is_refused():
    with pytest.raises(ValueError, match="the table has only \\['run'\\]"):
        append_paper_rows(Table((TableColumn("run", "run"),), ()), "system")


@pytest.mark.parametrize("name", TABLES)
def test_what_is_not_printed_is_not_made_up(name):
    unknown = {"low", "high", "verdict", "difference", "jumps", "fused_jumps", "coverage95", "recall", "recall_at_1"}
    for row in published(name):
        assert {row[key] for key in unknown & row.keys()} <= {None}


@pytest.mark.parametrize(
    ("name", "sequence", "sums"),
    [
        ("localization", "Real-UGV-Campus", {"rmse": 4.65, "mean": 3.84, "median": 2.35}),
        ("localization", "MS2", {"rmse": 135.60, "mean": 116.19, "median": 77.65}),
        ("localization", "STherO Valley", {"rmse": 171.67, "mean": 145.04, "median": 102.79}),
        ("system", "MS2", {"rmse": 67.71}),
    ],
)
def test_the_columns_add_up_to_what_the_printed_ones_do(name, sequence, sums):
    rows = [row for row in published(name) if row["sequence"] == sequence]
    assert {key: sum(row[key] for row in rows) for key in sums} == pytest.approx(sums)


def test_only_the_papers_own_method_is_marked_an_oracle():
    marked = {row["method"] for row in published("localization") if "ORACLE" in row["alignment"]}
    assert marked == {"TM-APR"}
    assert all("ORACLE" in row["alignment"] for row in published("fusion"))


def test_rmse_over_mean_is_the_same_for_two_baselines_as_the_note_says():
    for row in published("localization"):
        if row["method"] in ("AtLoc", "RobustLoc"):
            assert row["rmse"] / row["mean"] == pytest.approx(1.13, abs=0.005)


def test_only_two_of_the_printed_triples_cannot_be_as_the_note_says():
    # No mean is further from its median than the standard deviation.
    impossible = [
        (row["sequence"], row["method"])
        for row in published("localization")
        if abs(row["mean"] - row["median"]) > (row["rmse"] ** 2 - row["mean"] ** 2) ** 0.5
    ]
    assert impossible == [("Real-UGV-Campus", "RobustLoc"), ("MS2", "RobustLoc")]


def test_the_same_result_is_the_same_number_in_three_tables():
    own = {row["sequence"]: row["rmse"] for row in published("localization") if row["method"] == "TM-APR"}
    assert {row["sequence"]: row["fused_rmse"] for row in published("fusion")} == own
    system = {row["method"]: row["rmse"] for row in published("system")}
    assert system["full"] == own["MS2"]
    assert system["APR"] == {row["sequence"]: row["apr_rmse"] for row in published("fusion")}["MS2"]


def test_the_printed_gains_follow_from_the_printed_errors_but_for_the_one_that_the_note_names():
    wrong = {
        row["sequence"]: round(100 * (1 - row["fused_rmse"] / row["apr_rmse"]), 1)
        for row in published("fusion")
        if row["gain_over_apr"] != round(100 * (1 - row["fused_rmse"] / row["apr_rmse"]), 1)
    }
    assert wrong == {"Real-UGV-Campus": 41.5}


def test_loops_are_global_retrieval_and_the_eight_subsets():
    assert [row["method"] for row in published("loops")] == ["Global AnyThermal-VPR", *SUBSETS]


def test_the_papers_f1_is_made_from_the_recall_under_decision_recall_which_exceeds_precision():
    for row in published("loops"):
        precision, recall = row["precision"], row["decision_recall"]
        # Half a unit of the last printed decimal in three printed numbers.
        assert row["f1"] == pytest.approx(2 * precision * recall / (precision + recall), abs=1.5e-4)
        assert recall > precision


def test_the_filter_alone_is_worse_than_its_input_as_the_note_says():
    rows = {row["method"]: row["rmse"] for row in published("system")}
    assert list(rows) == ["APR", "APR + CAPF", "APR + global + CAPF", "full"]
    assert rows["APR + CAPF"] > rows["APR"]


@pytest.mark.parametrize("name", TABLES)
def test_latex_holds_no_sign_that_its_usual_fonts_lack(name):
    table, _ = TABLES[name]
    append_paper_rows(table, name).latex().encode("latin-1")
