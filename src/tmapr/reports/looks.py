"""The paper's figures of one sequence: the jumpy input and the track, curves, matrix, gallery, feature responses."""

from collections.abc import Iterator

import cv2
import numpy as np

from tmapr.artifacts.trajectory import Column
from tmapr.evaluation.errors import jumps
from tmapr.evaluation.finished import mapped_speed
from tmapr.evaluation.loops import RADIUS
from tmapr.exceptions import InputError
from tmapr.reports.evidence import RunEvidence, SequenceEvidence, Track
from tmapr.reports.gallery import gallery
from tmapr.reports.jumps import Stepped, jumps_view
from tmapr.reports.markup import element, escaped
from tmapr.reports.matching import Matching
from tmapr.reports.matrix import similarity_matrix_view
from tmapr.reports.pictures import Picture, Pictures, read_pictures
from tmapr.reports.recall import precision_recall_view
from tmapr.reports.responses import response_row, tokens_of

_BOX = (256, 320)
_RESPONSES = 2

Figures = Iterator[tuple[str | None, str]]
"""Drawings, or None where there is nothing to draw, and their captions."""


def jumping(run: RunEvidence, sequence: SequenceEvidence) -> Figures:
    """Fig. 1: what went into the filter against what came out."""
    names = ("x", "y") if run.errors["frame"]["kind"] == "local" else ("east", "north")
    tracks = {"pose head": sequence.apr, "first candidate": sequence.candidates}
    name, given = next(((name, track) for name, track in tracks.items() if track.known.any()), ("", None))
    if given is None or not sequence.truth.known.any():
        return
    fused = _stepped(run, sequence, "fused", sequence.fused)
    truth = _track(sequence, sequence.truth)
    yield jumps_view(sequence.name, _stepped(run, sequence, name, given), fused, truth=truth, names=names), _JUMPS


def matched(match: Matching) -> Figures:
    """Precision over recall, and every similarity."""
    name = match.sequence.name
    yield precision_recall_view(name, match.curves(), match.sequence.threshold), _CURVES
    yield similarity_matrix_view(name, match.similarities, matched=match.matched, nearest=match.nearest), _MATRIX


def pictured(match: Matching) -> str:
    """The gallery, and what the encoder responds to on a few accepted frames; without images, the counts alone."""
    typical = _typical(match)
    rows = {example.row for example in match.examples.shown} | set(typical)
    columns = {answer.column for each in match.examples.shown for answer in (each.globally, each.ours)}
    columns |= {int(match.ours.values[row]) for row in typical}
    queries, references = _pictures(match, rows, columns)
    shown = gallery(
        match.examples,
        lambda row: queries.found.get(int(match.rows[row])),
        lambda column: references.found.get(int(match.frames[column])),
    )
    return shown + "".join(_responses(match, typical, queries, references))


def _responses(match: Matching, rows: list[int], queries: Pictures, references: Pictures) -> Iterator[str]:
    seen = [row for row in rows if int(match.rows[row]) in queries.found]
    if not seen:
        return
    perception = match.run.experiment.perception
    shots: list[Picture] = [queries.found[int(match.rows[row])] for row in seen]
    sized = np.stack([cv2.resize(shot, perception.size[::-1], interpolation=cv2.INTER_LINEAR) for shot in shots])
    try:
        tokens = tokens_of(perception, sized)
    except InputError as error:
        yield element("p", {"class": "note"}, escaped(f"No feature responses: {error}"))
        return
    if tokens is None:
        yield element("p", {"class": "note"}, "No feature responses: they need torch, pip install 'tmapr[train]'.")
        return
    for row, shot, values in zip(seen, shots, tokens.values, strict=True):
        answer = references.found.get(int(match.frames[match.ours.values[row]]))
        caption = f"Feature responses on frame {match.rows[row]}: query, edges, norms of the encoder's tokens, match."
        yield response_row(shot, values, tokens.grid, answer, caption)


def _typical(match: Matching) -> list[int]:
    """A few queries whose match was accepted, spread over the sequence."""
    rows = np.flatnonzero(match.sequence.accepted[match.rows] & match.ours.known)
    places = (np.arange(_RESPONSES) + 0.5) / _RESPONSES * len(rows)
    return list(dict.fromkeys(rows[places.astype(int)].tolist())) if len(rows) else []


def _pictures(match: Matching, rows: set[int], columns: set[int]) -> tuple[Pictures, Pictures]:
    run, sequence = match.run, match.sequence
    wanted = {int(match.rows[row]): int(sequence.stamps[match.rows[row]]) for row in rows}
    taken = dict(zip(run.memory.frames.tolist(), run.memory.stamps.tolist(), strict=True))
    frames = {int(match.frames[column]): taken[int(match.frames[column])] for column in columns}
    queries = read_pictures(run.experiment, sequence.name, wanted, _BOX)
    return queries, read_pictures(run.experiment, str(run.experiment.data.reference), frames, _BOX)


def _stepped(run: RunEvidence, sequence: SequenceEvidence, name: str, column: Column) -> Stepped:
    stamps = np.maximum.accumulate(sequence.stamps)[column.known]
    track = _track(sequence, column)
    return Stepped(name, track, jumps(stamps, track.positions, mapped_speed(run.memory)))


def _track(sequence: SequenceEvidence, column: Column) -> Track:
    return Track(sequence.seconds[column.known], column.values[column.known])


_JUMPS = (
    "What went into the filter against what came out. A jump is a step farther than a metre and one and a half times"
    " the reference traverse's top speed."
)
_CURVES = (
    f"Precision over recall as the threshold falls; right is within {RADIUS:g} m, and recall counts the frames that"
    " show a mapped place. The point is the threshold in use."
)
_MATRIX = "Similarity of every query to every reference. A drive that follows the map runs along the bright diagonal."
