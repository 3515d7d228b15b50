"""The page of a run: complete, self-contained, its numbers those of errors.json, and deaf to what names contain."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from drives import retold
from tmapr.config import changed
from tmapr.experiment import Experiment
from tmapr.reports.figures.runs_map import NamedRun
from tmapr.reports.page.findings import describe_findings
from tmapr.reports.page.glossary import TERMS
from tmapr.reports.page.overview import group_runs, share_ground
from tmapr.reports.page.page import render_page, tabulate_changes
from tmapr.reports.reported import ReportedRun, label_runs
from tmapr.reports.tables.errors import tabulate_runs
from tmapr.running.evaluating import evaluate_run
from tmapr.running.finished import FinishedRun
from tmapr.types import CoordinateFrame, Status

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;"
JUDGED = ("Error over time", "Error along", "Confidence against", "Reliability", "Similarity on", "Precision", "Jumps")


@pytest.fixture(scope="module")
def page(street):
    """As the command wrote it."""
    return (street / "runs/street/report/index.html").read_text()


@pytest.fixture(scope="module")
def blind_page(blind):
    return render_page([blind])


def night(run):
    return run.errors.test["night"]


def parsed(text):
    return ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))


def words(text):
    return " ".join(" ".join(parsed(text).itertext()).split())


def titles(text):
    return [svg.find("{*}title").text for svg in parsed(text).findall(".//figure/div[@class='plot']/{*}svg")]


def renamed(run, name):
    return replace(run, experiment=changed(run.experiment, {"name": name}))


class Balance(HTMLParser):
    """Every element is closed in the order in which it was opened."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_balanced_and_needs_nothing_beside_itself(page):
    found = Balance(page)
    assert not {"iframe", "object", "use", "base"} & set(found.tags)
    inside = {f"#{value}" for name, value in found.attributes if name == "id"}
    links = [value for name, value in found.attributes if name in ("src", "href", "xlink:href", "srcset")]
    kinds = {link.partition(",")[0] for link in links if link not in inside}
    assert kinds <= {"data:", "data:image/png;base64", "data:image/jpeg;base64"}
    assert not re.search(r"url\(|@import", page)


def test_no_script_may_run_but_the_one_whose_hash_the_policy_names(page):
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    metas = parsed(page).iter("meta")
    (policy,) = [meta.get("content") for meta in metas if meta.get("http-equiv") == "Content-Security-Policy"]
    assert dict(rule.strip().split(" ", 1) for rule in policy.split(";")) == {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": "'unsafe-inline'",
        "script-src": f"'sha256-{digest}'",
    }


def test_names_from_files_are_text_and_never_markup(run, page):
    named = {"data.root": HOSTILE, "data.reference": f"{HOSTILE} 2", "data.test": [HOSTILE]}
    hostile = replace(
        run,
        experiment=changed(run.experiment, named),
        provenance=run.provenance.model_copy(update={"labels": HOSTILE, "tmapr": HOSTILE}),
        errors=run.errors.model_copy(update={"test": {HOSTILE: night(run)}, "labels": HOSTILE}),
        sequences=(replace(run.sequences[0], name=HOSTILE),),
    )
    text = render_page([hostile])
    found = Balance(text)
    assert set(found.tags) <= set(Balance(page).tags)
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert words(text).count("<script>alert(1)</script>") >= 5


def test_the_numbers_of_the_page_are_those_of_errors_json(street, page):
    saved = json.loads((street / "runs/street/errors.json").read_text())["test"]["night"]
    text = words(page)
    for track in ("retrieval", "fused"):
        assert " ".join(f"{saved[track][key]:.2f}" for key in ("rmse", "mean", "median")) in text
    assert " ".join(f"{saved['loops'][key]:.3f}" for key in ("precision", "recall", "f1")) in text
    assert f"{saved['nees']['mean']:.2f} {saved['nees']['coverage95']:.3f}" in text
    assert f"{saved['step_ms']['p95']:.2f}" in text
    assert " ".join(f"{saved['loops']['recall_at'][rank]:.3f}" for rank in ("1", "5", "10")) in text
    assert f"{saved['ape']['rmse']:.2f}" in text
    assert f"{100 * saved['status']['localized'] / saved['frames']:.1f} % of {saved['frames']} frames" in text


def test_the_comparison_keeps_unrounded_numbers_in_json(run):
    (row,) = json.loads(tabulate_runs([run]).json())["rows"]
    assert row["fused_rmse"] == night(run).fused.rmse
    assert row["localized"] == 100 * night(run).status["localized"] / night(run).frames


def test_the_page_says_what_was_run(run, page):
    facts = [entry.text for entry in parsed(page).find("body/main/section/dl")]
    told = dict(zip(facts[::2], facts[1::2], strict=True))
    assert (told["reference"], told["tested on"]) == ("noon", "night")
    assert (told["labels while testing"], told["alignment"]) == ("off", "none")
    assert (told["settings"], told["tmapr"]) == (run.errors.settings_sha256[:12], run.provenance.tmapr)


def test_wrong_frames_are_counted_in_the_first_sentence_and_only_claims_with_a_known_truth_are_judged(run):
    (drive,) = run.sequences
    wrong = drive.figures.decisions.model_copy(update={"wrong": 7})
    assert "on 7 frames" in describe_findings(
        replace(drive, figures=drive.figures.model_copy(update={"decisions": wrong}))
    )
    known = np.arange(70) < 30
    some = replace(drive, trial=replace(drive.trial, recording=replace(drive.trial.recording, known=known)))
    half, most = np.quantile(drive.errors(drive.fused).values[drive.trial.localized & known], (0.5, 0.95))
    for figure in (f"{half:.2f} m in the median", f"{most:.2f} m or less", "30 of 70 frames have a known position"):
        assert figure in describe_findings(some)
    never = describe_findings(retold(drive, statuses=(Status.LOST,) * 70))
    assert "on 0.0 % of 70 frames" in never
    assert "median" not in never


