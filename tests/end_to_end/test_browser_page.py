"""The rest of the page in a real browser: without truth, played, zoomed, its words, several runs, on a phone."""

import re
from dataclasses import replace

import numpy as np
import pytest

from browsing import card, data_of, hover, number_of, press, written
from tmapr.config import changed
from tmapr.reports.page.page import render_page


def without_truth(filmed):
    """The same run, as if nobody knew where it drove."""
    (drive,) = filmed.sequences
    unknown = np.zeros(len(drive.table.stamps), dtype=bool)
    recording = replace(drive.trial.recording, known=unknown, truth=np.full_like(drive.trial.recording.truth, np.nan))
    blind = replace(drive, figures=None, trial=replace(drive.trial, recording=recording))
    return replace(filmed, sequences=(blind,), errors=filmed.errors.model_copy(update={"test": {}}))


@pytest.mark.parametrize("width", [1280, 400])
def test_a_page_without_truth_shows_every_frame_with_its_match_its_belief_and_its_ellipse(
    browser, filmed, tmp_path, width
):
    path = written(tmp_path / "blind.html", render_page([without_truth(filmed)]))
    frames, pictures = data_of(path)
    browser.open(path, width=width)
    assert browser.complaints() == []
    number = next(number for number in range(40, len(frames)) if frames[number]["match_picture"] is not None)
    hover(browser, ".strip", (frames[number]["moment"], 100))
    shown = card(browser)
    frame = frames[number_of(frames, shown["titles"][0])]
    assert abs(number_of(frames, frame["title"]) - number) <= 2
    assert shown["sources"][0] == pictures[frame["picture"]]
    assert (frame["truth"], frame["error"]) == (None, None)
    assert not any(re.search("error|truth", name) for name in shown["text"].splitlines())
    drawn = browser.js(
        "['ellipse', 'here', 'likely', 'gap'].map((role) => document.querySelector(`.map .marker .${role}`)"
        ".getAttribute('d') !== '')"
    )
    assert drawn == [True, True, True, False]
    assert browser.complaints() == []


MEANING = """(() => {
  const tip = document.getElementById("meaning");
  const {left, right, top, bottom} = tip.getBoundingClientRect();
  const inside = left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
  return {shown: tip.checkVisibility(), text: tip.textContent, inside};
})()"""


