"""What the words of a page mean: one list, which titles of columns and names of facts lead to.

A term is a link into the list, so that it works without a script; with one, its meaning shows on hover, focus and tap.
"""

import re
from dataclasses import replace

from tmapr.evaluation.loops import RADIUS
from tmapr.reference import JUMP_TOLERANCE, SPEED_TOLERANCE
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.tables.table import Term, Wording, link_term

_RIGHT = f"within {RADIUS:g} m of the true position"
_TAIL = "95 of 100 values are below it; the tail that an average hides."
_RMS = "root of the mean squared error, which large errors dominate"

TERMS = {
    "frame": Term("frame", "One image of the test drive, with everything that was said of it."),
    "reference": Term("reference", "An image of the map, taken on an earlier drive at a known position."),
    "track": Term("position from", "Which of three answers: the pose head alone, the best match alone, or both fused."),
    "fused": Term("fused track", "What the filter makes of everything that it has seen so far: the result."),
    "apr": Term(
        "pose head", "A network that reads a position straight from one image (absolute pose regression, APR)."
    ),
    "retrieval": Term("best match alone", "The position of the reference that ranks first, before it is judged."),
    "rmse": Term("root mean square, m", f"The {_RMS} (RMSE)."),
    "mean": Term("mean, m", "The average error."),
    "median": Term("median, m", "Half of the errors are below it: the usual error."),
    "std": Term("spread, m", "The standard deviation of the errors."),
    "p95": Term("95 of 100 below, m", f"The 95th percentile: {_TAIL}"),
    "max": Term("largest, m", "The largest error of all frames."),
    "jumps": Term(
        "jumps",
        f"Steps farther than {JUMP_TOLERANCE:g} m and {SPEED_TOLERANCE:g} times the mapped drive's top speed:"
        " a camera cannot move so.",
    ),
    "precision": Term("right, of those similar", f"Precision: the share of matches over the threshold {_RIGHT}."),
    "recall": Term(
        "found, of those findable",
        "Recall: of the frames that show a mapped place, the share with a right match over the threshold.",
    ),
    "f1": Term("both in one", "F1, the harmonic mean of the two shares before: high only where both are."),
    "decision_recall": Term(
        "similar, of those right",
        "Decision recall: of the frames whose best match is right, the share that reaches the threshold.",
    ),
    "accepted": Term(
        "similar", "How many best matches reach the threshold of similarity; the filter then accepts or refuses them."
    ),
    "search": Term("search", "This system's own search, or the most similar image of the whole map (global)."),
    "recall_at_1": Term("right at first", "R@1: frames whose first reference is right, of all that can have one."),
    "recall_at_5": Term("right among 5", "R@5: a right reference is among the first five."),
    "recall_at_10": Term("right among 10", "R@10: a right reference is among the first ten."),
    "average_precision": Term(
        "over all thresholds", "Average precision: the area under the curve of precision over recall; 1 is perfect."
    ),
    "recall_at_full_precision": Term(
        "found before any error", "Recall at precision 1: what a threshold finds that accepts no wrong match at all."
    ),
    "decision_recall_at_full_precision": Term(
        "the same, of right ones",
        "Decision recall at precision 1: the same share, only of frames whose best match is right.",
    ),
    "nees": Term(
        "squared error over stated",
        "NEES: the squared error divided by the stated covariance. An honest filter has 2; more claims too much.",
    ),
    "coverage95": Term(
        "inside the 95\N{NO-BREAK SPACE}% ellipse",
        "Frames whose true position lies in the stated ellipse; .95 is honest.",
    ),
    "localized_coverage95": Term("the same while localized", "The same share, of the localized frames alone."),
    "nis": Term(
        "squared surprise over expected",
        "NIS: how far matches lie from where the filter expected them, in its own measure. An honest filter has 2.",
    ),
    "nis_inside95": Term("surprises inside 95\N{NO-BREAK SPACE}%", "Matches that lie where 95 % of them should."),
    "heading_median_deg": Term("heading off, median °", "Of the pose head, against the direction of travel."),
    "heading_p95_deg": Term("95 of 100 below, °", f"The same in its 95th percentile: {_TAIL}"),
    "step_ms_p95": Term("time per frame, ms", f"Of a step after the networks have seen the image: {_TAIL}"),
    "error": Term(
        "as evo takes it", "Absolute pose error (APE), and relative pose error (RPE) of moves of one length."
    ),
    "pairs": Term("poses or moves", "How many the figures are taken over."),
    "localized": Term("localized", "The filter says that it knows the place. The one status to act upon."),
    "pose-head-only": Term("pose head only", "Followed by the pose head alone; no match corrects it."),
    "predicting": Term("predicting", "Carried on by motion from the last known place; uncertainty grows."),
    "lost": Term("lost", "The filter says that it does not know the place."),
    "off-map": Term("off the map", "Where no reference was taken; the filter gives that a probability of its own."),
    "ellipse": Term(
        "95 % ellipse", "Where the camera is with 95 %, by what the filter states; on the map around its mark."
    ),
    "semi-axis": Term("stated uncertainty", "The longer semi-axis of the 95 % ellipse: the error should be below it."),
    "similarity": Term("similarity", "Cosine of the descriptors of frame and match; 1 is the same image."),
    "score": Term("score", "What the search ranked the match by."),
    "margin": Term("margin", "How much better the match scores than the best one elsewhere."),
    "support": Term("support", "How much of the best matches lies near the first one."),
    "leverage": Term("leverage", "How unlike all that was learned the frame is."),
    "confidence": Term("confidence", "How much the match was allowed to correct the filter, from 0 to 1."),
    "innovation": Term("innovation", "How far the match lies from where the filter expected the camera."),
    "protocol": Term("protocol", "test: nothing is learned while it is scored. stream: learned on the way, as named."),
    "alignment": Term("alignment", "Whether a track was fitted to the truth before its errors were taken."),
    "labels": Term("labels", "What was learned from while testing."),
    "settings": Term("settings", "The first letters of a digest of all settings: the same letters, the same settings."),
    "share-localized": Term("localized, %", "Share of the frames on which the filter says that it knows the place."),
}

