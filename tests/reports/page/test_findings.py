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
    assert " on 95 of 100 frames, and on 7 frames by more than 10 m." in told


def test_a_stream_says_so(night):
    assert describe_findings(replace(night, protocol="stream truth+120")).startswith("On night (stream truth+120), it")


def test_only_claims_whose_truth_is_known_are_judged(night):
    known = np.arange(len(night.table.stamps)) < 50
    some = replace(night, trial=replace(night.trial, recording=replace(night.trial.recording, known=known)))
    judged = night.errors(night.fused).values[night.trial.localized & known]
    half, most = np.quantile(judged, (0.5, 0.95))
    assert f"off by {half:.2f} m in the median, {most:.2f} m or less on 95 of 100 frames" in describe_findings(some)


def test_without_a_claim_there_is_nothing_to_judge(night):
    never = retold(night, statuses=(Status.LOST,) * len(night.table.stamps))
    assert describe_findings(never).startswith(
        "On night, it is localized, so says that it knows the place, on 0.0 % of"
    )
    assert "median" not in describe_findings(never)


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
