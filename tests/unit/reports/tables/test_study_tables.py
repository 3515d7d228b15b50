"""A study's tables: sums over places, means over places, and differences place by place."""

import numpy as np
import pytest

from study_rows import make_drive, make_row
from tmapr.evaluation.bootstrap import mean_interval
from tmapr.reports.tables.study_tables import FOREIGN, compare_methods, tabulate_study


def read(table):
    return [dict(zip([column.key for column in table.columns], row, strict=True)) for row in table.rows]


def test_counts_are_added_and_medians_averaged_over_the_places_of_a_family():
    rows = [
        make_row("city-2", {"night": make_drive(wrong=3, wrong_on_map=2, median_m=1.0)}),
        make_row("city-4", {"night": make_drive(median_m=2.0)}),
        make_row("campus-2", {"night": make_drive(median_m=None)}, kind="campus"),
    ]
    city, campus, both = read(tabulate_study({"default": rows}))
    assert (city["family"], city["places"], city["frames"], city["wrong"]) == ("city", 2, 200, 3)
    assert (city["wrong_in_1000"], city["wrong_on_map"], city["median_m"]) == (15.0, 2, 1.5)
    assert (campus["family"], campus["median_m"]) == ("campus", None)
    assert (both["family"], both["places"], both["wrong_in_1000"]) == ("all", 3, 10.0)


def test_drives_of_other_places_are_one_line():
    away = {"localized": None, "on_map": 0, "off_map": 100, "away": True}
    drives = {
        f"{name}: night": make_drive(wrong=count, off_localized=count, **away) for name, count in (("a", 1), ("b", 4))
    }
    (line,) = read(tabulate_study({"default": [make_row("city-2", drives)]}))
    assert (line["asked"], line["places"], line["wrong"], line["off"]) == (FOREIGN, 1, 5, 0.025)


def test_a_difference_is_paired_by_place_with_student_s_interval():
    ours, theirs = (1.0, 2.0, 4.0), (1.5, 2.0, 2.0)
    made = [
        [make_row(f"city-{place}", {"night": make_drive(median_m=value)}) for place, value in enumerate(values)]
        for values in (ours, theirs)
    ]
    (line,) = read(compare_methods({"a": made[0], "b": made[1]}, "b", list(reversed(made[1]))))
    found = mean_interval([-0.5, 0.0, 2.0])
    assert (line["method"], line["places"]) == ("a", 3)
    assert line["median_m"] == f"{np.mean([-0.5, 0.0, 2.0]):+.2f} [{found.low:+.2f} {found.high:+.2f}]"


def test_places_that_the_other_method_lacks_are_left_out():
    rows = [make_row("city-2"), make_row("city-4")]
    (line,) = read(compare_methods({"a": rows}, "b", rows[:1]))
    assert line["places"] == 1


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_the_makers_stand_below(form):
    assert "commit abc, source s" in getattr(tabulate_study({"default": [make_row("city-2")]}), form)()
