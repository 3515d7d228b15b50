"""One test sequence on the page: its explorer, its worst frames, its numbers, and its figures.

What needs the truth is shown where it is known, and not missed where it is not.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np

from tmapr.artifacts.trajectory import Column
from tmapr.clock import place_all
from tmapr.evaluation.loops import RADIUS
from tmapr.exceptions import InputError
from tmapr.reference import find_jumps
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.drawing.pictures import PagePicture
from tmapr.reports.drawing.svg import layer_keys
from tmapr.reports.figures.confidence import draw_confidence
from tmapr.reports.figures.gallery import render_gallery
from tmapr.reports.figures.jumps import SteppedPath, draw_jumps
from tmapr.reports.figures.precision_recall import draw_precision_recall
from tmapr.reports.figures.reliability import draw_reliability
from tmapr.reports.figures.responses import encode_tokens, render_responses
from tmapr.reports.figures.route_error import ROUTE_KEYS, draw_route_errors
from tmapr.reports.figures.similarity_matrix import draw_similarity_matrix
from tmapr.reports.figures.trajectory_map import name_axes
from tmapr.reports.figures.verdicts import draw_reasons, draw_similarities
from tmapr.reports.page.explorer import render_explorer
from tmapr.reports.page.figure import render_figure
from tmapr.reports.page.footage import Album, Footage, FramePictures, read_pictures, read_references
from tmapr.reports.page.glossary import WORDING
from tmapr.reports.page.matching import Matching
from tmapr.reports.page.worst import render_worst
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


@dataclass(frozen=True, slots=True)
class SmallFigure:
    """A drawing of half the page's width, or None where there is nothing to draw, under its heading."""

    heading: str
    drawn: str | None
    caption: str


def render_sequence(
    run: ReportedRun, sequence: ReportedSequence, album: Album, footage: Footage, level: int, name: str
) -> str:
    """All of a sequence under a heading of the given level; `name` is what its explorer is linked to by."""
    inner = f"h{level + 1}"
    count = element("small", {}, escape(f"{len(sequence.table.stamps)} frames, {sequence.protocol}"))
    parts = [element(f"h{level}", {}, escape(sequence.name), " ", count)]
    parts.append(render_explorer(run, sequence, album, footage, level + 1, name))
    worst = "The worst frames" if sequence.truth.known.any() else "The least certain frames"
    parts += [element(inner, {}, worst), render_worst(sequence, footage, name)]
    tables = _render_tables(sequence)
    parts += [element(inner, {}, "The numbers"), tables] if tables else []
    parts += [_render_route(sequence, footage, inner), *_render_figures(run, sequence, inner)]
    return element("section", {}, *parts)


def _render_tables(sequence: ReportedSequence) -> str:
    """The figures with their words; nothing where nobody knows the truth."""
    found = sequence.figures
    if found is None:
        return ""
    told = (describe_decisions(sequence.name, found.decisions), describe_detour(sequence.name, found.off_map))
    lines = (element("p", {}, escape(_begin_sentence(line, sequence.name))) for line in told if line)
    tables = (
        table({sequence.name: found}).without("sequence", "frames").known().html(WORDING, caption)
        for caption, table in _TABLES.items()
    )
    return "".join([*lines, element("div", {"class": "tables"}, *tables)])


def _begin_sentence(line: str, name: str) -> str:
    """A line of the terminal, which begins with the sequence's name, as a sentence under its heading."""
    said = line.removeprefix(f"{name}: ")
    return f"{said[:1].upper()}{said[1:]}."


def _render_route(sequence: ReportedSequence, footage: Footage, inner: str) -> str:
    drawn = draw_route_errors(sequence, footage.samples)
    heading = element(inner, {}, "Error along the route")
    return render_figure(drawn, _ROUTE, "way", layer_keys(ROUTE_KEYS), heading) if drawn else ""


