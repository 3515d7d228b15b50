"""What a stream says of learning: how each sequence went while it was learned, and what was left of it afterwards."""

from tmapr.artifacts.documents import Document


class StretchFigures(Document):
    """A drive, or a part of one. Metres, and shares; None where there is nothing to count."""

    frames: int
    """With a true position."""
    recall_at_1: float | None = None
    """Share of the opportunities whose first candidate is right, whatever any threshold says."""
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    rmse: float | None = None
    """Of the fused positions."""


class StreamedFigures(Document):
    """A sequence while it was learned; in its thirds one sees whether that helped."""

    whole: StretchFigures
    thirds: tuple[StretchFigures, StretchFigures, StretchFigures]


class StreamRecord(Document):
    """What was streamed, in this order, from which labels, and how sequences did when they were asked again.

    `asked_again` has a key for each sequence that was streamed, once all its labels were learned, and under it all up
    to that one: as new drives, without learning, and without any fit of the trajectory to the truth.
    """

    order: tuple[str, ...]
    labels: str
    asked_again: dict[str, dict[str, StretchFigures]]


class StreamFigures(StreamRecord):
    """The same beside what was found while learning."""

    while_learning: dict[str, StreamedFigures]
