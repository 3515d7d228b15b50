"""One frame in words: what the gates said of it and why, and the numbers behind that."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tmapr.artifacts.trajectory import Column
from tmapr.reports.evidence import SequenceEvidence
from tmapr.reports.table import NOTHING
from tmapr.types import Reason

REASONS: Mapping[Reason, str] = {
    Reason.ACCEPTED: "the match passed every gate and corrected the filter",
    Reason.RELOCALIZED: "several matches in a row agreed with one another and overruled the filter",
    Reason.NO_CANDIDATE: "the search found no reference",
    Reason.FAULTY_FRAME: "the image is frozen, empty, saturated or damaged",
    Reason.REPEATED_STAMP: "the frame before it has the same stamp",
    Reason.OLDER_STAMP: "the frame came later than a newer one",
    Reason.LOOKS_DIFFERENT: "the similarity of the match is below the threshold",
    Reason.UNFAMILIAR: "nothing that was learned explains the image: its leverage is too high",
    Reason.OUT_OF_BOUNDS: "the match lies outside the bounds that were set",
    Reason.FAR_FROM_APR: "the match lies too far from the position of the pose head",
    Reason.FAR_FROM_BELIEF: "the match lies too far from where the filter believes to be",
    Reason.JUMPS: "the match is farther from the last accepted one than the camera can have moved",
    Reason.UNCONFIRMED: "its odds, with those of matches before it that agree, do not suffice yet",
    Reason.ISOLATED: "too few of the best matches lie near the first",
    Reason.AMBIGUOUS: "a match elsewhere scores nearly as well",
}
"""Why the gates decide as they do."""

FACTS = (
    "status",
    "error",
    "error of APR",
    "error of the match",
    "similarity",
    "score",
    "margin",
    "support",
    "leverage",
    "confidence",
    "innovation",
    "time",
    "stamp, ns",
)
"""What is told of a frame; an error is a distance to the truth."""


@dataclass(frozen=True, slots=True)
class Card:
    """The verdict with its reason in words, and the values of `FACTS`."""

    verdict: str
    facts: tuple[str, ...]


def cards(sequence: SequenceEvidence, rows: Sequence[int]) -> list[Card]:
    """The cards of some frames."""
    wrong, told = sequence.misled.tolist(), list(_numbers(sequence))
    return [Card(_verdict(sequence.reasons[row], wrong[row]), _facts(sequence, row, told)) for row in rows]


def _verdict(reason: Reason, wrong: bool) -> str:
    """The gates cannot know that an accepted match is wrong; the reader must."""
    warning = ". WRONG: the match shows another place" if wrong else ""
    return f"{reason.value}: {REASONS[reason]}{warning}"


def _numbers(sequence: SequenceEvidence) -> Iterator[tuple[Column, str]]:
    """The columns of numbers with their formats."""
    for track in (sequence.fused, sequence.apr, sequence.candidates):
        yield sequence.errors(track), "{:.2f} m"
    for column in (sequence.similarities, sequence.scores, sequence.margins, sequence.supports, sequence.leverages):
        yield column, "{:.3f}"
    yield sequence.confidences, "{:.3f}"
    yield sequence.innovations, "{:.2f} m"


def _facts(sequence: SequenceEvidence, row: int, columns: Sequence[tuple[Column, str]]) -> tuple[str, ...]:
    numbers = (_shown(float(of.values[row]), form) if of.known[row] else NOTHING for of, form in columns)
    moment = (f"{sequence.seconds[row]:.2f} s", str(sequence.stamps[row]))
    return (sequence.statuses[row].value, *numbers, *moment)


def _shown(value: float, form: str) -> str:
    # A margin is infinite where there is no match elsewhere.
    return form.format(value).replace("-", "\N{MINUS SIGN}").replace("inf", "∞")
