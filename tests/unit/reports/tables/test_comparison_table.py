"""The table that compares methods prints the rows it is given, and the sentences say what the intervals say."""

import json
import re

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


def test_a_method_missing_on_a_sequence_has_dashes_there_and_methods_stand_as_first_given():
    table = tabulate_methods({"a": [OURS, ATLOC], "b": [RETRIEVAL, OURS]})
    assert [cells[0] for cells in table.cells] == ["full system", "AtLoc", "global retrieval"]
    _, atloc, retrieval = table.cells
    assert atloc[2] == "3.25"
    assert set(atloc[2 + len(GROUP) :]) == {"–"}
    assert set(retrieval[2 : 2 + len(GROUP)]) == {"–"}
    assert retrieval[2 + len(GROUP)] == "0.88"


def test_a_sentence_compares_ours_with_the_best_other():
    (sentence,) = describe_methods({"city · night": [ATLOC, OURS, RETRIEVAL]})
    for told in ("city · night", "0.71 m", "global retrieval 0.88 m", "−0.17 m [−0.25, −0.10]: better"):
        assert told in sentence


def test_the_best_other_is_the_one_with_the_least_rmse():
    steady = RETRIEVAL.model_copy(update={"name": "steady", "rmse": 1.0, "mean": 0.9, "median": 0.9})
    mostly_exact = RETRIEVAL.model_copy(update={"name": "exact", "rmse": 2.0, "mean": 0.3, "median": 0.1})
    (sentence,) = describe_methods({"a": [mostly_exact, OURS, steady]})
    assert "best other: steady 1.00 m" in sentence


@pytest.mark.parametrize("rows", [[RETRIEVAL], [OURS, row("another", 1.0)], []])
@pytest.mark.parametrize("form", [describe_methods, tabulate_methods])
def test_rows_that_do_not_tell_which_is_ours_are_refused(rows, form):
    with pytest.raises(ValueError, match=f"got {len([one for one in rows if one.difference is None])} of {len(rows)}"):
        form({"a": rows})
