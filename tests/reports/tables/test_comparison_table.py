"""The table that compares methods prints the rows it is given, and the sentences say what the intervals say."""

import json
import re

import numpy as np
import pytest

from tmapr.artifacts.documents.studies import ComparedMethod
from tmapr.evaluation.bootstrap import Interval
from tmapr.reports.tables.comparison import describe_methods, tabulate_methods
from tmapr.studies.comparison import Contender, Difference, compare_contenders

GROUP = ("rmse", "rmse_spread", "seeds", "mean", "median", "difference", "low", "high", "protocol")
NAMES = ("city · night", "valley | _dusk_")


def row(name, rmse, difference=None, about="", budget=""):
    """A method of one seed; a difference is its value and its two ends."""
    figures = {"rmse": rmse, "mean": 0.9 * rmse, "median": 0.8 * rmse}
    value, low, high = difference or (None, None, None)
    verdict = Difference(value, Interval(low, high)).standing.value if difference else None
    told = {"difference": value, "low": low, "high": high, "verdict": verdict}
    return ComparedMethod(name=name, about=about, seeds=1, **figures, **told, budget=budget)


OURS = row("full system", 0.71)
RETRIEVAL = row("global retrieval", 0.88, (-0.17, -0.25, -0.1))
ATLOC = row("AtLoc", 3.25, (-2.54, -2.75, -2.25), about="frozen encoder")


@pytest.fixture
def results(rng):
    def errors(scale, seeds=1):
        return tuple(rng.gamma(2.0, scale, 60) for _ in range(seeds))

    def contenders():
        return [
            Contender("APR", "", errors(3.0, 3)),
            Contender("AtLoc", "ResNet-34, random", errors(5.0)),
            Contender("AtLoc", "frozen encoder", errors(4.0)),
            Contender("full system", "", errors(1.0, 3)),
        ]

    return {name: compare_contenders(contenders(), "full system", resamples=50) for name in NAMES}


