"""The rest of the page in a real browser: without truth, its words, several runs, on a phone."""

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
    number = 40
    hover(browser, ".strip", (frames[number]["moment"], 100))
    shown = card(browser)
    frame = frames[number_of(frames, shown["titles"][0])]
    assert abs(number_of(frames, frame["title"]) - number) <= 2
    assert shown["sources"][0] == pictures[frame["picture"]]
    assert (frame["truth"], frame["error"]) == (None, None)
    assert not any(re.search("error|truth", name) for name in shown["text"].splitlines())
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


@pytest.mark.parametrize("width", [1280, 400])
def test_several_runs_share_a_map_with_a_key_each(browser, filmed, tmp_path, width):
    others = [replace(filmed, experiment=changed(filmed.experiment, {"name": name})) for name in ("second", "third")]
    blind = without_truth(others[1])
    path = written(tmp_path / "several.html", render_page([filmed, others[0], blind]))
    browser.open(path, width=width)
    assert browser.complaints() == []
    first = browser.js("document.querySelector('figure').closest('.overview') !== null")
    keys = browser.js("[...document.querySelectorAll('.overview .keys button')].map((key) => key.textContent)")
    assert (first, keys) == (True, ["mapped route", "truth", "street", "second", "third"])
    shown = (
        """[...document.querySelectorAll(".overview [data-layer]")].map((layer) => getComputedStyle(layer).display)"""
    )
    assert browser.js(shown) == ["inline"] * 5
    browser.js("document.querySelectorAll('.overview .keys button')[3].click()")
    assert browser.js(shown) == ["inline", "inline", "inline", "none", "inline"]
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_scrolls_sideways_but_tables(browser, filmed, tmp_path, width):
    other = replace(filmed, experiment=changed(filmed.experiment, {"name": "other" * 12}))
    for number, runs in enumerate([[filmed], [without_truth(filmed)], [filmed, other]]):
        browser.open(written(tmp_path / f"{number}.html", render_page(runs)), width=width)
        assert browser.js("document.documentElement.scrollWidth") <= width
        wider = browser.js(
            "[...document.querySelectorAll('main *')].filter((e) => e.scrollWidth > e.clientWidth + 1 &&"
            " ['auto', 'scroll'].includes(getComputedStyle(e).overflowX)).map((e) => e.className || e.tagName)"
        )
        assert set(wider) <= {"table", "PRE"}
