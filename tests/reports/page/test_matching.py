"""What the figures of matches are drawn from: the run's own matches and plain cosine retrieval, on the same queries."""

import numpy as np
import pytest

from made_up import run_block, write_block
from tmapr.evaluation.curves import best_decision
from tmapr.reports.page.matching import Matching
from tmapr.reports.page.sequence import list_jumps, list_matches, render_matches
from tmapr.reports.reported import ReportedRun


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    return ReportedRun.load(run_block(home).path)


@pytest.fixture(scope="module")
def match(run):
    return Matching(run, run.sequences[0])


def test_rows_are_the_frames_with_a_usable_image(run, match):
    usable = [row for row, percept in enumerate(run.sequences[0].trial.recording.percepts) if not percept.fault]
    assert match.rows.tolist() == usable
    assert len(usable) < len(run.sequences[0].table.stamps)


def test_columns_are_references_in_the_order_they_were_driven(run, match):
    assert (np.diff(run.memory.frames[match.references]) > 0).all()
    row, column = 7, 11
    descriptor = run.sequences[0].trial.recording.percepts[match.rows[row]].descriptor
    at = int(match.references[column])
    assert match.similarities[row, column] == pytest.approx(run.memory.similarities(descriptor)[at], abs=1e-6)
    assert match.positions[column].tolist() == run.memory.positions[at].tolist()


def test_our_match_is_the_first_candidate_in_the_table(run, match):
    first = run.sequences[0].table.first
    known = match.ours.known
    frames = run.memory.frames[match.references[match.ours.values[known]]]
    assert frames.tolist() == first.references.values[match.rows][known].tolist()
    cosines = match.similarities[np.arange(len(match.rows)), match.ours.values][known]
    assert cosines == pytest.approx(first.similarities.values[match.rows][known], abs=1e-6)


def test_the_nearest_reference_is_the_nearest_one(match):
    pairs = match.nearest
    for row, column in zip(pairs.rows[:20], pairs.columns[:20], strict=True):
        away = np.linalg.norm(match.positions - match.truth.values[row], axis=1)
        assert away[column] == away.min() <= 10.0


def test_the_curve_of_ours_is_that_of_the_evaluation(run, match):
    loops = run.errors.test["night"].loops
    assert best_decision(match.curves()["ours"]).f1 == pytest.approx(loops.best_f1, abs=0.03)
    assert match.curves()["ours"].recall[-1] == pytest.approx(loops.recall_at["1"], abs=0.01)


def test_without_images_the_counts_are_told_and_pictures_are_missing(match):
    shown = render_matches(match)
    assert f"Of {(match.ours.known & match.truth.known).sum()} frames with a match" in shown
    assert "<img" not in shown
    assert shown.count("no picture") == 3 * len(match.disagreements.shown)


def test_every_figure_has_its_caption(run, match):
    shown = [*list_jumps(run, run.sequences[0]), *list_matches(match)]
    assert [each.drawn.startswith("<svg") and len(each.caption) > 40 for each in shown] == [True] * 3
    count = run.errors.test["night"].jumps
    assert f"fused: jumps in {count.fused} of" in shown[0].drawn
    assert f"pose head: jumps in {count.apr} of" in shown[0].drawn
