"""One test sequence on the page: its numbers, its explorer, and the paper's figures of it.

Those are the jumpy input and the track, verdicts, curves, the similarity matrix, the gallery and feature responses.
"""

from collections.abc import Iterator

import cv2
import numpy as np

from tmapr.artifacts.trajectory import Column
from tmapr.evaluation.errors import find_jumps
from tmapr.evaluation.loops import RADIUS
from tmapr.exceptions import InputError
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.drawing.pictures import PagePicture
from tmapr.reports.figures.gallery import render_gallery
from tmapr.reports.figures.jumps import SteppedPath, draw_jumps
from tmapr.reports.figures.precision_recall import draw_precision_recall
from tmapr.reports.figures.responses import encode_tokens, render_responses
from tmapr.reports.figures.similarity_matrix import draw_similarity_matrix
from tmapr.reports.figures.verdicts import draw_reasons, draw_similarities
from tmapr.reports.page.explorer import render_explorer
from tmapr.reports.page.figure import render_figure
from tmapr.reports.page.footage import Album, FramePictures, read_pictures, read_references
from tmapr.reports.page.matching import Matching
from tmapr.reports.reported import ReportedRun, ReportedSequence, TimedPath
from tmapr.reports.tables.errors import (
    describe_decisions,
    describe_detour,
    tabulate_decisions,
    tabulate_honesty,
    tabulate_poses,
    tabulate_rankings,
    tabulate_tracks,
)

_BOX = (256, 320)
_RESPONSES = 2

CaptionedDrawings = Iterator[tuple[str | None, str]]
"""Drawings, or None where there is nothing to draw, and their captions."""


def render_sequence(run: ReportedRun, sequence: ReportedSequence, album: Album, frames: int, level: int) -> str:
    """Tables and figures under a heading of the given level; pictures of at most so many frames join the album."""
    heading = element(f"h{level}", {}, escape(sequence.name))
    count = element("p", {"class": "note"}, escape(f"{len(sequence.table.stamps)} frames, {sequence.protocol}"))
    tables = _render_tables(sequence)
    match = Matching(run, sequence)
    figures = [
        *caption_jumps(run, sequence),
        (draw_reasons(sequence.name, sequence.reasons), _REASONS),
        (draw_similarities(sequence), _SIMILARITIES),
        *(caption_matches(match) if match.judged else ()),
    ]
    drawn = [render_figure(drawing, caption) for drawing, caption in figures if drawing is not None]
    looks = render_matches(match) if match.judged else ""
    parts = (heading, count, tables, render_explorer(run, sequence, album, frames), *drawn, looks)
    return element("section", {}, *parts)


def _render_tables(sequence: ReportedSequence) -> str:
    """The figures with their words; nothing where nobody knows the truth."""
    found = sequence.figures
    if found is None:
        return ""
    tables = (table({sequence.name: found}).without("sequence", "frames").html() for table in _SHOWN)
    told = (describe_decisions(sequence.name, found.decisions), describe_detour(sequence.name, found.off_map))
    lines = (element("p", {}, escape(line)) for line in told if line)
    return "".join([*tables, element("p", {"class": "note"}, escape(_TABLES)), *lines])


def caption_jumps(run: ReportedRun, sequence: ReportedSequence) -> CaptionedDrawings:
    """Fig. 1: what went into the filter against what came out."""
    names = ("x", "y") if run.errors.frame.kind == "local" else ("east", "north")
    inputs = {"pose head": sequence.apr, "first candidate": sequence.table.first.positions}
    name, given = next(((name, track) for name, track in inputs.items() if track.known.any()), ("", None))
    if given is None or not sequence.truth.known.any():
        return
    fused = _step_path(sequence, "fused", sequence.fused)
    truth = _take_path(sequence, sequence.truth)
    yield draw_jumps(sequence.name, _step_path(sequence, name, given), fused, truth=truth, names=names), _JUMPS


def caption_matches(match: Matching) -> CaptionedDrawings:
    """Precision over recall, and every similarity."""
    name = match.sequence.name
    yield draw_precision_recall(name, match.curves(), match.sequence.trial.threshold), _CURVES
    yield draw_similarity_matrix(name, match.similarities, matches=match.matches, nearest=match.nearest), _MATRIX