_COLUMNS = TERMS | {
    "localized": replace(TERMS["share-localized"], key="share-localized"),
    "apr_rmse": Term("pose head, m", f"Pose head alone, {_RMS}.", "rmse-apr"),
    "retrieval_rmse": Term("best match, m", f"Best match alone, {_RMS}.", "rmse-retrieval"),
    "fused_rmse": Term("fused track, m", f"Fused track, {_RMS}.", "rmse-fused"),
    "fused_median": Term("fused, median m", "Half of the fused track's errors are below it.", "median-fused"),
    "fused_jumps": replace(TERMS["jumps"], key="jumps"),
}

_OPENINGS = {
    "APR": "pose head alone",
    "retrieval": "best match alone",
    "fused RMSE m": "Root mean square error of the fused track in metres",
    "F1, ": "Both in one (F1), ",
    "R@1: first candidates": "Right at first: best matches",
    "fused": "fused track",
    "ours": "this system",
    "global": "whole map, likeness alone",
    "APE m": "position, absolute",
    "RPE m over": "move over",
}

WORDING = Wording(_COLUMNS, _OPENINGS)
"""How the page words the tables that a terminal shows with letters."""


def term(key: str, words: str | None = None) -> str:
    """A term as a link to its meaning; with other words, if given."""
    return link_term(key, TERMS[key], words)


def render_glossary(body: str) -> str:
    """The list of the terms that a page uses, folded; printed, it is open."""
    known = {found.key or key: found for key, found in (_COLUMNS | TERMS).items()}
    used = dict.fromkeys(re.findall(r'href="#term-([\w-]+)"', body))
    pairs = (
        element("dt", {"id": f"term-{key}"}, escape(known[key].words)) + element("dd", {}, escape(known[key].meaning))
        for key in sorted(used, key=lambda key: known[key].words.lower())
    )
    return element(
        "details", {"class": "glossary"}, element("summary", {}, "What these words mean"), element("dl", {}, *pairs)
    )
