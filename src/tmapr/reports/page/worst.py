"""The worst frames of a sequence, each of another stretch: what to look at first when something is wrong."""

from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.drawing.pictures import photograph
from tmapr.reports.page.card import FrameCard, write_cards
from tmapr.reports.page.footage import Footage
from tmapr.reports.reported import ReportedSequence

_TOLD = ("error", "stated uncertainty", "status", "time")


def render_worst(sequence: ReportedSequence, footage: Footage, explorer: str) -> str:
    """A list of frames, each with its match, its numbers and a link that shows it in the explorer of this name."""
    cards = zip(footage.worst, write_cards(sequence, footage.worst), strict=True)
    entries = (element("li", {}, _render_frame(row, card, footage, explorer)) for row, card in cards)
    why = _ERRORS if sequence.truth.known.any() else _DOUBTS
    return element("p", {"class": "note"}, why) + element("ol", {"class": "worst"}, *entries)


def _render_frame(row: int, card: FrameCard, footage: Footage, explorer: str) -> str:
    matched = footage.matched.get(row)
    match = None if matched is None else footage.matches.found.get(matched)
    shots = photograph(footage.queries.found.get(row), f"frame {row}") + photograph(match, f"match of frame {row}")
    facts = (
        element("dt", {}, escape(name)) + element("dd", {}, escape(card.facts[name]))
        for name in _TOLD
        if name in card.facts
    )
    number = str(footage.rows.tolist().index(row))
    link = element("a", {"class": "show", "href": f"#{explorer}", "data-frame": number}, f"Show frame {row} on the map")
    said = element("p", {"class": "verdict"}, escape(card.verdict))
    return element("div", {"class": "shots"}, shots) + element("dl", {}, *facts) + said + link


_ERRORS = "The largest errors of the fused track, one of each stretch: left the frame, right what it was matched with."
_DOUBTS = (
    "Where the filter is least certain, one frame of each stretch: left the frame, right what it was matched with."
)