def render_matches(match: Matching) -> str:
    """The gallery, and what the encoder responds to on a few accepted frames; without images, the counts alone."""
    typical = _choose_typical(match)
    rows = {example.row for example in match.disagreements.shown} | set(typical)
    columns = {answer.column for each in match.disagreements.shown for answer in (each.globally, each.ours)}
    columns |= {int(match.ours.values[row]) for row in typical}
    queries, references = _read_both(match, rows, columns)
    shown = render_gallery(
        match.disagreements,
        lambda row: queries.found.get(int(match.rows[row])),
        lambda column: references.found.get(int(match.references[column])),
        match.match_points,
    )
    return shown + "".join(_render_responses(match, typical, queries, references))


def _render_responses(
    match: Matching, rows: list[int], queries: FramePictures, references: FramePictures
) -> Iterator[str]:
    seen = [row for row in rows if int(match.rows[row]) in queries.found]
    if not seen:
        return
    perception = match.run.experiment.perception
    shots: list[PagePicture] = [queries.found[int(match.rows[row])] for row in seen]
    sized = np.stack([cv2.resize(shot, perception.size[::-1], interpolation=cv2.INTER_LINEAR) for shot in shots])
    try:
        tokens = encode_tokens(perception, sized)
    except InputError as error:
        yield element("p", {"class": "note"}, escape(f"No feature responses: {error}"))
        return
    if tokens is None:
        yield element("p", {"class": "note"}, "No feature responses: they need torch, pip install 'tmapr[train]'.")
        return
    for row, shot, values in zip(seen, shots, tokens.values, strict=True):
        answer = references.found.get(int(match.references[match.ours.values[row]]))
        caption = f"Feature responses on frame {match.rows[row]}: query, edges, norms of the encoder's tokens, match."
        yield render_responses(shot, values, tokens.grid, answer, caption)


def _choose_typical(match: Matching) -> list[int]:
    """A few queries whose first match was accepted, spread over the sequence."""
    table = match.sequence.table
    same = (table.references.values == table.first.references.values) & (
        table.reference_positions.values == table.first.positions.values
    ).all(axis=1)
    rows = np.flatnonzero((match.sequence.accepted & same)[match.rows] & match.ours.known)
    places = (np.arange(_RESPONSES) + 0.5) / _RESPONSES * len(rows)
    return list(dict.fromkeys(rows[places.astype(int)].tolist())) if len(rows) else []


def _read_both(match: Matching, rows: set[int], columns: set[int]) -> tuple[FramePictures, FramePictures]:
    run, sequence = match.run, match.sequence
    wanted = {int(match.rows[row]): int(sequence.table.stamps[match.rows[row]]) for row in rows}
    queries = read_pictures(run.experiment, sequence.name, wanted, _BOX)
    return queries, read_references(run, (int(match.references[column]) for column in columns), _BOX)


def _step_path(sequence: ReportedSequence, name: str, column: Column) -> SteppedPath:
    stamps = np.maximum.accumulate(sequence.table.stamps)[column.known]
    track = _take_path(sequence, column)
    return SteppedPath(name, track, find_jumps(stamps, track.positions, sequence.trial.mapped_speed))


def _take_path(sequence: ReportedSequence, column: Column) -> TimedPath:
    return TimedPath(sequence.seconds[column.known], column.values[column.known])


_SHOWN = (tabulate_tracks, tabulate_decisions, tabulate_rankings, tabulate_honesty, tabulate_poses)
_TABLES = (
    "Retrieval is the best candidate of every frame that has one, before the gates. A candidate is right within"
    f" {RADIUS:g} m of the truth; d-recall counts only frames whose best candidate is right. R@N is the share of frames"
    " with a right reference among the first N, of those that can have one; P=1 means without a single wrong match. An"
    " honest filter has a NEES and a NIS of 2 and .95 of the frames in its 95 % ellipse. The time is that of a step"
    " after perception."
)
_REASONS = "What was decided on each frame."
_SIMILARITIES = (
    f"Similarity of the first candidate: right ones (within {RADIUS:g} m of the truth) upward, wrong ones downward. A"
    " good threshold has the wrong ones on its left and the right ones on its right."
)
_JUMPS = (
    "What went into the filter against what came out. A jump is a step farther than a metre and one and a half times"
    " the reference traverse's top speed."
)
_CURVES = (
    f"Precision over recall as the threshold falls; right is within {RADIUS:g} m, and recall counts the frames that"
    " show a mapped place. The point is the threshold in use."
)
_MATRIX = "Similarity of every query to every reference. A drive that follows the map runs along the bright diagonal."
