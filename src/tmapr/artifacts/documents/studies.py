"""ablation.json and comparison.json: a system with parts left out, and every method on one experiment."""

from typing import Literal

from pydantic import Field, JsonValue, PositiveFloat

from tmapr.artifacts.documents import Document
from tmapr.artifacts.documents.runs import ErrorSummary, LoopFigures, RecordingMarks


class Gap(Document):
    """A difference between two methods, its paired 95 % interval and what that says."""

    value: float
    low: float
    high: float
    verdict: str


class RowFigures(Document):
    """A row on a test sequence; metres, over the frames that it places. Means over several runs have it too."""

    frames: int | float | None = None
    rmse: float | None = None
    mean: float | None = None
    median: float | None = None
    p75: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None
    jumps: int | float | None = None
    coverage95: float | None = None
    loops: LoopFigures | None = None
    classes: int | float | None = None
    """Places that the classifier knew."""
    threshold: float | None = None
    """The similarity from which on a candidate counts as a loop."""
    constrained: float | None = None
    """Share of the frames in which places narrowed the search."""
    difference: Gap | None = None
    """Of a subset its F1 less plain ACIL's, of a system full's RMSE less its own."""
    protocol: str = "test"
    """As `SequenceTimings.protocol_name` has it."""


class AblationRow(Document):
    """A row: what it changes in the experiment, by path, and what came of it."""

    key: str
    title: str
    kind: str
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    test: dict[str, RowFigures]


class MappedErrors(ErrorSummary):
    """The pose head's error on the mapped traverse; `share` is its RMSE over the route's extent."""

    extent: PositiveFloat
    share: float | None = None


class MappedPoseHead(Document):
    """What the pose head reaches where it should be at its best."""

    mapped: dict[str, MappedErrors] = Field(default_factory=dict)


class Ablation(Document):
    """ablation.json. No time is in it: the same percepts give the same bytes."""

    kind: Literal["ablation"]
    made_by: str
    experiment: str
    settings_sha256: str
    alignment: str
    labels: str
    calibrated_on: tuple[str, ...] = ()
    """The validation on which each row chose its threshold, and with G the weight of that."""
    apr: MappedPoseHead = MappedPoseHead()
    made_from: dict[str, RecordingMarks] = Field(default_factory=dict)
    """What each sequence was known by."""
    rows: tuple[AblationRow, ...]


class ComparedMethod(Document):
    """A method on a test sequence: metres, means over its training seeds with their standard deviation.

    `difference` is the RMSE of the full system less the method's, from `low` to `high` with 95 %; ours has none.
    """

    name: str
    about: str = ""
    seeds: int | None = None
    rmse: float
    rmse_spread: float | None = None
    mean: float | None = None
    median: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str | None = None
    budget: str = ""
    protocol: str | None = None
    """As `SequenceTimings.protocol_name` has it: only ours learns from a stream."""

    @property
    def title(self) -> str:
        """What tells it from the same method on another trunk."""
        return f"{self.name} ({self.about})" if self.about else self.name


class Comparison(Document):
    """comparison.json; `truth` is what the positions of each test sequence were known by, if that was noted."""

    test: dict[str, tuple[ComparedMethod, ...]] = Field(default_factory=dict)
    truth: dict[str, str] | None = None
