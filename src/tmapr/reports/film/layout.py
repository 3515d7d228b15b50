"""Where the parts of a frame lie, in points: two pictures on the left, what is made of them on the right."""

from dataclasses import dataclass

from tmapr.reports.film.canvas import HEIGHT, WIDTH, Box

MARGIN = 22.0
_GAP = 10.0
_TIMELINE = 8.0
_HEADER, _STRIP = 86.0, 110.0
_WIDEST = 520.0
USUAL = (4, 5)
"""Rows to columns of a picture where none was found."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The boxes of all parts."""

    query: Box
    match: Box
    header: Box
    map: Box
    belief: Box
    timeline: Box

    @classmethod
    def of(cls, shape: tuple[int, int]) -> "Layout":
        """Around pictures of so many rows and columns, in their own proportions and as large as there is room."""
        timeline = Box(MARGIN, HEIGHT - MARGIN - _TIMELINE + 6, WIDTH - 2 * MARGIN, _TIMELINE)
        tall = (timeline.top - 14 - MARGIN - _GAP) / 2
        rows, columns = shape
        wide = min(tall * columns / rows, _WIDEST)
        high = wide * rows / columns
        left = MARGIN + wide + MARGIN
        right = WIDTH - MARGIN - left
        header = Box(left, MARGIN, right, _HEADER)
        belief = Box(left, timeline.top - 14 - _STRIP, right, _STRIP)
        drawn = Box(left, header.bottom + _GAP, right, belief.top - _GAP - header.bottom - _GAP)
        query = Box(MARGIN, MARGIN, wide, high)
        match = Box(MARGIN, timeline.top - 14 - high, wide, high)
        return cls(query, match, header, drawn, belief, timeline)
