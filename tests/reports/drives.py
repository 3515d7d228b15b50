"""A made-up drive whose figures are known beforehand."""

from dataclasses import replace

import numpy as np

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.trajectory import Column
from tmapr.reports.evidence import SequenceEvidence
from tmapr.types import NANOSECONDS, Reason, Status

FRAMES = 40
TRACE = np.column_stack([np.linspace(0, 100, FRAMES), np.zeros(FRAMES)])


def everywhere(values):
    return Column(values, np.ones(len(values), dtype=bool))


def sequence(**changes):
    """A straight drive: fused 1 m beside it, APR 10 m, every candidate on it but the last ten, which are 50 m away."""
    right = np.arange(FRAMES) < 30
    made = SequenceEvidence(
        name="night",
        figures={},
        recording=Recording.from_arrays("night", np.arange(FRAMES) * NANOSECONDS, np.eye(FRAMES), truth=TRACE),
        stamps=np.arange(FRAMES) * NANOSECONDS,
        seconds=np.arange(FRAMES, dtype=float),
        truth=everywhere(TRACE),
        fused=everywhere(TRACE + np.array([0, 1.0])),
        apr=everywhere(TRACE + np.array([0, 10.0])),
        statuses=(Status.LOCALIZED,) * 30 + (Status.LOST,) * 10,
        reasons=(Reason.ACCEPTED,) * 30 + (Reason.LOOKS_DIFFERENT,) * 10,
        references=everywhere(np.arange(FRAMES)),
        candidates=everywhere(TRACE + np.where(right, 0.0, 50.0)[:, None] * [0, 1]),
        similarities=everywhere(np.where(right, 0.8, 0.3)),
        scores=everywhere(np.full(FRAMES, 9.5)),
        leverages=everywhere(np.full(FRAMES, 0.04)),
        supports=everywhere(np.full(FRAMES, 0.75)),
        margins=everywhere(np.full(FRAMES, 2.5)),
        confidences=Column(np.where(right, 0.7, np.nan), right),
        innovations=Column(np.where(right, 3.25, np.nan), right),
        semi_axes=np.full(FRAMES, 2.0),
        threshold=0.5,
    )
    return replace(made, **changes)