@pytest.mark.parametrize("width", [1280, 400])
def test_a_word_tells_its_meaning_on_hover_on_focus_and_when_tapped(browser, report, width):
    browser.open(report, width=width)
    word = "document.querySelector('.tables a.term[href=\"#term-rmse\"]')"
    expected = browser.js("document.querySelector('#term-rmse + dd').textContent")
    assert "RMSE" in expected
    assert not browser.js(MEANING)["shown"]
    browser.js(f"{word}.focus()")
    assert browser.js(MEANING) == {"shown": True, "text": expected, "inside": True}
    assert browser.js(f"{word}.getAttribute('aria-describedby')") == "meaning"
    press(browser, "Escape")
    assert not browser.js(MEANING)["shown"]
    browser.js(f"{word}.blur()")
    x, y = browser.js(f"(() => {{ const {{left, top}} = {word}.getClientRects()[0]; return [left + 4, top + 4]; }})()")
    browser("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert browser.js(MEANING) == {"shown": True, "text": expected, "inside": True}
    browser("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y - 200)
    assert not browser.js(MEANING)["shown"]
    browser("Emulation.setTouchEmulationEnabled", enabled=True)
    browser("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    browser("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    browser("Emulation.setTouchEmulationEnabled", enabled=False)
    assert browser.js(MEANING)["shown"]
    assert browser.js("location.hash") == ""
    assert browser.complaints() == []


def test_without_a_script_a_word_leads_to_the_list_which_opens(browser, report):
    browser("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(report)
    browser("Page.navigate", url=f"{report.as_uri()}#term-rmse")
    shown = browser.js("document.querySelector('#term-rmse + dd').checkVisibility()")
    browser("Emulation.setScriptExecutionDisabled", value=False)
    assert shown


@pytest.mark.parametrize("width", [1280, 400])
def test_several_runs_share_a_map_with_a_key_each(browser, filmed, tmp_path, width):
    others = [replace(filmed, experiment=changed(filmed.experiment, {"name": name})) for name in ("second", "third")]
    blind = without_truth(others[1])
    path = written(tmp_path / "several.html", render_page([filmed, others[0], blind]))
    browser.open(path, width=width)
    assert browser.complaints() == []
    first = browser.js("document.querySelector('figure').closest('.overview') !== null")
    keys = browser.js("[...document.querySelectorAll('.overview .keys button')].map((key) => key.textContent)")
    assert (first, keys) == (True, ["mapped route", "truth", "block", "second", "third"])
    shown = (
        """[...document.querySelectorAll(".overview [data-layer]")].map((layer) => getComputedStyle(layer).display)"""
    )
    assert browser.js(shown) == ["inline"] * 5
    browser.js("document.querySelectorAll('.overview .keys button')[3].click()")
    assert browser.js(shown) == ["inline", "inline", "inline", "none", "inline"]
    colours = browser.js(
        "[...document.querySelectorAll('.overview .window .track:not(.unsure)')].map((e) => getComputedStyle(e).stroke)"
    )
    assert len(set(colours)) == 3
    browser.js("document.querySelector('.overview [data-zoom=in]').click()")
    box = browser.js("document.querySelector('.overview .window').getAttribute('viewBox').split(' ').map(Number)")
    assert box[2] == pytest.approx(browser.js("document.querySelector('.overview .window').width.baseVal.value") / 2)
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_scrolls_sideways_but_tables_and_every_word_of_a_figure_can_be_read(browser, filmed, tmp_path, width):
    other = replace(filmed, experiment=changed(filmed.experiment, {"name": "other" * 12}))
    for number, runs in enumerate([[filmed], [without_truth(filmed)], [filmed, other]]):
        browser.open(written(tmp_path / f"{number}.html", render_page(runs)), width=width)
        assert browser.js("document.documentElement.scrollWidth") <= width
        wider = browser.js(
            "[...document.querySelectorAll('main *')].filter((e) => e.scrollWidth > e.clientWidth + 1 &&"
            " ['auto', 'scroll'].includes(getComputedStyle(e).overflowX)).map((e) => e.className || e.tagName)"
        )
        assert set(wider) <= {"table", "PRE"}
        sizes = browser.js(
            "[...document.querySelectorAll('.plot text')].filter((e) => e.checkVisibility()).map((text) =>"
            " parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.getScreenCTM().a)"
        )
        assert min(sizes) > 8.5


def test_the_card_lies_beside_the_map_on_a_wide_screen_and_under_it_on_a_narrow_one(browser, report):
    edges = """[".map .plot", ".card"].map((part) => {
      const box = document.querySelector(part).getBoundingClientRect();
      return {left: box.left, right: box.right, top: box.top, bottom: box.bottom};
    })"""
    browser.open(report, width=1280)
    drawn, card_beside = browser.js(edges)
    assert card_beside["left"] >= drawn["right"]
    browser.open(report, width=400)
    drawn, card_beneath = browser.js(edges)
    assert card_beneath["top"] >= drawn["bottom"]


def test_on_a_phone_what_is_pressed_is_as_large_as_a_finger_needs(browser, report):
    browser.open(report, width=400)
    sizes = browser.js(
        "[...document.querySelectorAll('button, .show, input')].filter((e) => e.checkVisibility()).map((e) => {"
        " const {width, height} = e.getBoundingClientRect(); return [width, height]; })"
    )
    assert len(sizes) > 20
    assert min(side for size in sizes for side in size) >= 32


@pytest.mark.parametrize("width", [1280, 400])
def test_the_map_comes_before_the_numbers_and_those_before_the_small_figures(browser, report, width):
    browser.open(report, width=width)
    tops = browser.js(
        "['h1', '.result', '.map .plot', '.worst', '.tables', '.way', '.figures', '.glossary'].map((part) =>"
        " document.querySelector(part).getBoundingClientRect().top)"
    )
    assert tops == sorted(tops)
    assert browser.js("document.querySelector('.map .plot').getBoundingClientRect().top") < 600


def test_every_figure_has_a_heading_of_its_own(browser, report):
    browser.open(report)
    bare = browser.js(
        "[...document.querySelectorAll('figure')].filter((e) => e.querySelector(':scope > .plot') &&"
        " !e.matches('.map') && !e.querySelector('h3, h4')).length"
    )
    assert bare == 0
    assert browser.js("document.querySelectorAll('figure > h3').length") == 11
