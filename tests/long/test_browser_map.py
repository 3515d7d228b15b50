"""Maps in a real browser: played, zoomed, the worst frames on it; and the page of a map alone."""

import json
import re

import pytest

from browsing import card, data_of, press, seen_title

WAIT = """(async () => {
  const slider = document.querySelector(".steps input"), from = slider.value;
  while (slider.value === from) await new Promise((done) => setTimeout(done, 20));
  return Number(slider.value);
})()"""
REST = """(async () => {
  const button = document.querySelector(".play");
  while (button.textContent !== "Play") await new Promise((done) => setTimeout(done, 20));
  return Number(document.querySelector(".steps input").value);
})()"""


def test_play_shows_one_frame_after_the_other_by_keys_alone_and_pauses(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    browser.js("document.querySelector('.play').focus()")
    first = browser.js("Number(document.querySelector('.steps input').value)")
    press(browser, "Enter")
    assert [browser.js(WAIT), browser.js(WAIT)] == [first + 1, first + 2]
    press(browser, "Enter")
    stopped = browser.js(REST)
    assert seen_title(browser) == frames[stopped]["title"]
    assert browser.js("new Promise((done) => setTimeout(done, 400))") is None
    assert browser.js("Number(document.querySelector('.steps input').value)") == stopped


SIGHT = """(() => {
  const pane = document.querySelector(".map .window"), [, , width] = pane.getAttribute("viewBox").split(" ");
  return {zoom: pane.width.baseVal.value / width};
})()"""


def test_buttons_zoom_and_the_whole_map_comes_back(browser, report):
    browser.open(report)
    before = browser.js(SIGHT)
    for _ in range(3):
        browser.js("document.querySelector('[data-zoom=in]').click()")
    near = browser.js(SIGHT)
    assert (before["zoom"], near["zoom"]) == (pytest.approx(1), pytest.approx(8))
    browser.js("document.querySelector('[data-zoom=out]').click()")
    assert browser.js(SIGHT)["zoom"] == pytest.approx(4)
    browser.js("document.querySelector('[data-zoom=reset]').click()")
    assert browser.js(SIGHT) == before


def test_each_of_the_worst_frames_is_shown_on_the_map_when_asked_for(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    links = browser.js(
        "[...document.querySelectorAll('[data-frame]')].map((link) => [link.dataset.frame, link.textContent])"
    )
    assert links
    for place, (number, words) in enumerate(links):
        browser.js(f"document.querySelectorAll('[data-frame]')[{place}].click()")
        assert seen_title(browser) == frames[int(number)]["title"]
        assert frames[int(number)]["title"].split(" of ")[0] in words


@pytest.fixture(scope="module")
def map_page(filmed):
    return filmed.folder.path / "report/map.html"


def expect_station(browser, page, number):
    shown, pictures = map(
        json.loads, re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text())
    )
    station, found = shown["stations"][number], card(browser)
    assert found["titles"] == [station["title"], station["match_title"]]
    assert found["sources"] == [pictures[station["picture"]], pictures[station["match_picture"]]]
    assert (found["verdict"], found["facts"]) == (station["verdict"], station["facts"])
    assert found["warned"] == station["alike"]


@pytest.mark.parametrize("width", [1280, 400])
def test_keys_and_the_list_of_look_alikes_step_through_the_page_of_a_map_and_nothing_is_fetched(
    browser, map_page, width
):
    browser.open(map_page, width=width)
    browser.js("document.querySelector('.steps input').focus()")
    press(browser, "Home")
    expect_station(browser, map_page, 0)
    press(browser, "ArrowRight", times=3)
    expect_station(browser, map_page, 3)
    shown = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', map_page.read_text())[1])
    browser.js("document.querySelector('[data-twin]').click()")
    expect_station(browser, map_page, shown["twins"][0]["station"])
    assert browser.js("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    asked = {event["request"]["url"].split(":")[0] for event in browser.happened("Network.requestWillBeSent")}
    assert asked <= {"file", "data"}
    assert browser.complaints() == []