def cells_of_markdown(markdown):
    """Every row's cells, as somebody who reads the file would take them."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def number(cell):
    return None if cell == "–" else float(cell)


def test_markdown_round_trips_every_number_to_its_digits(results):
    _, _, *body = cells_of_markdown(tabulate_methods(results).markdown())
    assert len(body) == 4
    for cells, *rows in zip(body, *results.values(), strict=True):
        expected = [dict(one)[key] for one in rows for key in GROUP]
        assert cells[:2] == [rows[0].name, rows[0].about]
        for cell, value in zip(cells[2:], expected, strict=True):
            # Half a unit of the last of two decimals, and the rounding of that half itself.
            assert number(cell) == (None if value is None else pytest.approx(value, abs=0.005 + 1e-9))


def test_json_keeps_the_values_themselves(results):
    lines = json.loads(tabulate_methods(results).json())["rows"]
    for line, *rows in zip(lines, *results.values(), strict=True):
        for name, one in zip(NAMES, rows, strict=True):
            assert [line[f"{name} {key}"] for key in GROUP] == [dict(one)[key] for key in GROUP]
        assert (line["method"], line["about"]) == (rows[0].name, rows[0].about)


def test_each_test_sequence_is_a_group_of_columns_named_in_its_first(results):
    titles = tabulate_methods(results).titles
    rest = ("±", "seeds", "mean m", "median m", "difference m", "from", "to", "protocol")
    assert titles == ("method", "variant", f"{NAMES[0]}: RMSE m", *rest, f"{NAMES[1]}: RMSE m", *rest)


def test_latex_has_a_column_for_each(results):
    lines = tabulate_methods(results).latex().splitlines()
    assert lines[0] == rf"\begin{{tabular}}{{ll{2 * ('r' * 8 + 'l')}}}"
    assert {line.count(" & ") for line in lines if line.startswith(("APR", "AtLoc", "full"))} == {19}


def test_text_is_aligned(results):
    head, *body = tabulate_methods(results).text().splitlines()[:5]
    end = head.index(": RMSE m") + len(": RMSE m")
    for line in body:
        assert re.fullmatch(r".*\d\.\d\d", line[:end])


def test_a_method_missing_on_a_sequence_has_dashes_there_and_methods_stand_as_first_given():
    table = tabulate_methods({"a": [OURS, ATLOC], "b": [RETRIEVAL, OURS]})
    assert [cells[0] for cells in table.cells] == ["full system", "AtLoc", "global retrieval"]
    _, atloc, retrieval = table.cells
    assert atloc[2] == "3.25"
    assert set(atloc[2 + len(GROUP) :]) == {"–"}
    assert set(retrieval[2 : 2 + len(GROUP)]) == {"–"}
    assert retrieval[2 + len(GROUP)] == "0.88"


def test_the_notes_say_whose_difference_it_is_and_what_it_does_not_cover():
    notes = " ".join(tabulate_methods({"a": [OURS, ATLOC]}).notes)
    assert "RMSE of full system less that of the row" in notes
    assert "not over seeds" in notes
    assert "±: standard deviation over the training seeds" in notes


def test_a_budget_is_stated_once_or_for_each_sequence_where_it_differs():
    same = {name: [row("full system", 1.0, budget="9 images"), ATLOC] for name in "ab"}
    assert tabulate_methods(same).notes[2:] == ("full system: 9 images",)
    other = {name: [OURS, row("AtLoc", 1.0, (0.0, -1.0, 1.0), "frozen", f"{name} images")] for name in "ab"}
    assert tabulate_methods(other).notes[2:] == ("AtLoc (frozen) on a: a images", "AtLoc (frozen) on b: b images")


def test_a_sentence_compares_ours_with_the_best_other():
    assert describe_methods({"city · night": [ATLOC, OURS, RETRIEVAL]}) == [
        "city · night: full system RMSE 0.71 m; best other: global retrieval 0.88 m;"
        " difference −0.17 m [−0.25, −0.10]: better"
    ]


@pytest.mark.parametrize(
    ("difference", "told"),
    [
        ((0.31, 0.2, 0.4), "difference 0.31 m [0.20, 0.40]: worse"),
        ((0.05, -0.1, 0.2), "difference 0.05 m [−0.10, 0.20]: not told apart"),
    ],
)
def test_a_sentence_says_where_ours_is_not_best(difference, told):
    other = row("AtLoc", 0.5, difference, about="frozen encoder")
    (sentence,) = describe_methods({"a": [OURS, RETRIEVAL, other]})
    assert sentence.endswith(f"best other: AtLoc (frozen encoder) 0.50 m; {told}")


def test_the_best_other_is_the_one_with_the_least_rmse():
    steady = RETRIEVAL.model_copy(update={"name": "steady", "rmse": 1.0, "mean": 0.9, "median": 0.9})
    mostly_exact = RETRIEVAL.model_copy(update={"name": "exact", "rmse": 2.0, "mean": 0.3, "median": 0.1})
    (sentence,) = describe_methods({"a": [mostly_exact, OURS, steady]})
    assert "best other: steady 1.00 m" in sentence


def test_there_is_a_sentence_for_each_sequence(results):
    assert [sentence.split(": full system")[0] for sentence in describe_methods(results)] == list(NAMES)


def test_ours_alone_is_said_to_be_alone():
    assert describe_methods({"a": [OURS]}) == ["a: full system RMSE 0.71 m; there is no other to compare with"]


@pytest.mark.parametrize("rows", [[RETRIEVAL], [OURS, row("another", 1.0)], []])
@pytest.mark.parametrize("form", [describe_methods, tabulate_methods])
def test_rows_that_do_not_tell_which_is_ours_are_refused(rows, form):
    with pytest.raises(ValueError, match=f"got {len([one for one in rows if one.difference is None])} of {len(rows)}"):
        form({"a": rows})


def test_numbers_have_the_same_digits_in_table_and_sentence():
    rounded = row("AtLoc", 1.0, (-0.125, -np.pi, 0.0049))
    (sentence,) = describe_methods({"a": [OURS, rounded]})
    cells = tabulate_methods({"a": [OURS, rounded]}).cells[1]
    value, low, high = (cell.replace("-", "−") for cell in cells[-4:-1])
    assert f"difference {value} m [{low}, {high}]" in sentence
