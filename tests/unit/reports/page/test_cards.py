"""What a page says of single frames: their numbers, which are chosen, and that data cannot become markup."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from drives import FRAMES, TRACE, ellipses, everywhere, retold, sequence
from tmapr.artifacts.trajectory import Column
from tmapr.reports.page.card import REASONS, write_cards
from tmapr.reports.page.document import render_data
from tmapr.reports.page.findings import describe_findings
from tmapr.reports.page.footage import MOST_PICTURES, choose_rows, choose_worst, find_peaks, share_frames
from tmapr.types import CHI2_95, NANOSECONDS, Reason, Status

UNKNOWN = Column(np.full((FRAMES, 2), np.nan), np.zeros(FRAMES, dtype=bool))


def told(drive, row):
    (card,) = write_cards(drive, [row])
    return card.facts


def test_every_reason_is_explained():
    assert set(REASONS) == set(Reason)
    assert len(set(REASONS.values())) == len(Reason)


def test_a_card_tells_the_numbers_of_its_frame():
    assert told(sequence(), 4) == {
        "status": "localized",
        "error": "1.00 m",
        "stated uncertainty": "± 2.00 m",
        "error of the pose head": "10.00 m",
        "error of the match": "0.00 m",
        "similarity": "0.800",
        "score": "9.500",
        "margin": "2.500",
        "support": "0.750",
        "leverage": "0.040",
        "confidence": "0.700",
        "innovation": "3.25 m",
        "time": "4.00 s",
        "stamp, ns": "4000000000",
    }


def test_what_is_not_known_is_a_dash_and_what_is_known_of_no_frame_is_left_out():
    some = told(sequence(truth=Column(TRACE, np.arange(FRAMES) != 35)), 35)
    assert [some[name] for name in ("error", "error of the match", "confidence", "innovation")] == ["–"] * 4
    none = told(sequence(truth=UNKNOWN), 4)
    assert set(told(sequence(), 4)) - set(none) == {"error", "error of the pose head", "error of the match"}


def test_a_margin_without_a_rival_is_infinite_and_a_negative_score_has_a_minus():
    drive = sequence(margins=everywhere(np.full(FRAMES, np.inf)), scores=everywhere(np.full(FRAMES, -1.25)))
    assert (told(drive, 0)["margin"], told(drive, 0)["score"]) == ("∞", "−1.250")


def test_the_verdict_names_the_reason_and_warns_of_a_wrong_match_only_where_it_was_believed():
    right, wrong, refused = write_cards(sequence(reasons=(Reason.ACCEPTED,) * 39 + (Reason.JUMPS,)), [3, 35, 39])
    assert [card.verdict.split(":")[0] for card in (right, wrong, refused)] == ["accepted", "accepted", "jumps"]
    assert ["WRONG" in card.verdict for card in (right, wrong, refused)] == [False, True, False]


def test_a_frame_is_misled_if_the_gates_believed_what_lies_beyond_ten_metres():
    aside = np.where(np.arange(FRAMES) < 20, 9.9, 10.1)
    drive = sequence(reference_positions=everywhere(TRACE + aside[:, None] * [0, 1]))
    assert np.flatnonzero(drive.misled).tolist() == list(range(20, 30))
    assert not replace(drive, trial=sequence(truth=UNKNOWN).trial).misled.any()


def test_the_stated_uncertainty_is_the_longest_semi_axis_and_time_never_runs_back():
    stamps = np.arange(FRAMES) * NANOSECONDS
    stamps[[5, 6]] = stamps[[6, 5]]
    drive = sequence(stamps=stamps, covariances=np.tile(np.diag([1.0, 9.0]), (FRAMES, 1, 1)))
    np.testing.assert_allclose(drive.semi_axes, 3 * np.sqrt(CHI2_95))
    assert np.diff(drive.seconds).min() == 0


def test_frames_are_spread_evenly_and_a_short_sequence_is_shown_whole():
    rows = choose_rows(np.zeros(1000, dtype=bool), 101)
    assert (rows[0], rows[-1], len(rows)) == (0, 999, 101)
    assert set(np.diff(rows).tolist()) <= {9, 10, 11}
    assert choose_rows(np.zeros(7, dtype=bool), 100).tolist() == list(range(7))


def test_wrong_matches_come_first_but_leave_no_stretch_without_a_frame():
    wrong = np.zeros(1000, dtype=bool)
    wrong[[3, 501, 777]] = True
    few = choose_rows(wrong, 100, [7, 998])
    assert {3, 7, 501, 777, 998} <= set(few.tolist())
    assert len(few) == len(set(few.tolist())) == 100
    wrong[200:800] = True
    many = choose_rows(wrong, 100)
    assert len(many) == 100
    assert (~wrong[many]).sum() >= 20
    assert np.diff(many).max() < 25


@pytest.mark.parametrize("sequences", [1, 3, 7, 300])
def test_a_page_holds_no_more_pictures_than_it_may(sequences):
    assert 2 * sequences * share_frames(sequences) <= MOST_PICTURES


def hills(*peaks, count=400):
    """Low ground with a triangle of some height and half width at each of these rows."""
    values, rows = np.full(count, 0.1), np.arange(count)
    for at, height, half in peaks:
        values = np.maximum(values, height * (1 - np.abs(rows - at) / half))
    return values


def test_of_each_stretch_the_largest_is_taken_the_worst_first():
    assert find_peaks(hills((50, 20.0, 30), (150, 5.0, 20), (300, 60.0, 40)), 3) == [300, 50, 150]
    assert find_peaks(np.zeros(50), 6) == []


def test_a_stretch_lasts_while_half_of_its_largest_is_left():
    values = np.full(200, 0.1)
    values[20:180] = 30.0
    values[[60, 140]] = [50.0, 45.0]
    values[100] = 24.0
    assert find_peaks(values, 2) == [60, 140]
    values[100] = 26.0
    assert find_peaks(values, 2)[1] != 140


def test_with_truth_errors_count_and_without_what_the_filter_states():
    stated = ellipses(np.where(np.arange(FRAMES) == 7, 90.0, 2.0))
    aside = np.where(np.arange(FRAMES) == 31, 40.0, 1.0)
    drive = sequence(fused=everywhere(TRACE + aside[:, None] * [0, 1]), covariances=stated)
    assert (choose_worst(drive)[0], choose_worst(sequence(truth=UNKNOWN, covariances=stated))[0]) == (31, 7)
    known = np.arange(FRAMES) < 20
    assert max(choose_worst(sequence(truth=Column(np.where(known[:, None], TRACE, np.nan), known)))) < 20


def test_without_true_positions_the_finding_is_what_the_filter_says():
    statuses = (Status.LOST,) * 3 + (Status.LOCALIZED,) * 20 + (Status.LOST,) * 2 + (Status.PREDICTING,) * 15
    reasons = (Reason.ACCEPTED,) * 35 + (Reason.OFF_MAP,) * 5
    found = describe_findings(retold(replace(sequence(), figures=None), statuses=statuses, reasons=reasons))
    for figure in ("50.0 % of 40 frames", "lost in 2 stretches (5 frames)", "off the map in 1 stretch (5 frames)"):
        assert figure in found


def test_data_cannot_end_its_element_or_begin_another():
    content = {"</script><!-- & ]]>": ["<b>", "\x1b\ud800 ü"]}
    block = render_data(content)
    inside = block.removeprefix('<script type="application/json">').removesuffix("</script>")
    assert not set("<>&") & set(inside)
    assert json.loads(inside) == content
    assert json.loads(ElementTree.fromstring(block).text) == content
