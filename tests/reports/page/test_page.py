"""The page of a small run: complete, self-contained, well-formed, and deaf to what names contain."""

import base64
import csv
import hashlib
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from drives import retold
from made_up import run_block, write_block
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.config import changed
from tmapr.experiment import Experiment
from tmapr.reports.page.page import render_page, tabulate_changes
from tmapr.reports.reported import ReportedRun, label_runs
from tmapr.reports.tables.errors import tabulate_decisions, tabulate_runs
from tmapr.running.evaluating import evaluate_run
from tmapr.running.finished import FinishedRun
from tmapr.types import CHI2_95

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    return ReportedRun.load(run_block(home).path)


@pytest.fixture(scope="module")
def page(run):
    return render_page([run])


def night(run):
    return run.errors.test["night"]


def parsed(text):
    return ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))


def words(text):
    return " ".join(" ".join(parsed(text).itertext()).split())


class Balance(HTMLParser):
    """Every element is closed in the order in which it was opened."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def hostile(run):
    """The same run, with a name of every kind that a file can bring."""
    named = {"data.root": HOSTILE, "data.reference": f"{HOSTILE} 2", "data.test": [HOSTILE]}
    return replace(
        run,
        experiment=changed(run.experiment, named),
        provenance=run.provenance.model_copy(update={"labels": HOSTILE, "tmapr": HOSTILE}),
        errors=run.errors.model_copy(update={"test": {HOSTILE: run.errors.test["night"]}, "labels": HOSTILE}),
        sequences=(replace(run.sequences[0], name=HOSTILE),),
    )


def test_the_page_is_balanced_html_and_well_formed_xml(page):
    balance = Balance()
    balance.feed(page)
    assert balance.open == []
    assert parsed(page).tag == "html"


def test_the_page_needs_nothing_beside_itself(page):
    balance = Balance()
    balance.feed(page)
    assert not {"iframe", "object", "use", "base"} & set(balance.tags)
    links = [value for name, value in balance.attributes if name in ("src", "href", "xlink:href", "srcset")]
    inside = {f"#{value}" for name, value in balance.attributes if name == "id"}
    links = [link for link in links if link not in inside]
    assert {link.partition(",")[0] for link in links} <= {"data:", "data:image/png;base64", "data:image/jpeg;base64"}
    assert not re.search(r"url\(|@import", page)


def test_no_script_may_run_but_the_one_whose_hash_the_policy_names(page):
    text = page
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [
        meta.get("content") for meta in parsed(text).iter("meta") if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": "'unsafe-inline'",
        "script-src": f"'sha256-{digest}'",
    }


def test_names_from_files_are_text_and_never_markup(run, page):
    balance = Balance()
    balance.feed(render_page([hostile(run)]))
    plain = Balance()
    plain.feed(page)
    assert set(balance.tags) == set(plain.tags)
    assert not [name for name, _ in balance.attributes if name.startswith("on")]
    assert words(render_page([hostile(run)])).count("<script>alert(1)</script>") >= 5


def test_the_headline_says_what_was_run(run, page):
    facts = [entry.text for entry in parsed(page).find("body/main/section/dl")]
    told = dict(zip(facts[::2], facts[1::2], strict=True))
    assert told["data"].endswith("/data (folder)")
    assert (told["reference"], told["adapted to"], told["tested on"]) == ("noon", "dusk", "night")
    assert (told["labels while testing"], told["alignment"]) == ("off", "none")
    assert told["settings"] == run.errors.settings_sha256[:12]
    assert told["tmapr"] == run.provenance.tmapr


def test_the_headline_gives_the_result_in_a_sentence(run, page):
    figures = night(run)
    share = 100 * figures.status["localized"] / figures.frames
    (found,) = parsed(page).findall("body/main/section/p[@class='result']")
    assert found.text.startswith(
        f"On night, it is localized, so says that it knows the place, on {share:.1f} % of {figures.frames} frames,"
    )
    assert " m or less on 95 of 100 frames, and never by more than 10 m." in found.text


def test_the_numbers_of_the_page_are_those_of_errors_json(run, page):
    evaluate_run(FinishedRun.load(run.folder)).save(run.folder.errors)
    saved = json.loads(run.folder.errors.read_text())["test"]["night"]
    text = words(page)
    for track in ("apr", "retrieval", "fused"):
        assert " ".join(f"{saved[track][key]:.2f}" for key in ("rmse", "mean", "median")) in text
    assert " ".join(f"{saved['loops'][key]:.3f}" for key in ("precision", "recall", "f1")) in text
    assert f"{saved['nees']['mean']:.2f} {saved['nees']['coverage95']:.3f}" in text
    assert f"{saved['step_ms']['p95']:.2f}" in text
    assert " ".join(f"{saved['loops']['recall_at'][rank]:.3f}" for rank in ("1", "5", "10")) in text
    assert f"{saved['ape']['rmse']:.2f}" in text


def test_a_score_over_nothing_is_a_dash(run):
    loops = night(run).loops.model_copy(update={"precision": None})
    figures = night(run).model_copy(update={"loops": loops})
    assert tabulate_decisions({"night": figures}).cells[0][1] == "–"


def test_every_sequence_has_its_figures_in_order(page):
    titles = [svg.find("{*}title").text for svg in parsed(page).findall(".//figure/div[@class='plot']/{*}svg")]
    kinds = (
        "Map of",
        "Belief over the route of",
        "Error over time of",
        "Certainty over time of",
        "Error along the route of",
        "Confidence against error on",
        "Reliability on",
        "Verdicts on",
        "Similarity on",
        "Precision and recall on",
        "Similarity matrix of",
        "Jumps on",
    )
    assert titles == [f"{kind} night" for kind in kinds]


def test_an_oracle_is_called_one_in_the_headline_and_in_the_comparison(run, page):
    oracle = replace(run, errors=run.errors.model_copy(update={"alignment": "apr-oracle"}))
    (warning,) = parsed(render_page([oracle])).findall(".//p[@class='warning']")
    assert warning.text.startswith("ORACLE")
    assert "apr-oracle (ORACLE)" in tabulate_runs([oracle]).markdown()
    assert "ORACLE" not in page


def test_labels_from_the_truth_are_called_an_upper_bound(run):
    taught = replace(run, errors=run.errors.model_copy(update={"labels": "truth+120"}))
    (warning,) = parsed(render_page([taught])).findall(".//p[@class='warning']")
    assert "upper bound" in warning.text


def test_only_settings_that_differ_are_listed_and_all_are_in_the_toml(run, page):
    listed = {row[0]: row[1:3] for row in tabulate_changes(run.experiment).rows}
    assert listed["tracking.gates.min_similarity"] == ("0.4", "0.6")
    assert listed["places.projection.dimension"][0] == "64"
    assert "places.cell" not in listed
    assert "cell = " in parsed(page).find(".//details/pre").text


def test_the_default_experiment_differs_in_nothing():
    assert tabulate_changes(Experiment()).rows == ()


def test_several_runs_are_compared_first_and_then_shown_each(run):
    other = replace(run, experiment=changed(run.experiment, {"name": "other"}))
    root = parsed(render_page([run, other]))
    assert root.find(".//h1").text == "2 runs compared"
    rows = root.findall(".//div[@class='compared']//tbody/tr")
    assert [row.find("th").text for row in rows] == ["block", "other"]
    assert [heading.text for heading in root.findall(".//h2")] == ["The numbers", "block", "other"]
    targets = {f"#{heading.get('id')}" for heading in root.findall(".//h2[@id]")}
    assert targets == {link.get("href") for link in root.findall(".//ul[@class='result']//a")}


def test_runs_of_one_name_are_told_apart_by_their_folders(run):
    elsewhere = replace(run, folder=RunFolder(run.folder.path / "elsewhere"))
    assert label_runs([run, elsewhere]) == [str(run.folder.path), str(elsewhere.folder.path)]


def test_the_comparison_keeps_unrounded_numbers_in_json(run):
    (row,) = json.loads(tabulate_runs([run]).json())["rows"]
    assert row["fused_rmse"] == night(run).fused.rmse
    assert row["localized"] == 100 * night(run).status["localized"] / night(run).frames


def test_a_page_has_less_than_a_hundred_bytes_per_frame_beyond_its_frame_its_cards_and_its_matrix(run, page):
    frames = night(run).frames
    matrix = min(frames, 400) * min(len(run.memory), 400) * 4 // 3  # a byte a pixel, in base 64
    assert len(page.encode()) < 80_000 + 100 * frames + 700 * min(frames, 300) + matrix


def test_figures_follow_the_alignment_of_the_last_evaluation(run):
    evaluate_run(FinishedRun.load(run.folder), "planar").save(run.folder.errors)
    aligned = ReportedRun.load(run.folder.path)
    assert aligned.errors.alignment == "planar"
    errors = aligned.sequences[0].errors(aligned.sequences[0].apr)
    rmse = float((errors.values[errors.known] ** 2).mean() ** 0.5)
    assert rmse == pytest.approx(night(aligned).apr.rmse)
    assert rmse < night(run).apr.rmse
    run.errors.save(run.folder.errors)


@pytest.fixture
def altered(run, tmp_path):
    """The run with an ellipse of 3 m × 1 m per σ at every frame, and the stamps of frames 5 and 6 exchanged."""
    folder = RunFolder(shutil.copytree(run.folder.path, tmp_path / "altered"))
    table = list(csv.DictReader(folder.estimates("night").read_text().splitlines()))
    for row in table:
        row.update(cov_xx="1.0", cov_xy="0.0", cov_yy="9.0")
    table[5]["stamp_ns"], table[6]["stamp_ns"] = table[6]["stamp_ns"], table[5]["stamp_ns"]
    with folder.estimates("night").open("w") as stream:
        writer = csv.DictWriter(stream, table[0])
        writer.writeheader()
        writer.writerows(table)
    recording = Recording.load(folder.percepts("night"))
    stamps = recording.stamps
    stamps[[5, 6]] = stamps[[6, 5]]
    percepts = tuple(replace(p, stamp=stamp) for p, stamp in zip(recording.percepts, stamps.tolist(), strict=True))
    replace(recording, percepts=percepts).save(folder.percepts("night"))
    stated = json.loads(folder.provenance.read_text())
    folder.provenance.write_text(json.dumps(stated | {"made_from": None}))
    return ReportedRun.load(folder.path)


def test_the_band_is_the_longest_semi_axis_of_the_95_percent_ellipse(altered):
    np.testing.assert_allclose(altered.sequences[0].semi_axes, 3 * np.sqrt(CHI2_95))


def test_time_on_the_axis_never_runs_back(altered):
    assert np.diff(altered.sequences[0].seconds).min() == 0


def test_the_evidence_of_a_frame_is_its_row_of_the_table(run):
    sequence = run.sequences[0]
    rows = list(csv.DictReader(run.folder.estimates("night").read_text().splitlines()))
    assert sequence.table.stamps.tolist() == [int(row["stamp_ns"]) for row in rows]
    assert sequence.table.reasons == tuple(row["reason"] for row in rows)
    columns = {
        "reference": sequence.table.references,
        "similarity": sequence.table.similarities,
        "score": sequence.table.scores,
        "leverage": sequence.table.leverages,
        "support": sequence.table.supports,
        "margin": sequence.table.margins,
        "confidence": sequence.table.confidences,
        "innovation": sequence.table.innovations,
    }
    for name, column in columns.items():
        told = [float(row[name]) if row[name] else None for row in rows]
        assert [value if known else None for value, known in zip(column.values, column.known, strict=True)] == told


def test_a_frame_is_misled_if_the_gates_believed_what_lies_beyond_ten_metres(run):
    sequence = run.sequences[0]
    moved = sequence.table.reference_positions.values.copy()
    moved[::7] += 10.1 + np.linalg.norm(moved[::7] - sequence.truth.values[::7], axis=1, keepdims=True)
    wrong = retold(sequence, reference_positions=replace(sequence.table.reference_positions, values=moved))
    expected = [
        reason in ("accepted", "relocalized") and np.hypot(*(found - true)) > 10
        for reason, found, true in zip(sequence.table.reasons, moved, sequence.truth.values, strict=True)
    ]
    assert any(expected)
    assert wrong.misled.tolist() == expected


def test_the_memory_of_the_map_comes_with_the_run(run):
    positions = dict(zip(run.memory.frames.tolist(), run.memory.positions.tolist(), strict=True))
    sequence = run.sequences[0]
    for row in np.flatnonzero(sequence.table.references.known).tolist():
        assert (
            positions[sequence.table.references.values[row]] == sequence.table.reference_positions.values[row].tolist()
        )


def test_the_reference_is_drawn_in_the_order_it_was_driven(run):
    (reference,) = run.references
    assert np.diff(reference.seconds).min() > 0
