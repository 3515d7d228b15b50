"""The numbers that figures are given: counted, compared with plain arithmetic, and none where nothing is known."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from drives import FRAMES, TRACE, everywhere, retold, sequence
from tmapr.artifacts.trajectory import Column
from tmapr.evaluation.curves import Curve, precision_recall
from tmapr.reports.figures.error_curve import draw_errors, list_error_keys
from tmapr.reports.figures.jumps import SteppedPath, draw_jumps
from tmapr.reports.figures.learning_curve import draw_learning_curve
from tmapr.reports.figures.precision_recall import draw_precision_recall
from tmapr.reports.figures.route_belief import RouteAxes, draw_belief
from tmapr.reports.figures.route_error import draw_route_errors
from tmapr.reports.figures.similarity_matrix import Pairs, draw_similarity_matrix
from tmapr.reports.figures.trajectory_map import count_unseen, draw_map, list_map_keys
from tmapr.reports.figures.verdicts import draw_similarities
from tmapr.reports.reported import TimedPath
from tmapr.retrieval.memory import remember
from tmapr.training.checkpoints import Epoch
from tmapr.types import Reason

DRIVEN = TimedPath(np.arange(FRAMES, dtype=float), TRACE)
UNKNOWN = Column(np.full((FRAMES, 2), np.nan), np.zeros(FRAMES, dtype=bool))
BLIND = sequence(truth=UNKNOWN)

SIMILARITIES = np.array([0.95, 0.9, 0.8, 0.7, 0.7, 0.6, 0.5, 0.3])
CORRECT = np.array([True, True, False, True, True, True, False, False])
OPPORTUNITY = np.array([True, True, False, True, True, True, True, True])
CURVE = precision_recall(SIMILARITIES, found=CORRECT | True, correct=CORRECT, opportunity=OPPORTUNITY)
NOTHING = Curve(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0))


def map_of(drive):
    return draw_map(drive, (DRIVEN,), ("x", "y"))


def stepped(name, *at, positions=TRACE):
    """A track of which the steps after these frames are jumps."""
    jumps = np.isin(np.arange(len(positions) - 1), at)
    return SteppedPath(name, TimedPath(np.arange(len(positions), dtype=float), positions), jumps)


def jumps_of(given, fused=None, name="night"):
    return draw_jumps(name, given, fused or stepped("fused"), truth=DRIVEN, names=("x", "y"))


def matrix_of(name):
    pairs = Pairs(np.arange(3), np.arange(3))
    return draw_similarity_matrix(name, np.eye(3), matches=pairs, nearest=pairs)


def trained(*medians):
    return tuple(Epoch(number=n, loss=1 / n, median=m, mean=1.5 * m) for n, m in enumerate(medians, start=1))


def words(svg):
    return {text.text for text in ElementTree.fromstring(svg).findall(".//{*}text")}


def marks(svg, role):
    """How many marks there are of a role; an empty path is none."""
    paths = [path for path in ElementTree.fromstring(svg).iter() if role in path.get("class", "").split()]
    return sum(path.get("d", "M0 0").count("M") for path in paths if path.get("d", "M0 0") != "M0 0")


FIGURES = {
    "map": lambda name: map_of(sequence(name=name)),
    "errors": lambda name: draw_errors(sequence(name=name)),
    "errors along the route": lambda name: draw_route_errors(sequence(name=name)),
    "similarities": lambda name: draw_similarities(sequence(name=name)),
    "jumps": lambda name: jumps_of(stepped(name), name=name),
    "precision and recall": lambda name: draw_precision_recall(name, {name: CURVE}, 0.5),
    "similarity matrix": matrix_of,
    "learning curve": lambda name: draw_learning_curve(trained(3.0, 2.0), name),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_a_hostile_name_is_text_and_nothing_is_fetched(draw):
    hostile = "a<b>&\"'\x1b</svg><script>"
    svg = draw(hostile)
    root = ElementTree.fromstring(svg)
    assert hostile.replace("\x1b", "\N{REPLACEMENT CHARACTER}") in root.find("{*}title").text
    assert not [part for part in root.iter() if part.tag.endswith("script")]
    assert not re.search(r"href=\"(?!data:)|url\(|@import|\b(nan|inf)\b", svg)


def test_estimates_outside_the_view_of_the_map_are_counted():
    fused = TRACE.copy()
    fused[5:7] = [[1e6, 1e6], [-1e6, -1e6]]
    assert count_unseen(sequence(fused=everywhere(fused)), (DRIVEN,)) == 2


def test_a_camera_that_stood_still_has_figures():
    here = everywhere(np.zeros((FRAMES, 2)))
    still = sequence(truth=here, fused=here, apr=here)
    assert all(marks(draw(still), "fused") for draw in (map_of, draw_errors, draw_route_errors))


def test_where_nobody_knows_the_truth_no_key_names_it_and_nothing_of_it_is_drawn():
    told, unknown = ({key.words for key in list_map_keys(drive)} for drive in (sequence(), BLIND))
    assert told - unknown == {"truth", "errors as colours"}
    assert [key.words for key in list_error_keys(BLIND)] == ["95 % semi-axis stated by the filter"]
    assert [marks(map_of(BLIND), role) for role in ("truth", "graded", "wrong")] == [0, 0, 0]
    assert draw_route_errors(BLIND) is None


def test_without_a_pose_head_no_apr_is_drawn_or_named():
    without = sequence(apr=UNKNOWN)
    assert "pose head" not in {key.words for key in [*list_map_keys(without), *list_error_keys(without)]}
    assert [marks(draw(without), "apr") for draw in (map_of, draw_errors)] == [0, 0]


def test_each_wrong_match_that_was_believed_is_marked():
    misled = sequence(reasons=(Reason.ACCEPTED,) * 32 + (Reason.JUMPS,) * 8)
    assert marks(draw_errors(misled), "wrong") == 2
    assert "wrong match accepted: 2" in {key.words for key in list_map_keys(misled)}
    assert "wrong match accepted" not in {key.words for key in list_error_keys(sequence())}


def test_only_frames_that_are_localized_and_beyond_ten_metres_are_marked_wrong_along_the_route():
    # Frame 35 is lost.
    aside = np.where(np.isin(np.arange(FRAMES), [5, 35]), 10.5, 1.0)
    svg = draw_route_errors(sequence(fused=everywhere(TRACE + aside[:, None] * [0, 1])))
    assert marks(svg, "wrong") == 1


def test_the_histogram_counts_the_candidates_that_ranked_first_and_not_the_judged_ones():
    drive = sequence()
    judged = retold(drive, similarities=everywhere(np.ones(FRAMES)), reference_positions=everywhere(TRACE + 500.0))
    assert {"↑ right: 30", "↓ wrong: 10"} <= words(draw_similarities(drive))
    assert draw_similarities(judged) == draw_similarities(drive)
    none = Column(np.full(FRAMES, np.nan), np.zeros(FRAMES, dtype=bool))
    assert draw_similarities(retold(drive, first=replace(drive.table.first, similarities=none))) is None


def test_jumps_are_counted_for_both_tracks_and_positions_outside_the_view_too():
    far = TRACE.copy()
    far[[3, 4]] = [1e5, -1e5]
    told = words(jumps_of(stepped("APR", 2, 4, 9, positions=far), stepped("fused", 4, 5)))
    assert {"APR: jumps in 3 of 39 steps (outside the view: 2)", "fused: jumps in 2 of 39 steps"} <= told


def test_a_single_position_has_no_step_and_steps_are_one_less_than_positions():
    assert "APR: jumps in 0 of 0 steps" in words(jumps_of(stepped("APR", positions=TRACE[:1])))
    with pytest.raises(ValueError, match="40 positions have one step less, got 40"):
        SteppedPath("APR", DRIVEN, np.zeros(FRAMES, dtype=bool))


@pytest.mark.parametrize("chosen", [0.95, 0.93, 0.8, 0.7, 0.65, 0.3, 0.1])
def test_precision_and_recall_are_those_of_what_the_threshold_accepts(chosen):
    accepted = chosen <= SIMILARITIES
    hits = (accepted & CORRECT).sum()
    precision, recall = hits / accepted.sum(), hits / OPPORTUNITY.sum()
    told = words(draw_precision_recall("night", {"ours": CURVE}, chosen))
    assert f"precision {precision:.3f}, recall {recall:.3f}" in told


def test_a_threshold_above_all_accepts_nothing_and_a_curve_without_a_point_is_left_out():
    svg = draw_precision_recall("night", {"nothing": NOTHING, "ours": CURVE}, 0.99)
    assert "accepts nothing" in words(svg)
    assert "nothing" not in words(svg)
    assert draw_precision_recall("night", {"ours": NOTHING}, 0.5) is None


def test_metres_along_several_traverses_go_on_from_one_to_the_next(rng):
    track = np.array([[0.0, 0.0], [5, 0], [10, 0], [100, 0], [110, 0], [120, 0]])
    names, frames = np.repeat(["<b>east</b>", "west"], 3), np.tile(np.arange(3), 2)
    looks, stamps = rng.normal(size=(6, 4)), np.arange(6) * 10**9
    memory = remember(looks, track, np.array([2, 1, 0, 0, 1, 2]), stamps, frames=frames, sequences=names, probes=2)
    route = RouteAxes.of(memory)
    assert [route.along[rows].tolist() for rows in memory.drives()] == [[0.0, 5.0, 10.0], [10.0, 20.0, 30.0]]
    assert {"<b>east</b>", "west"} <= words(draw_belief("night", memory))


def test_the_best_epochs_figures_are_written_and_without_an_epoch_there_is_no_curve():
    assert "best epoch 3: median 2.00 m, mean 3.00 m" in words(draw_learning_curve(trained(5, 4, 2, 3, 2), "city"))
    with pytest.raises(ValueError, match="at least one epoch"):
        draw_learning_curve((), "city")