@pytest.mark.parametrize(
    ("stated", "warned"), [({"alignment": "apr-oracle"}, "ORACLE"), ({"labels": "truth+120"}, "upper bound")]
)
def test_what_saw_the_truth_is_called_so(run, page, stated, warned):
    cheated = replace(run, errors=run.errors.model_copy(update=stated))
    (warning,) = parsed(render_page([cheated])).findall(".//p[@class='warning']")
    assert warned in warning.text
    assert warned not in page


def test_only_settings_that_differ_are_listed_and_all_are_in_the_toml(run, page):
    listed = {row[0]: row[1:3] for row in tabulate_changes(run.experiment).rows}
    assert listed["places.projection.dimension"][0] == "64"
    assert "places.cell" not in listed
    assert "cell = " in parsed(page).find(".//details/pre").text
    assert tabulate_changes(Experiment()).rows == ()


def test_every_term_of_the_page_leads_to_its_meaning(page):
    asked = {link.get("href") for link in parsed(page).findall(".//a[@class='term']")}
    entries = [f"#{entry.get('id')}" for entry in parsed(page).findall(".//details[@class='glossary']/dl/dt")]
    assert len(asked) > 30
    assert sorted(entries) == sorted(asked)
    assert all(entry.meaning for entry in TERMS.values())


def test_figures_follow_the_alignment_of_the_last_evaluation(street_copy, run):
    folder = run.folder.__class__(street_copy / "runs/street")
    evaluate_run(FinishedRun.load(folder), "planar").save(folder.errors)
    aligned = ReportedRun.load(folder.path)
    errors = aligned.sequences[0].errors(aligned.sequences[0].fused).values
    assert aligned.errors.alignment == "planar"
    assert np.sqrt((errors**2).mean()) == pytest.approx(night(aligned).fused.rmse)
    assert night(aligned).fused.rmse < night(run).fused.rmse


def visible(root):
    """The words of the page, without scripts and styles, and without what is folded: settings and meanings."""
    if root.tag in ("script", "style", "details"):
        return ""
    return " ".join([root.text or "", *(f"{visible(child)} {child.tail or ''}" for child in root)])


def test_without_truth_no_figure_needs_it_and_nothing_speaks_of_it(page, blind_page):
    told, unknown = titles(page), titles(blind_page)
    assert [title for title in told if not title.startswith(JUDGED)] == [
        title.replace("Stated uncertainty", "Error") if title.startswith("Stated") else title
        for title in unknown
        if not title.startswith("Stated")
    ]
    shown = visible(parsed(blind_page).find("body"))
    assert not re.search(r"\btruth\b|\btrue\b|\berrors?\b|\bwrong\b|WRONG|\bnan\b", shown)
    assert "least certain frames" in shown


def test_without_truth_no_fact_of_a_card_is_an_error(page, blind_page):
    def facts(text):
        return {" ".join(name.itertext()) for name in parsed(text).findall(".//section[@class='card']/dl/dt")}

    assert facts(page) - facts(blind_page) == {"error", "error of the match"}
    assert facts(blind_page) < facts(page)


def test_the_comparison_has_nothing_for_what_nobody_knows_and_the_rest_as_it_is(run, blind):
    (known,), (missing,) = (json.loads(tabulate_runs([each]).json())["rows"] for each in (run, blind))
    judged = {"apr_rmse", "retrieval_rmse", "fused_rmse", "fused_median", "fused_jumps", "precision", "recall", "f1"}
    assert {key for key, value in missing.items() if value is None} == judged | {"coverage95"}
    assert {key for key in known if key != "localized" and known[key] != missing[key]} <= judged | {"coverage95"}
    assert missing["localized"] == pytest.approx(known["localized"])


def test_several_runs_are_compared_first_and_then_shown_each(run, blind):
    root = parsed(render_page([run, renamed(blind, "other")]))
    rows = root.findall(".//div[@class='compared']//tbody/tr")
    assert [row.find("th").text for row in rows] == ["street", "other"]
    assert [heading.text for heading in root.findall(".//h2")][1:] == ["street", "other"]
    targets = {f"#{heading.get('id')}" for heading in root.findall(".//h2[@id]")}
    assert targets == {link.get("href") for link in root.findall(".//ul[@class='result']//a")}
    assert label_runs([run, run]) == [str(run.folder.path)] * 2


def moved(run, metres):
    return replace(run, memory=replace(run.memory, positions=run.memory.positions + metres))


def framed(run, **frame):
    return replace(run, errors=run.errors.model_copy(update={"frame": CoordinateFrame(**frame)}))


def test_runs_share_a_map_where_their_coordinates_are_of_one_place(run):
    local, grid = framed(run), framed(run, kind="utm", zone="52N")
    elsewhere = {"data.root": "elsewhere"}
    copied = replace(local, experiment=changed(run.experiment, elsewhere))
    assert share_ground(local, moved(local, 20.0))
    assert share_ground(local, copied)
    assert not share_ground(local, moved(copied, 25.0))
    assert not share_ground(local, grid)
    assert not share_ground(grid, framed(run, kind="utm", zone="51N"))
    assert not share_ground(grid, moved(grid, 5000.0))
    runs = [NamedRun(str(n), n, moved(run, metres)) for n, metres in enumerate((0.0, 5000.0, 0.0, 5010.0))]
    assert [[each.number for each in group] for group in group_runs(runs)] == [[0, 2], [1, 3]]
