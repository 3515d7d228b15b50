"""The explorer in a real browser, driven through its own debugging pipe: pointing, keys, fingers, no complaints."""

from dataclasses import replace

import pytest

from browsing import card, data_of, hover, number_of, on_screen, press, written
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
    frame = frames[25]
    browser.open(report)
    hover(browser, plot, frame["fused"] if plot == ".map" else (frame["moment"], 100))
    shown = card(browser)
    frame = frames[number_of(frames, shown["titles"][0])]
    assert abs(number_of(frames, frame["title"]) - 25) <= 1  # the pointer's place is a whole pixel
    assert shown["shown"]
    assert shown["titles"] == [frame["title"], frame["match_title"]]
    assert shown["sources"] == [pictures[frame["picture"]], pictures[frame["match_picture"]]]
    assert shown["widths"] == [160, 160]
    assert shown["verdict"] == frame["verdict"]
    assert shown["facts"] == frame["facts"]


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


def test_without_scripts_the_figures_and_the_sampled_frames_remain(browser, report):
    browser("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(report)
    seen = browser.js(
        "[document.querySelector('.card').checkVisibility(), [...document.querySelectorAll('.sampled img')].filter("
        "(e) => e.naturalWidth === 160 && e.checkVisibility()).length, document.querySelectorAll('.plot > svg').length]"
    )
    browser("Emulation.setScriptExecutionDisabled", value=False)
    assert seen[0] is False
    assert seen[1] > 0
    assert seen[2] > 8


def test_a_name_cannot_become_a_script(browser, filmed, tmp_path):
    errors = filmed.errors.model_copy(update={"test": {HOSTILE: filmed.errors.test["night"]}})
    hostile = replace(filmed, errors=errors, sequences=(replace(filmed.sequences[0], name=HOSTILE),))
    browser.open(written(tmp_path / "hostile.html", render_page([hostile])))
    assert browser.complaints() == []
    assert browser.js("window.harmed") is None
    assert card(browser)["titles"][0].endswith(f"of {HOSTILE}")
