"""Local matches of a query: lines from its points to those of the references that it was taken for, over the pictures.

The query lies between the two references, so that no line crosses a picture it has nothing to do with.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.reports.drawing.markup import element
from tmapr.reports.drawing.pictures import PagePicture, encode_jpeg
from tmapr.reports.drawing.svg import WIDTH, dots, drawing, lines
from tmapr.retrieval.verification import Matches

MOST = 40
"""Lines between two pictures: more hide what they lie on."""

APART = 0.03
"""Longer sides of a picture between the points of two lines, at least: neighbours show the same thing twice."""

_GAP = 10.0
_COLUMN = (WIDTH - 2 * _GAP) / 3


@dataclass(frozen=True, slots=True, eq=False)
class TiedPicture:
    """A reference's picture, whose it is, and how the query's points match with its points."""

    name: str
    picture: PagePicture
    matches: Matches


def describe_matches(matches: Matches) -> str:
    """How many points match, and how many of these lie as both geometries would have it."""
    return f"{matches.mutual} matches, {int((matches.agreeing & matches.aligned).sum())} agree"


def choose_ties(matches: Matches) -> Int[np.ndarray, " chosen"]:
    """Rows of pairs that agree, in their order: each next one is the farthest in the query from all before it."""
    rows = np.flatnonzero(matches.agreeing & matches.aligned)
    points, away = matches.query[rows], np.full(len(rows), np.inf)
    chosen: list[int] = []
    while len(chosen) < MOST and away.max(initial=0.0) >= APART:
        chosen.append(int(away.argmax()))
        away = np.minimum(away, np.hypot(*(points - points[chosen[-1]]).T))
    return rows[sorted(chosen)]


def draw_local_matches(title: str, query: PagePicture, left: TiedPicture, right: TiedPicture) -> str:
    """The query with a reference on either side, and lines to the points of each."""
    first, middle, last = 0.0, _COLUMN + _GAP, 2 * (_COLUMN + _GAP)
    pictures = ((left.picture, first), (query, middle), (right.picture, last))
    height = max(_find_height(picture) for picture, _ in pictures)
    shown = [_place_picture(picture, place) for picture, place in pictures]
    ties = [_draw_ties(query, middle, tied, place) for tied, place in ((left, first), (right, last))]
    words = "; ".join(f"{tied.name}: {describe_matches(tied.matches)}" for tied in (left, right))
    return drawing(height, title, words, [*shown, element("g", {"class": "ties"}, *ties)])


def _draw_ties(query: PagePicture, start: float, tied: TiedPicture, end: float) -> str:
    rows = choose_ties(tied.matches)
    asked = _place_points(tied.matches.query[rows], query, start)
    mapped = _place_points(tied.matches.reference[rows], tied.picture, end)
    return lines(list(np.stack([asked, mapped], axis=1)), "tie") + dots(np.vstack([asked, mapped]), "tie")


def _place_points(
    points: Float[np.ndarray, "count 2"], picture: PagePicture, left: float
) -> Float[np.ndarray, "count 2"]:
    """From longer sides of a picture to where the drawing has them."""
    return points * max(_COLUMN, _find_height(picture)) + np.array([left, 0.0])


def _place_picture(picture: PagePicture, left: float) -> str:
    size = {"x": left, "y": 0.0, "width": _COLUMN, "height": _find_height(picture)}
    return element("image", {"href": encode_jpeg(picture), **size, "preserveAspectRatio": "none"})


def _find_height(picture: PagePicture) -> float:
    rows, columns = picture.shape
    return _COLUMN * rows / columns
