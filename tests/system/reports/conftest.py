"""The shared run as reports read it."""

from dataclasses import replace

import numpy as np
import pytest

from tmapr.reports.reported import ReportedRun


@pytest.fixture(scope="session")
def run(street):
    return ReportedRun.load(street / "runs/street")


@pytest.fixture(scope="session")
def blind(run):
    """The same, as if nobody knew where it drove."""
    (drive,) = run.sequences
    unknown = np.zeros(len(drive.table.stamps), dtype=bool)
    recording = replace(drive.trial.recording, known=unknown, truth=np.full_like(drive.trial.recording.truth, np.nan))
    sequence = replace(drive, figures=None, trial=replace(drive.trial, recording=recording))
    return replace(run, sequences=(sequence,), errors=run.errors.model_copy(update={"test": {}}))
