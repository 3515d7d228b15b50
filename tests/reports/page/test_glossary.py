"""Words instead of letters: every term leads to its meaning, and no column of the page is left a bare abbreviation."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from made_up import run_block, write_block
from tmapr.config import changed
from tmapr.reports.page.glossary import TERMS, WORDING, render_glossary, term
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun
from tmapr.reports.tables.table import Table, TableColumn

LETTERS = re.compile(r"APR|RMSE|R@\d|\bAP\b|APE|RPE|NEES|NIS|P=1|F1|d-recall|p95")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    return ReportedRun.load(run_block(home).path)


@pytest.fixture(scope="module", params=[1, 2])
def page(run, request):
    other = replace(run, experiment=changed(run.experiment, {"name": "other"}))
    text = render_page([run, other][: request.param])
    return ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))


def test_every_term_leads_to_one_entry_of_the_list_and_every_entry_is_led_to(page):
    asked = {link.get("href") for link in page.findall(".//a[@class='term']")}
    entries = [f"#{entry.get('id')}" for entry in page.findall(".//details[@class='glossary']/dl/dt")]
    assert len(asked) > 30
    assert sorted(entries) == sorted(asked)


def test_no_title_of_a_table_is_letters(page):
    titles = [" ".join(title.itertext()) for title in page.findall(".//th")]
    assert len(titles) > 30
    assert [title for title in titles if LETTERS.search(title)] == []


def test_no_name_on_a_card_and_no_key_is_letters(page):
    names = [" ".join(name.itertext()) for name in [*page.findall(".//section/dl/dt"), *page.iter("button")]]
    assert [name for name in names if LETTERS.search(name)] == []


def test_the_letters_stand_in_the_meaning_so_that_they_can_be_found():
    meanings = " ".join(entry.meaning for entry in TERMS.values())
    for letters in ("APR", "RMSE", "R@1", "APE", "RPE", "NEES", "NIS", "F1"):
        assert letters in meanings


def test_a_term_can_be_told_in_other_words():
    assert term("apr", "the head") == '<a class="term" href="#term-apr">the head</a>'


def test_a_column_of_a_group_keeps_its_name():
    assert ">3: right at first</a>" in WORDING.title(TableColumn("3 recall_at_1", "3: R@1", 3))
    assert ">both in one</a>" in WORDING.title(TableColumn("3 f1", "F1", 3))


def test_names_from_files_are_never_spelled_out():
    table = Table((TableColumn("run", "run"), TableColumn("track", "track")), (("APR", "APR"),))
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", table.html(WORDING).partition("<tbody>")[2])
    assert cells == ["APR", "pose head alone"]


def test_only_what_a_page_uses_is_listed():
    listed = ElementTree.fromstring(render_glossary(term("lost") + term("margin")))
    assert [entry.text for entry in listed.findall("dl/dt")] == ["lost", "margin"]
    assert listed.find("summary").text == "What these words mean"
