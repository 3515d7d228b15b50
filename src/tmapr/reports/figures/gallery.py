"""The match gallery: queries beside what global retrieval took them for and what this system did.

It shows both sides of the difference: frames that only this system gets right, and frames that only global retrieval
does, each with their number, however few are shown. Choosing needs no picture, so that only those shown are read. Where
local features are known, lines show which points of a query and a match are the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.trajectory import Column
from tmapr.evaluation.errors import position_errors
from tmapr.evaluation.loops import RADIUS, correct_candidates
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.drawing.pictures import PagePicture, panel, panels, photograph
from tmapr.reports.figures.local_matches import MOST, TiedPicture, describe_matches, draw_local_matches
from tmapr.retrieval.verification import Matches

PictureSource = Callable[[int], PagePicture | None]
"""Gives the picture of a row; None where there is none to show."""

MatchSource = Callable[[int, int], Matches | None]
"""Gives the local matches of a query's row with a match's column; None where keypoints are not known."""

APART = 20
"""Frames between two examples of a kind, at least: neighbours show the same thing twice."""


@dataclass(frozen=True, slots=True)
class Match:
    """A reference that a query was taken for: its column, its metres from the truth, its cosine."""

    column: int
    distance: float
    similarity: float
    right: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A query by its row, and the two answers to it."""

    row: int
    globally: Match
    ours: Match

    @property
    def caption(self) -> str:
        """Which of the two is right."""
        return f"Frame {self.row}: only {'ours' if self.ours.right else 'global retrieval'} is right."


@dataclass(frozen=True, slots=True)
class Disagreements:
    """Of the judged frames, how many only this system gets right and how many only global retrieval; some of each."""

    judged: int
    gains: int
    losses: int
    shown: tuple[Example, ...]


def find_disagreements(
    similarities: Float[np.ndarray, "queries refs"],
    references: Float[np.ndarray, "refs 2"],
    *,
    truth: Column,
    ours: Column,
    most: tuple[int, int] = (6, 2),
) -> Disagreements:
    """Judge every query that has a true position and a match of ours, given as a column of `similarities`.

    At most so many gains and losses are chosen, each spread along the sequence.
    """
    rows = np.flatnonzero(truth.known & ours.known)
    where: Float[np.ndarray, "n 2"] = truth.values[rows]
    answers = [
        _judge_answers(similarities[rows], references, where, columns)
        for columns in (similarities[rows].argmax(axis=1), ours.values[rows])
    ]
    examples = [Example(row, *pair) for row, *pair in zip(rows.tolist(), *answers, strict=True)]
    gains = [example for example in examples if example.ours.right and not example.globally.right]
    losses = [example for example in examples if example.globally.right and not example.ours.right]
    shown = (*_spread(gains, most[0]), *_spread(losses, most[1]))
    return Disagreements(len(rows), len(gains), len(losses), shown)


def render_gallery(
    examples: Disagreements,
    queries: PictureSource,
    references: PictureSource,
    local: MatchSource = lambda *_: None,
) -> str:
    """The counts in a sentence, then a figure for each example; pictures by the query's row, the match's column."""
    counts = (
        f"Of {examples.judged} frames with a match and a true position, {examples.gains} are right (within"
        f" {RADIUS:g} m) only with ours and {examples.losses} only with global cosine retrieval."
    )
    seen = [_Seen.of(example, queries, references, local) for example in examples.shown]
    notes = (counts, _TIES) if any(example.drawn for example in seen) else (counts,)
    told = (element("p", {"class": "note"}, escape(note)) for note in notes)
    return element("div", {"class": "gallery"}, *told, *map(_render_example, seen))


def _judge_answers(
    similarities: Float[np.ndarray, "n refs"],
    references: Float[np.ndarray, "refs 2"],
    where: Float[np.ndarray, "n 2"],
    columns: Int[np.ndarray, " n"],
) -> list[Match]:
    positions = references[columns]
    distances, right = position_errors(positions, where), correct_candidates(positions, where)
    cosines = similarities[np.arange(len(columns)), columns].astype(float)
    listed = (values.tolist() for values in (columns, distances, cosines, right))
    return [Match(*match) for match in zip(*listed, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """A match as it is shown: whose it is, its picture and its local matches with the query, where there are any."""

    name: str
    match: Match
    picture: PagePicture | None
    local: Matches | None

    @property
    def tied(self) -> TiedPicture | None:
        """What lines can be drawn to."""
        if self.picture is None or self.local is None:
            return None
        return TiedPicture(self.name, self.picture, self.local)

    def render(self, picture: str) -> str:
        """The words of the match, under its picture or what stands for it."""
        sign, role = ("✓", "right") if self.match.right else ("✗", "wrong")
        words = f"{sign} {self.name}: {self.match.distance:.1f} m away, cosine {self.match.similarity:.3f}"
        return panel(picture, words, role, describe_matches(self.local) if self.local else "")


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """An example with its pictures, and the drawing of its local matches where these and all pictures are there."""

    caption: str
    query: PagePicture | None
    globally: _Answer
    ours: _Answer
    drawn: str = ""

    @classmethod
    def of(cls, example: Example, queries: PictureSource, references: PictureSource, local: MatchSource) -> "_Seen":
        globally, ours = (
            _Answer(name, match, references(match.column), local(example.row, match.column))
            for name, match in (("global retrieval", example.globally), ("ours", example.ours))
        )
        query, left, right = queries(example.row), globally.tied, ours.tied
        if query is None or left is None or right is None:
            return cls(example.caption, query, globally, ours)
        title = f"{example.caption} The query between the matches of global retrieval and of ours, points joined"
        return cls(example.caption, query, globally, ours, draw_local_matches(title, query, left, right))


def _render_example(seen: _Seen) -> str:
    if seen.drawn:
        parts = [seen.globally.render(""), panel("", "query"), seen.ours.render("")]
        return panels(parts, seen.caption, seen.drawn)
    query = panel(photograph(seen.query, "query"), "query")
    answers = (
        answer.render(photograph(answer.picture, f"match of {answer.name}")) for answer in (seen.globally, seen.ours)
    )
    return panels([query, *answers], seen.caption)


def _spread(examples: Sequence[Example], most: int) -> list[Example]:
    """Up to `most` far from one another along the sequence: each next one is the farthest from all before it."""
    rows = np.array([example.row for example in examples], dtype=np.int64)
    chosen: list[int] = []
    away = np.full(len(rows), np.iinfo(np.int64).max)
    while len(chosen) < most and away.max(initial=0) >= APART:
        chosen.append(int(away.argmax()))
        away = np.minimum(away, np.abs(rows - rows[chosen[-1]]))
    return [examples[number] for number in sorted(chosen)]


_TIES = (
    f"Lines join points of the query with points of a match that look alike and agree with one motion of the camera and"
    f" one map from picture to picture: {MOST} at most, and of close ones one."
)
