"""The card of a frame: what was decided and why, and its numbers. What no frame of a sequence knows is left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tmapr.artifacts.trajectory import Column
from tmapr.reports.drawing.markup import element
from tmapr.reports.figures.error_curve import LANES
from tmapr.reports.reported import ReportedSequence
from tmapr.reports.tables.table import NOTHING
from tmapr.types import Reason

REASONS: Mapping[Reason, str] = {
    Reason.ACCEPTED: "the match was believed and corrected the filter",
    Reason.RELOCALIZED: "what was seen since overruled the filter, which starts again there",
    Reason.NO_CANDIDATE: "the search found no reference",
    Reason.FAULTY_FRAME: "the image is frozen, empty, saturated or damaged",
    Reason.REPEATED_STAMP: "the frame before it has the same stamp",
    Reason.OLDER_STAMP: "the frame came later than a newer one",
    Reason.LOOKS_DIFFERENT: "the similarity of the match is below the threshold",
    Reason.OUT_OF_BOUNDS: "the match lies outside the bounds that were set",
    Reason.FAR_FROM_APR: "the match lies too far from the position of the pose head",
    Reason.FAR_FROM_BELIEF: "the match lies too far from where the filter believes to be",
    Reason.JUMPS: "the match is farther from the last accepted one than the camera can have moved",
    Reason.UNCONFIRMED: "it and the matches before it that agree do not suffice yet",
    Reason.AMBIGUOUS: "a match elsewhere scores nearly as well",
    Reason.OFF_MAP: "more likely than any place is that the camera has left the map",
}
"""Why it was decided so."""


@dataclass(frozen=True, slots=True)
class FrameCard:
    """The verdict with its reason in words, and values by the names of what they are; an error is to the truth."""

    verdict: str
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Fact:
    """Numbers of all frames, under a name of the glossary where it has one."""

    name: str
    column: Column
    form: str = "{:.3f}"

    def tell(self, row: int) -> str:
        """The number of a frame, or a dash."""
        if not self.column.known[row]:
            return NOTHING
        # A margin is infinite where there is no match elsewhere.
        told = self.form.format(float(self.column.values[row]))
        return told.replace("-", "\N{MINUS SIGN}").replace("inf", "∞")


def render_card(label: str, names: Iterable[str]) -> str:
    """A card that a script fills, hidden until it does: two pictures, a verdict, and facts of these names, markup."""
    shot = element("div", {"class": "picture"}, "no image") + element("figcaption", {}, NOTHING)
    shots = element("div", {"class": "shots"}, *[element("figure", {}, shot)] * 2)
    said = element("p", {"class": "verdict"}, NOTHING)
    listed = element("dl", {}, *(element("dt", {}, name) + element("dd", {}, NOTHING) for name in names))
    return element("section", {"class": "card", "hidden": "hidden", "aria-label": label}, shots, said, listed)


def write_cards(sequence: ReportedSequence, rows: Sequence[int]) -> list[FrameCard]:
    """What the page tells of each of these frames: the same facts of all."""
    wrong = sequence.misled.tolist()
    known = [fact for fact in _list_facts(sequence) if fact.column.known.any()]

    def card(row: int) -> FrameCard:
        facts = {"status": LANES[sequence.table.statuses[row]]} | {fact.name: fact.tell(row) for fact in known}
        moment = {"time": f"{sequence.seconds[row]:.2f} s", "stamp, ns": str(sequence.table.stamps[row])}
        return FrameCard(_describe_verdict(sequence.table.reasons[row], wrong[row]), facts | moment)

    return [card(row) for row in rows]


def _describe_verdict(reason: Reason, wrong: bool) -> str:
    """The gates cannot know that an accepted match is wrong; the reader must."""
    warning = ". WRONG: the match shows another place" if wrong else ""
    return f"{reason.value}: {REASONS[reason]}{warning}"


def _list_facts(sequence: ReportedSequence) -> Iterator[_Fact]:
    table, stated = sequence.table, sequence.semi_axes
    yield _Fact("error", sequence.errors(sequence.fused), "{:.2f} m")
    yield _Fact("stated uncertainty", Column(stated, np.isfinite(stated)), "± {:.2f} m")
    yield _Fact("error of the pose head", sequence.errors(sequence.apr), "{:.2f} m")
    yield _Fact("error of the match", sequence.errors(table.reference_positions), "{:.2f} m")
    yield _Fact("similarity", table.similarities)
    yield _Fact("score", table.scores)
    yield _Fact("margin", table.margins)
    yield _Fact("support", table.supports)
    yield _Fact("leverage", table.leverages)
    yield _Fact("confidence", table.confidences)
    yield _Fact("innovation", table.innovations, "{:.2f} m")
    yield _Fact("longitude", Column(table.degrees.values[:, 0], table.degrees.known), "{:.7f}°")
    yield _Fact("latitude", Column(table.degrees.values[:, 1], table.degrees.known), "{:.7f}°")
