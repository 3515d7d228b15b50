"""The map in a real browser: its ellipse, played, zoomed by buttons, wheel and fingers, and the worst frames on it."""

import numpy as np
import pytest

from browsing import click, data_of, hover, number_of, on_screen, press, seen_title


def test_the_ellipse_of_the_frame_is_drawn_around_it(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    hover(browser, ".map", frames[60]["fused"])
    frame = frames[number_of(frames, seen_title(browser))]
    box = browser.js(
        "(() => { const box = document.querySelector('.map .marker .ellipse').getBBox();"
        " return [box.x, box.y, box.width, box.height]; })()"
    )
    longer, shorter, turn = frame["ellipse"]
    cosine, sine = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    half = np.hypot(longer * cosine, shorter * sine), np.hypot(longer * sine, shorter * cosine)
    middle = box[0] + box[2] / 2, box[1] + box[3] / 2
    assert middle == pytest.approx(frame["fused"], abs=0.1)
    assert (box[2] / 2, box[3] / 2) == pytest.approx(half, abs=0.1)


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


def test_play_stops_at_the_last_frame_and_begins_anew_from_there(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    browser.js("document.querySelector('.steps input').focus()")
    press(browser, "End")
    press(browser, "ArrowLeft", times=2)
    browser.js("document.querySelector('.play').click()")
    assert browser.js(REST) == len(frames) - 1
    browser.js("document.querySelector('.play').click()")
    assert browser.js("Number(document.querySelector('.steps input').value)") == 0
    browser.js("document.querySelector('.play').click()")
    assert browser.complaints() == []


def test_a_page_never_plays_by_itself_and_choosing_a_frame_ends_play(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    assert browser.js("document.querySelector('.play').textContent") == "Play"
    browser.js("document.querySelector('.play').click()")
    click(browser, *on_screen(browser, ".map", frames[50]["fused"]))
    assert browser.js("document.querySelector('.play').textContent") == "Play"


SIGHT = """(() => {
  const pane = document.querySelector(".map .window"), [, , width] = pane.getAttribute("viewBox").split(" ");
  const line = pane.querySelector(".line.reference");
  const ticks = [...document.querySelectorAll(".map .axes .tick")].map((tick) => tick.textContent);
  return {zoom: pane.width.baseVal.value / width, effect: getComputedStyle(line).vectorEffect, ticks};
})()"""


def roll(browser, at, lines, ctrl):
    modifiers = 2 if ctrl else 0
    x, y = at
    browser("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=lines, modifiers=modifiers)
    browser.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_buttons_zoom_and_the_whole_map_comes_back(browser, report):
    browser.open(report)
    before = browser.js(SIGHT)
    for _ in range(3):
        browser.js("document.querySelector('[data-zoom=in]').click()")
    near = browser.js(SIGHT)
    assert (before["zoom"], near["zoom"]) == (pytest.approx(1), pytest.approx(8))
    assert near["effect"] == "non-scaling-stroke"
    assert set(near["ticks"]) != set(before["ticks"])
    browser.js("document.querySelector('[data-zoom=out]').click()")
    assert browser.js(SIGHT)["zoom"] == pytest.approx(4)
    browser.js("document.querySelector('[data-zoom=reset]').click()")
    assert browser.js(SIGHT) == before


def test_a_wheel_scrolls_the_page_and_with_ctrl_it_zooms_where_it_points(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    place = on_screen(browser, ".map", frames[40]["fused"])
    roll(browser, place, -400, ctrl=True)
    assert browser.js(SIGHT)["zoom"] == pytest.approx(np.exp(0.8), rel=0.01)
    assert on_screen(browser, ".map", frames[40]["fused"]) == pytest.approx(place, abs=1.5)
    before = browser.js("scrollY")
    roll(browser, place, 300, ctrl=False)
    assert browser.js(SIGHT)["zoom"] == pytest.approx(np.exp(0.8), rel=0.01)
    assert browser.js("new Promise((done) => setTimeout(() => done(scrollY), 300))") > before


def test_pointing_finds_the_right_frame_on_a_zoomed_map(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    browser.js("document.querySelector('.steps input').focus()")
    press(browser, "Home")
    for _ in range(3):
        browser.js("document.querySelector('[data-zoom=in]').click()")
    # Stepping brings a frame into sight; its neighbours are then far enough apart to be told from one another.
    press(browser, "ArrowRight", times=100)
    hover(browser, ".map", frames[101]["fused"])
    at = np.array(frames[101]["fused"])
    shown = frames[number_of(frames, seen_title(browser))]
    places = [place for frame in frames for place in (frame["fused"], frame["truth"])]
    nearest = min(np.hypot(*(at - place)) for place in places)
    assert min(np.hypot(*(at - shown[kind])) for kind in ("fused", "truth")) <= nearest + 0.1


def test_a_zoomed_map_follows_the_frame_and_moves_with_the_mouse_but_chooses_nothing(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    for _ in range(4):
        browser.js("document.querySelector('[data-zoom=in]').click()")
    browser.js("document.querySelector('.steps input').focus()")
    press(browser, "End")
    box = "document.querySelector('.map .window').getAttribute('viewBox').split(' ').map(Number)"
    left, top, width, height = browser.js(box)
    x, y = frames[-1]["fused"]
    assert left <= x <= left + width
    assert top <= y <= top + height
    chosen = seen_title(browser)
    at = on_screen(browser, ".map", (left + width / 2, top + height / 2))
    browser("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1])
    chosen = seen_title(browser)
    browser("Input.dispatchMouseEvent", type="mousePressed", x=at[0], y=at[1], button="left", buttons=1, clickCount=1)
    for step in (10, 40):
        browser("Input.dispatchMouseEvent", type="mouseMoved", x=at[0] + step, y=at[1] + step, button="left", buttons=1)
    end = {"x": at[0] + 40, "y": at[1] + 40, "button": "left", "clickCount": 1}
    browser("Input.dispatchMouseEvent", type="mouseReleased", **end)
    moved = browser.js(box)
    assert moved[2:] == pytest.approx([width, height])
    assert (moved[0], moved[1]) != pytest.approx((left, top))
    assert seen_title(browser) == chosen


def test_two_fingers_zoom_and_one_does_not(browser, report):
    frames, _ = data_of(report)
    browser.open(report, width=400)
    browser("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    x, y = on_screen(browser, ".map", frames[30]["fused"])

    def touch(kind, *spans):
        points = [{"x": x + span, "y": y, "id": number} for number, span in enumerate(spans)]
        browser("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    touch("touchStart", -20)
    touch("touchMove", -35)
    touch("touchEnd")
    assert browser.js(SIGHT)["zoom"] == pytest.approx(1)
    touch("touchStart", -20, 20)
    for span in (30, 40, 60):
        touch("touchMove", -span, span)
    touch("touchEnd")
    browser("Emulation.setTouchEmulationEnabled", enabled=False)
    assert browser.js(SIGHT)["zoom"] == pytest.approx(3, rel=0.05)


def test_each_of_the_worst_frames_is_shown_on_the_map_when_asked_for(browser, report):
    frames, _ = data_of(report)
    browser.open(report)
    links = browser.js(
        "[...document.querySelectorAll('[data-frame]')].map((link) => [link.dataset.frame, link.textContent])"
    )
    assert len(links) == 6
    for place, (number, words) in enumerate(links):
        browser.js(f"document.querySelectorAll('[data-frame]')[{place}].click()")
        assert seen_title(browser) == frames[int(number)]["title"]
        assert frames[int(number)]["title"].split(" of ")[0] in words
    top, focused = browser.js(
        "[document.querySelector('.explorer').getBoundingClientRect().top, document.activeElement.type]"
    )
    assert (abs(top) < 20, focused) == (True, "range")
