"""A page of drives whose true positions nobody knows: all that can be shown is, and nothing asks for the rest."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from filmed import filmed_run
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun
from tmapr.reports.tables.errors import tabulate_runs

TITLES = (
    "Map of",
    "Belief over the route of",
    "Stated uncertainty over time of",
    "Certainty over time of",
    "Verdicts on",
    "Similarity matrix of",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return ReportedRun.load(filmed_run(tmp_path_factory.mktemp("home")).path)


@pytest.fixture(scope="module")
def blind(run):
    return without_truth(run)


def without_truth(run, known=None):
    """The same run, where only these frames of its sequence have a true position."""
    (drive,) = run.sequences
    known = np.zeros(len(drive.table.stamps), dtype=bool) if known is None else known
    truth = np.where(known[:, None], drive.trial.recording.truth, np.nan)
    recording = replace(drive.trial.recording, known=known, truth=truth)
    trial = replace(drive.trial, recording=recording)
    if known.any():
        return replace(run, sequences=(replace(drive, trial=trial),))
    return replace(
        run,
        sequences=(replace(drive, trial=trial, figures=None),),
        errors=run.errors.model_copy(update={"test": {}}),
    )


def parsed(text):
    return ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))


def titles(root):
    return [svg.find("{*}title").text for svg in root.findall(".//figure/div[@class='plot']/{*}svg")]


def visible(root):
    """The words of the page, without scripts and styles, and without what is folded: settings and meanings."""
    parts = []

    def collect(part):
        if part.tag in ("script", "style", "details"):
            return
        parts.append(part.text or "")
        for child in part:
            collect(child)
            parts.append(child.tail or "")

    collect(root.find("body"))
    return " ".join(" ".join(parts).split())


def test_every_figure_that_needs_no_truth_is_there_and_no_other(blind):
    assert titles(parsed(render_page([blind]))) == [f"{kind} night" for kind in TITLES]


def test_nothing_speaks_of_the_truth_or_of_errors(blind):
    told = visible(parsed(render_page([blind])))
    assert not re.search(r"\btruth\b|\btrue\b|\berrors?\b|\bwrong\b|WRONG|\bnan\b", told)
    assert "On night, it is localized" in told
    assert "The least certain frames" in told


def test_no_fact_of_a_card_is_unknown_throughout(blind, run):
    def facts(root):
        return [" ".join(name.itertext()) for name in root.findall(".//section[@class='card']/dl/dt")]

    told, unknown = (facts(parsed(render_page([each]))) for each in (run, blind))
    assert [name for name in told if name not in unknown] == ["error", "error of the pose head", "error of the match"]
    assert [name for name in unknown if name not in told] == []


def test_where_two_sequences_differ_each_is_shown_as_it_can_be(run, blind):
    (known,), (unknown,) = run.sequences, blind.sequences
    both = replace(run, sequences=(known, replace(unknown, name="unknown")))
    root = parsed(render_page([both]))
    assert [title for title in titles(root) if title.endswith("unknown")] == [f"{kind} unknown" for kind in TITLES]
    assert len([title for title in titles(root) if title.endswith("night")]) == 12
    assert len(root.findall(".//p[@class='result']")) == 2


def test_some_known_positions_suffice_for_errors(run):
    some = without_truth(run, np.arange(len(run.sequences[0].table.stamps)) < 100)
    root = parsed(render_page([some]))
    assert "Error over time of night" in titles(root)
    assert f"(100 of {len(run.sequences[0].table.stamps)} frames have a known position)" in visible(root)


def test_the_comparison_has_dashes_for_what_nobody_knows(run, blind):
    told, unknown = tabulate_runs([run]), tabulate_runs([blind])
    keys = [column.key for column in told.columns]
    (known,), (missing,) = told.rows, unknown.rows
    absent = [key for key, value in zip(keys, missing, strict=True) if value is None]
    assert absent == [
        "apr_rmse",
        "retrieval_rmse",
        "fused_rmse",
        "fused_median",
        "fused_jumps",
        "precision",
        "recall",
        "f1",
        "coverage95",
    ]
    same = [key for key, a, b in zip(keys, known, missing, strict=True) if b is not None and a == b]
    assert set(same) == set(keys) - set(absent)


def test_a_run_that_was_made_without_positions_is_read_and_shown(tmp_path):
    folder = filmed_run(tmp_path)
    recording = Recording.load(folder.percepts("night"))
    unknown = replace(
        recording, known=np.zeros(len(recording), dtype=bool), truth=np.full_like(recording.truth, np.nan)
    )
    unknown.save(RunFolder(folder.path).percepts("night"))
    stated = folder.provenance.read_text()
    folder.provenance.write_text(re.sub(r'"made_from": \{.*?\}\s*\}', '"made_from": null', stated, flags=re.DOTALL))
    assert titles(parsed(render_page([ReportedRun.load(folder.path)]))) == [f"{kind} night" for kind in TITLES]
