"""A made-up drive whose figures are known beforehand."""

from dataclasses import replace

import numpy as np

from tmapr.artifacts.documents.runs import SequenceErrors
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.trajectory import Column, EstimateTable, FirstCandidates
from tmapr.evaluation.trial import Trial
from tmapr.reports.reported import ReportedSequence
from tmapr.retrieval.memory import remember
from tmapr.types import CHI2_95, NANOSECONDS, Reason, Status

FRAMES = 40
TRACE = np.column_stack([np.linspace(0, 100, FRAMES), np.zeros(FRAMES)])


def everywhere(values):
    return Column(values, np.ones(len(values), dtype=bool))


def ellipses(semi_axes):
    """Covariances with these longest semi-axes of their 95 % ellipse."""
    return np.asarray(semi_axes)[:, None, None] ** 2 / CHI2_95 * np.diag([0.25, 1.0])


def sequence(*, name="night", trace=TRACE, fused=None, apr=None, truth=None, **changes):
    """A straight drive: fused 1 m beside it, APR 10 m, every candidate on it but the last ten, which are 50 m away."""
    count = len(trace)
    right, stamps, unknown = np.arange(count) < count - 10, np.arange(count) * NANOSECONDS, np.zeros(count, dtype=bool)
    positions = everywhere(trace + np.where(right, 0.0, 50.0)[:, None] * [0, 1])
    references, similarities = everywhere(np.arange(count)), everywhere(np.where(right, 0.8, 0.3))
    scores, none = everywhere(np.full(count, 9.5)), Column(np.full(count, np.nan), unknown)
    table = EstimateTable(
        stamps=stamps,
        positions=trace + np.array([0, 1.0]),
        velocities=np.zeros((count, 2)),
        covariances=ellipses(np.full(count, 2.0)),
        statuses=(Status.LOCALIZED,) * (count - 10) + (Status.LOST,) * 10,
        reasons=(Reason.ACCEPTED,) * (count - 10) + (Reason.LOOKS_DIFFERENT,) * 10,
        learned=unknown,
        headings=none,
        apr_positions=everywhere(trace + np.array([0, 10.0])),
        apr_headings=none,
        references=references,
        reference_positions=positions,
        places=everywhere(np.zeros(count, dtype=int)),
        similarities=similarities,
        scores=scores,
        leverages=everywhere(np.full(count, 0.04)),
        supports=everywhere(np.full(count, 0.75)),
        margins=everywhere(np.full(count, 2.5)),
        confidences=Column(np.where(right, 0.7, np.nan), right),
        innovations=Column(np.where(right, 3.25, np.nan), right),
        nis=none,
        first=FirstCandidates(references, positions, similarities, scores),
        constrained=everywhere(np.zeros(count, dtype=int)),
        reference_sequences=everywhere(np.full(count, "noon")),
        p_place=none,
        p_off_map=none,
        degrees=Column(np.full((count, 2), np.nan), unknown),
    )
    table, truth = replace(table, **changes), truth or everywhere(trace)
    looks = np.eye(2)[np.arange(count) % 2]
    recording = replace(Recording.from_arrays("night", stamps, looks), truth=truth.values, known=truth.known)
    memory = remember(looks, trace, np.zeros(count, dtype=int), stamps, frames=np.arange(count), probes=8)
    trial = Trial(table, recording, memory, threshold=0.5)
    figures = SequenceErrors.model_construct()
    return ReportedSequence(name, figures, trial, fused or everywhere(table.positions), apr or table.apr_positions)


def retold(drive, **changes):
    """The same drive with other columns in its table."""
    return replace(drive, trial=replace(drive.trial, table=replace(drive.table, **changes)))
