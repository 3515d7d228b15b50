"""What is known of each frame of a drive, as a film tells it."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.trajectory import Column
from tmapr.reports.reported import ReportedRun, ReportedSequence
from tmapr.types import Reason, Status, Verdict


@dataclass(frozen=True, slots=True)
class Match:
    """The reference that a frame was judged by: its row in the map, and how far it lies from where the frame was."""

    row: int
    position: Float[np.ndarray, "2"]
    traverse: str
    similarity: float
    believed: bool
    error: float | None


@dataclass(frozen=True, slots=True)
class Moment:
    """One frame; what nobody knows is None."""

    seconds: float
    status: Status
    reason: Reason
    position: Float[np.ndarray, "2"]
    covariance: Float[np.ndarray, "2 2"]
    radius: float
    """Longest semi-axis of the 95 % ellipse, in metres."""
    velocity: Float[np.ndarray, "2"]
    truth: Float[np.ndarray, "2"] | None
    error: float | None
    wrong: bool
    """Whether it is called localized, and known to be farther from there than counts as right."""
    off_map: float | None
    """Probability that it has left the map."""
    likely: Int[np.ndarray, " some"]
    """Rows of the map where it may be, and their probabilities."""
    masses: Float[np.ndarray, " some"]
    match: Match | None
    alike: Float[np.ndarray, "2"] | None
    """Where the reference lies that ranked first, before anything was judged: what retrieval alone would have said."""


@dataclass(frozen=True, slots=True)
class Story:
    """A drive, moment by moment."""

    run: ReportedRun
    sequence: ReportedSequence
    errors: Column = field(init=False)
    match_errors: Column = field(init=False)
    semi_axes: Float[np.ndarray, " n"] = field(init=False)
    tolerance: float = field(init=False)

    def __post_init__(self) -> None:
        of = self.sequence
        object.__setattr__(self, "errors", of.errors(of.fused))
        object.__setattr__(self, "match_errors", of.errors(of.table.reference_positions))
        object.__setattr__(self, "semi_axes", of.semi_axes)
        object.__setattr__(self, "tolerance", of.tolerance)

    def tell(self, row: int) -> Moment:
        """What is known of a frame."""
        table, truth = self.sequence.table, self.sequence.truth
        beliefs, error = self.sequence.trial.beliefs, _look_up(self.errors, row)
        likely, masses = (np.zeros(0, np.int64), np.zeros(0)) if beliefs is None else beliefs.after(row)
        return Moment(
            seconds=float(self.sequence.seconds[row]),
            status=table.statuses[row],
            reason=table.reasons[row],
            position=self.sequence.fused.values[row],
            covariance=table.covariances[row],
            radius=float(self.semi_axes[row]),
            velocity=table.velocities[row],
            truth=truth.values[row] if truth.known[row] else None,
            error=error,
            wrong=table.statuses[row] is Status.LOCALIZED and error is not None and error > self.tolerance,
            off_map=_look_up(table.p_off_map, row),
            likely=likely,
            masses=masses,
            match=self.find_match(row),
            alike=table.first.positions.values[row] if table.first.positions.known[row] else None,
        )

    def find_match(self, row: int) -> Match | None:
        """The reference that a frame was judged by."""
        table, memory = self.sequence.table, self.run.memory
        if not table.references.known[row]:
            return None
        place = table.reference_positions.values[row]
        found = memory.find(int(table.references.values[row]), place)
        return Match(
            row=found,
            position=place,
            traverse=str(memory.sequences[found]),
            similarity=float(table.similarities.values[row]),
            believed=Verdict(table.reasons[row]).accepted,
            error=_look_up(self.match_errors, row),
        )


def _look_up(column: Column, row: int) -> float | None:
    return float(column.values[row]) if column.known[row] else None