def _render_figures(run: ReportedRun, sequence: ReportedSequence, inner: str) -> Iterator[str]:
    """The small figures side by side, then pictures of matches."""
    match = Matching(run, sequence)
    figures = [
        *list_trust(sequence),
        SmallFigure("Verdicts", draw_reasons(sequence.name, sequence.reasons), _REASONS),
        SmallFigure("Similarity of right and wrong matches", draw_similarities(sequence), _SIMILARITIES),
        *list_matches(match),
        *list_jumps(run, sequence),
    ]
    drawn = (
        render_figure(figure.drawn, figure.caption, "small", heading=element(inner, {}, escape(figure.heading)))
        for figure in figures
        if figure.drawn is not None
    )
    yield element("div", {"class": "figures"}, *drawn)
    if match.judged:
        yield element(inner, {}, "Matches that only one of two gets right")
        yield render_matches(match)


def list_trust(sequence: ReportedSequence) -> Iterator[SmallFigure]:
    """What the stated uncertainty is worth."""
    yield SmallFigure("Confidence against error", draw_confidence(sequence), _CONFIDENCE)
    told = _RELIABILITY.format(tolerance=sequence.tolerance)
    yield SmallFigure("Is a stated probability right?", draw_reliability(sequence), told)


def list_jumps(run: ReportedRun, sequence: ReportedSequence) -> Iterator[SmallFigure]:
    """Fig. 1: what went into the filter against what came out."""
    inputs = {"pose head": sequence.apr, "best match": sequence.table.first.positions}
    name, given = next(((name, track) for name, track in inputs.items() if track.known.any()), ("", None))
    if given is None or not sequence.truth.known.any():
        return
    fused = _step_path(sequence, "fused", sequence.fused)
    truth = _take_path(sequence, sequence.truth)
    drawn = draw_jumps(
        sequence.name, _step_path(sequence, name, given), fused, truth=truth, names=name_axes(run.errors.frame)
    )
    yield SmallFigure("Jumps before and after the filter", drawn, _JUMPS)


def list_matches(match: Matching) -> Iterator[SmallFigure]:
    """Precision over recall where it can be judged, and every similarity."""
    name = match.sequence.name
    if match.judged:
        drawn = draw_precision_recall(name, match.curves(), match.sequence.trial.threshold)
        yield SmallFigure("Finding places without erring", drawn, _CURVES)
    if len(match.rows):
        matrix = draw_similarity_matrix(name, match.similarities, matches=match.matches, nearest=match.nearest)
        yield SmallFigure("Every frame against every reference", matrix, _MATRIX)


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
    stamps = place_all(sequence.table.stamps)[column.known]
    track = _take_path(sequence, column)
    return SteppedPath(name, track, find_jumps(stamps, track.positions, sequence.trial.mapped_speed))


def _take_path(sequence: ReportedSequence, column: Column) -> TimedPath:
    return TimedPath(sequence.seconds[column.known], column.values[column.known])


_TABLES = {
    "Position errors": tabulate_tracks,
    "Matches at the threshold": tabulate_decisions,
    "Matches at any threshold": tabulate_rankings,
    "Is the stated uncertainty honest, and how fast is it?": tabulate_honesty,
    "Position errors of the fused track as evo takes them, in metres": tabulate_poses,
}
_ROUTE = (
    "Position error of the fused track over the metres driven. The numbers are those of frames on the map; shaded is"
    f" what lies farther than {RADIUS:g} m from any reference."
)
_CONFIDENCE = (
    "Each dot is a frame. Above the line the error was larger than the filter stated; an honest filter has one in"
    " twenty there."
)
_RELIABILITY = (
    "Of all frames whose place was given a probability, the share that was there, within {tolerance:.0f} m. Successive"
    " frames look alike, so the intervals are rather too short."
)
_REASONS = "What was decided on each frame."
_SIMILARITIES = (
    f"Similarity of the best match: right ones (within {RADIUS:g} m of the truth) upward, wrong ones downward. A"
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
_MATRIX = "Similarity of every frame to every reference. A drive that follows the map runs along the bright diagonal."
