"""The explorer in a real browser, driven through its own debugging pipe: pointing, keys, fingers, no complaints."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from browsing import card, data_of, hover, number_of, on_screen, press, seen_title, written
from drives import retold
from tmapr.config import changed
from tmapr.reports.page.page import render_page

HOSTILE = '</script><script>window.harmed=true</script><img src="x" onerror="window.harmed=true">&]]>'


def test_the_page_loads_without_a_network_and_without_a_complaint(browser, report):
    browser.open(report)
    assert browser.complaints() == []
    asked = {event["request"]["url"].split(":")[0] for event in browser.happened("Network.requestWillBeSent")}
    assert asked <= {"file", "data"}


def test_a_script_that_is_not_the_pages_own_is_refused_and_that_is_noticed(browser, report, tmp_path):
    changed = written(tmp_path / "changed.html", report.read_text().replace('"use strict";', '"use strict"; '))
    browser.open(changed)
    assert any("Content Security Policy" in line for line in browser.complaints())
    assert not card(browser)["shown"]


@pytest.mark.parametrize("plot", [".map", ".strip"])
def test_pointing_at_a_frame_shows_its_image_its_match_and_its_verdict(browser, report, plot):
    frames, pictures = data_of(report)
    frame = next(frame for frame in frames[len(frames) // 3 :] if frame["match_picture"] is not None)
    browser.open(report)
    hover(browser, plot, frame["fused"] if plot == ".map" else (frame["moment"], 100))
    shown = card(browser)
    assert shown["shown"]
    assert shown["titles"] == [frame["title"], frame["match_title"]]
    assert shown["sources"] == [pictures[frame["picture"]], pictures[frame["match_picture"]]]
    assert shown["widths"] == [80, 80]
    assert shown["verdict"] == frame["verdict"]
    assert shown["facts"] == frame["facts"]


def test_the_frame_that_is_shown_is_marked_on_both_drawings(browser, report):
    frames, _ = data_of(report)
    frame = frames[20]
    browser.open(report)
    hover(browser, ".map", frame["fused"])
    marks = browser.js(
        "['.map', '.strip'].map((plot) => { const box = document.querySelector(`${plot} .marker .here`).getBBox();"
        " return [box.x, box.y]; })"
    )
    assert marks == [pytest.approx(frame["fused"], abs=0.1), pytest.approx((frame["moment"], frame["error"]), abs=0.1)]


def belief_of(path):
    """What the page holds of the belief."""
    (block, _) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', path.read_text())
    return json.loads(block)["belief"]


SEEN = """(() => {
  const path = (mark) => document.querySelector(mark).getAttribute("d");
  const all = (part) => [...document.querySelectorAll(part)];
  return {
    bars: path(".route .marker .mass").split("M").slice(1), truth: path(".route .marker .true").split("M").length - 1,
    dots: path(".map .marker .likely").split("M").length - 1,
    cursor: document.querySelector(".certainty .cursor").getBBox().x,
    told: all(".shares output").map((part) => part.innerText), levels: all(".shares meter").map((part) => part.value),
    visible: document.querySelector(".belief").checkVisibility(),
  };
})()"""


def expect_belief(browser, path, number):
    """That the parts of the belief show the frame of this number."""
    frames, _ = data_of(path)
    belief = belief_of(path)
    frame, seen = belief["frames"][number], browser.js(SEEN)
    view = belief["views"][frame["view"]]
    bottom = belief["span"][1]
    bars = [
        (belief["references"][reference][0], height) for reference, height in zip(view[::2], view[1::2], strict=True)
    ]
    drawn = [tuple(map(float, re.fullmatch(rf"(.*) {bottom:g}v-(.*)", bar).groups())) for bar in seen["bars"]]
    assert drawn == [pytest.approx(bar) for bar in bars]
    assert (seen["dots"], seen["truth"]) == (len(bars), len(frame["truth"]))
    assert seen["cursor"] == pytest.approx(frames[number]["moment"], abs=0.1)
    assert seen["told"] == frame["told"]
    assert seen["levels"] == [pytest.approx(float(words.split()[0])) for words in frame["told"]]
    assert seen["visible"]


@pytest.mark.parametrize("width", [1280, 400])
def test_the_belief_follows_keys_and_pointing(browser, report, width):
    frames, _ = data_of(report)
    browser.open(report, width=width)
    browser.js("document.querySelector('.steps input').focus()")
    press(browser, "Home")
    expect_belief(browser, report, 0)
    press(browser, "ArrowRight", times=30)
    expect_belief(browser, report, 30)
    press(browser, "End")
    expect_belief(browser, report, len(frames) - 1)
    # A frame apart from its neighbours, which a whole pixel of the window tells from them.
    moments = [frame["moment"] for frame in frames]
    lonely = int(np.argmax(np.minimum(np.diff(moments[:-1]), np.diff(moments[1:])))) + 1
    hover(browser, ".map", frames[lonely]["fused"])
    titles = [frame["title"] for frame in frames]
    expect_belief(browser, report, titles.index(card(browser)["titles"][0]))
    assert browser.complaints() == []


def test_pointing_at_the_certainty_shows_the_frame_of_that_moment(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    hover(browser, ".certainty", (frames[40]["moment"], 60))
    number = number_of(frames, seen_title(browser))
    assert abs(number - 40) <= 1
    expect_belief(browser, report, number)


def test_the_strip_lies_under_the_slider_and_is_as_wide_as_the_screen_allows(browser, report):
    edges = """[".steps", ".route svg", ".strip .plot"].map((part) => {
      const box = document.querySelector(part).getBoundingClientRect();
      return [box.left, box.right, box.top, box.bottom];
    })"""
    for width in (1280, 400):
        browser.open(report, width=width)
        slider, strip, errors = browser.js(edges)
        assert slider[3] <= strip[2] < strip[3] <= errors[2]
        assert 0 <= strip[0] < strip[1] <= width


def test_a_run_without_a_belief_has_a_page_without_one(browser, filmed, tmp_path):
    drive = filmed.sequences[0]
    plain = replace(filmed, sequences=(replace(drive, trial=replace(drive.trial, beliefs=None)),))
    path = written(tmp_path / "plain.html", render_page([plain]))
    frames, _ = data_of(path)
    browser.open(path)
    browser.js("document.querySelector('.steps input').focus()")
    press(browser, "Home")
    press(browser, "ArrowRight", times=3)
    assert card(browser)["titles"][0] == frames[3]["title"]
    assert browser.js("document.querySelectorAll('.belief, .certainty, .likely').length") == 0
    assert browser.complaints() == []


def test_a_wrong_match_that_was_accepted_is_drawn_in_the_colour_of_warnings(browser, filmed, tmp_path):
    drive = filmed.sequences[0]
    row = int(np.flatnonzero(drive.accepted)[0])
    elsewhere = np.where(drive.truth.known[:, None], drive.truth.values, 0.0)
    elsewhere[row] += 25.0
    misled = retold(drive, reference_positions=replace(drive.table.reference_positions, values=elsewhere))
    path = written(tmp_path / "misled.html", render_page([replace(filmed, sequences=(misled,))]))
    frames, _ = data_of(path)
    (wrong,) = [frame for frame in frames if frame["wrong"]]
    browser.open(path)
    hover(browser, ".strip", (wrong["moment"], 100))
    line, border, verdict, width, height = browser.js("""(() => {
      const line = document.querySelector(".map [data-layer=wrong] .line"), box = line.getBBox();
      const [drawn, card, said] = [line, document.querySelector(".card"), document.querySelector(".verdict")].map(
        (part) => getComputedStyle(part));
      return [drawn.stroke, card.borderTopColor, said.color, box.width, box.height];
    })()""")
    assert line == border == verdict == "rgb(200, 65, 11)"
    assert (width, height) == pytest.approx(np.abs(np.subtract(wrong["match"], wrong["truth"])), abs=0.2)
    assert "WRONG" in card(browser)["verdict"]


def test_arrow_keys_step_through_the_frames(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    keys, zoom = browser.js(
        "['.map .keys button', '.zoom button'].map((each) => document.querySelectorAll(each).length)"
    )
    press(browser, "Tab", times=keys + zoom + 2)
    press(browser, "Home")
    press(browser, "ArrowRight", times=3)
    assert card(browser)["titles"][0] == frames[3]["title"]
    press(browser, "ArrowLeft")
    assert card(browser)["verdict"] == frames[2]["verdict"]
    assert card(browser)["facts"] == frames[2]["facts"]
    press(browser, "End")
    assert card(browser)["titles"][0] == frames[-1]["title"]
    assert browser.js("document.querySelector('.steps input').getAttribute('aria-valuetext')").startswith(
        frames[-1]["title"]
    )


def test_a_click_on_the_map_hands_the_arrow_keys_over(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    x, y = on_screen(browser, ".strip", (frames[10]["moment"], 100))
    for kind in ("mousePressed", "mouseReleased"):
        browser("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    titles = [frame["title"] for frame in frames]
    clicked = titles.index(card(browser)["titles"][0])
    assert abs(clicked - 10) <= 1  # a click's place is a whole pixel
    press(browser, "ArrowRight")
    assert card(browser)["titles"][0] == titles[clicked + 1]


def test_a_tap_shows_a_frame(browser, report):
    frames, _ = data_of(report)
    browser.open(report, width=400)
    browser("Emulation.setTouchEmulationEnabled", enabled=True)
    x, y = on_screen(browser, ".map", frames[15]["fused"])
    browser("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    browser("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    browser("Emulation.setTouchEmulationEnabled", enabled=False)
    # A finger's place is a whole pixel, and the next frame is hardly farther.
    assert card(browser)["titles"][0] in [frame["title"] for frame in frames[14:17]]


def test_each_key_takes_its_layer_away_and_brings_it_back(browser, report):
    browser.open(report)
    state = """[...document.querySelectorAll("[data-switch]")].map((key) => {
      const pressed = key.getAttribute("aria-pressed") === "true";
      key.click();
      const layer = key.closest("figure").querySelector(`[data-layer="${key.dataset.switch}"]`);
      return [pressed, getComputedStyle(layer).display];
    })"""
    once, again = browser.js(state), browser.js(state)
    assert len(once) >= 7
    assert [display for _, display in once] == ["none" if pressed else "inline" for pressed, _ in once]
    assert [display for _, display in again] == ["inline" if pressed else "none" for pressed, _ in once]
    # Only the errors as colours wait to be asked for.
    assert [pressed for pressed, _ in once].count(False) == 1


def test_without_scripts_the_figures_and_the_sampled_frames_remain(browser, report):
    browser("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(report)
    seen = browser.js(
        "[document.querySelector('.card').checkVisibility(), [...document.querySelectorAll('.sampled img')].filter("
        "(e) => e.naturalWidth === 80 && e.checkVisibility()).length, document.querySelectorAll('.plot > svg').length]"
    )
    browser("Emulation.setScriptExecutionDisabled", value=False)
    assert seen == [False, 8, 12]


def test_a_name_cannot_become_a_script(browser, filmed, tmp_path):
    errors = filmed.errors.model_copy(update={"test": {HOSTILE: filmed.errors.test["night"]}})
    hostile = replace(filmed, errors=errors, sequences=(replace(filmed.sequences[0], name=HOSTILE),))
    browser.open(written(tmp_path / "hostile.html", render_page([hostile])))
    assert browser.complaints() == []
    assert browser.js("window.harmed") is None
    assert card(browser)["titles"][0].endswith(f"of {HOSTILE}")


def test_a_frame_without_an_image_still_has_its_card(browser, filmed, tmp_path):
    blind = replace(filmed, experiment=changed(filmed.experiment, {"data.root": str(tmp_path / "nowhere")}))
    path = written(tmp_path / "blind.html", render_page([blind]))
    frames, _ = data_of(path)
    browser.open(path)
    hover(browser, ".map", frames[9]["fused"])
    shown = card(browser)
    assert shown["text"].count("no image") == 2
    assert shown["facts"] == frames[9]["facts"]
    assert browser.complaints() == []
