"""What was found, in words: with true positions, with some, and without."""

from dataclasses import replace

import numpy as np
import pytest

from drives import FRAMES, retold, sequence
from made_up import run_block, write_block
from tmapr.reports.page.findings import describe_findings
from tmapr.reports.reported import ReportedRun
from tmapr.types import Reason, Status


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    (drive,) = ReportedRun.load(run_block(home).path).sequences
    return drive


def blind(**changes):
    return replace(sequence(**changes), figures=None)


def test_wrong_claims_are_counted(night):
    wrong = night.figures.decisions.model_copy(update={"wrong": 7})
    told = describe_findings(replace(night, figures=night.figures.model_copy(update={"decisions": wrong})))
    assert told.endswith("; 7 of these are more than 10 m off.")


def test_a_stream_says_so(night):
    assert describe_findings(replace(night, protocol="stream truth+120")).startswith("On night (stream truth+120), the")


def test_where_some_positions_are_known_it_says_over_how_many(night):
    known = np.arange(len(night.table.stamps)) < 50
    some = replace(night, trial=replace(night.trial, recording=replace(night.trial.recording, known=known)))
    assert f"over the 50 of {len(known)} frames with a known position" in describe_findings(some)


def test_without_true_positions_it_tells_what_the_filter_says():
    statuses = (Status.LOST,) * 3 + (Status.LOCALIZED,) * 20 + (Status.LOST,) * 2 + (Status.PREDICTING,) * 15
    reasons = (Reason.ACCEPTED,) * 35 + (Reason.OFF_MAP,) * 5
    drive = retold(blind(), statuses=statuses, reasons=reasons)
    assert describe_findings(drive) == (
        "On night, it is localized, so says that it knows the place, on 50.0 % of 40 frames;"
        " lost in 2 stretches (5 frames), and off the map in 1 stretch (5 frames)."
    )


def test_what_never_happened_is_said_too():
    drive = blind(statuses=(Status.LOCALIZED,) * FRAMES)
    assert describe_findings(drive).endswith("never lost, and never off the map.")
