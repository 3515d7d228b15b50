"""provenance.json and errors.json: how a run came about, and how far its estimates are from the truth.

Metres, degrees, milliseconds.
"""

from collections.abc import Callable, Mapping
from typing import Literal

from pydantic import Field, PositiveInt, model_serializer

from tmapr.artifacts.documents import Document
from tmapr.artifacts.documents.decisions import Decisions
from tmapr.artifacts.documents.streams import StreamFigures, StreamRecord
from tmapr.types import CoordinateFrame

Interval95 = tuple[float, float]
Written = dict[str, int | float | str | bool | None]
TRAINED = "trained on"
"""How a protocol's name ends where networks have seen the drive."""


class Timing(Document):
    """How long one stage takes."""

    p50: float
    p95: float
    max: float


class SequenceTimings(Document):
    """The stages of a run on one sequence, and by which protocol; `update_ms` exists where something was learned."""

    step_ms: Timing
    update_ms: Timing | None = None
    protocol: Literal["test", "stream"] = "test"
    """`test`: from a state that no other sequence changes; `stream`: in order, learned while it was scored."""
    labels: str | None = None
    """What it learned from."""
    trained: bool | None = None
    """Whether networks were trained on its drive."""

    @property
    def protocol_name(self) -> str:
        """As every table has it: `test`, or `stream` with what was learned from, and whether the drive is new."""
        if self.protocol == "test":
            return self.protocol
        return f"stream {self.labels}, {TRAINED}" if self.trained else f"stream {self.labels}"


class RecordingMarks(Document):
    """SHA-256 of what perception said of a sequence, and of the positions beside it."""

    percepts: str
    truth: str


class Provenance(Document):
    """provenance.json: versions, what the run was allowed, digests of what it was made from, and times.

    Without it nobody takes the estimates for those of a whole run.
    """

    tmapr: str
    numpy: str
    settings_sha256: str
    map: str
    labels: str
    alignment: str
    experiment_sha256: str
    sequences: dict[str, SequenceTimings]
    made_from: dict[str, RecordingMarks]
    """All sequences that the estimates follow from."""
    stream: StreamRecord | None = None
    classes: int | None = None
    """Places that the classifier knew in the end."""
    tracking_plugin: str | None = None
    """Distribution and version of somebody else's tracking method."""

    @property
    def protocols(self) -> list[str]:
        """Those of its sequences, each once."""
        return _name_protocols(self.sequences)


class ErrorSummary(Document):
    """Position error over a sequence."""

    rmse: float
    mean: float
    median: float
    p75: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None


class FusedErrors(ErrorSummary):
    """The same of the filter's positions, with the interval of the RMSE over resampled blocks of frames."""

    rmse_interval: Interval95 | None = None


class HeadingSummary(Document):
    """The pose head's heading against the direction of travel, over the frames that have both."""

    frames: int
    rmse_deg: float
    mean_deg: float
    median_deg: float
    p95_deg: float


class PoseErrors(Document):
    """What evo says of the errors of many poses, under its names; `std` is that of a population."""

    rmse: float
    mean: float
    median: float
    std: float
    min: float
    max: float
    sse: float


class AbsoluteErrors(PoseErrors):
    """APE of the fused positions."""

    alignment: str
    poses: int


class RelativeErrors(Document):
    """RPE of the fused positions; where no two poses lie so far apart the statistics are None and not written."""

    delta: int | float
    unit: str
    all_pairs: bool
    alignment: str
    pairs: int
    rmse: float | None = None
    mean: float | None = None
    median: float | None = None
    std: float | None = None
    min: float | None = None
    max: float | None = None
    sse: float | None = None

    @model_serializer(mode="wrap")
    def _write_known(self, handler: Callable[[object], Written]) -> Written:
        return {name: value for name, value in handler(self).items() if value is not None}


class LoopScores(Document):
    """Decisions at one threshold: `recall` over opportunities, `decision_recall` over correct candidates."""

    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    decision_recall: float | None = None
    accepted: int | float | None = None
    queries: int | None = None


class LoopFigures(LoopScores):
    """Loop recognition by the first candidate: at the threshold, over all thresholds, and by rank.

    `best_f1` and its threshold look at the truth. `recall_at` is the system's own ranking, `global_recall_at` that of
    the plain cosine; both by N.
    """

    f1_interval: Interval95 | None = None
    average_precision: float | None = None
    recall_at_full_precision: float | None = None
    decision_recall_at_full_precision: float | None = None
    best_f1: float | None = None
    best_f1_threshold: float | None = None
    recall_at: dict[str, float | None] | None = None
    global_recall_at: dict[str, float | None] | None = None


class Consistency(Document):
    """Normalised squared position error (NEES): an honest covariance gives a mean of 2 and covers .95."""

    mean: float
    coverage95: float


class StatusConsistency(Consistency):
    """The same over the frames of one status."""

    frames: int


class RunConsistency(Consistency):
    """The same over all frames, and by what the filter said of itself."""

    by_status: dict[str, StatusConsistency] = Field(default_factory=dict)


class InnovationSummary(Document):
    """Normalised squared innovations (NIS) of accepted corrections: 2 in the mean and .95 inside if honest."""

    mean: float
    inside95: float
    count: int


class Jumps(Document):
    """Steps farther than a camera could move; None where there is no position."""

    apr: int | None
    fused: int | None


class Detours(Document):
    """All stretches of a drive off the map, and how the system behaved there. Metres are driven ones.

    `left_after` metres off the map the status was no longer `localized`, `back_after` metres on it it was so again and
    right: of several detours the longest, None if never.
    """

    count: int
    frames: int
    metres: float
    false_accepts: int
    left_after: float | None
    back_after: float | None


class SequenceErrors(SequenceTimings):
    """A sequence that was scored. `retrieval` is the first candidate alone, before anything was judged."""

    frames: int
    apr: ErrorSummary | None
    retrieval: ErrorSummary | None
    fused: FusedErrors
    heading: HeadingSummary | None = None
    ape: AbsoluteErrors | None = None
    rpe: tuple[RelativeErrors, ...] = ()
    reasons: dict[str, PositiveInt] = Field(min_length=1)
    status: dict[str, PositiveInt] = Field(min_length=1)
    nees: RunConsistency
    nis: InnovationSummary | None = None
    jumps: Jumps
    constrained: float | None = None
    """Share of the frames with a candidate in which places narrowed the search."""
    off_map: Detours | None = None
    decisions: Decisions | None = None
    loops: LoopFigures


class Errors(Document):
    """errors.json: all that was scored is in `test`; `evaluated_sha256` names the estimates and the truth of it.

    `labels` is what tests learned from.
    """

    test: dict[str, SequenceErrors]
    alignment: str
    labels: str
    frame: CoordinateFrame
    settings_sha256: str
    evaluated_sha256: str | None = None
    stream: StreamFigures | None = None

    @property
    def protocols(self) -> list[str]:
        """Those of its sequences, each once."""
        return _name_protocols(self.test)


def _name_protocols(entries: Mapping[str, SequenceTimings]) -> list[str]:
    return list(dict.fromkeys(entry.protocol_name for entry in entries.values()))
