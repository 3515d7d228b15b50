"""The page in a real browser, driven through its own debugging pipe: pointing, keys, fingers, widths, no complaints."""

import fcntl
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from drives import retold
from filmed import filmed_run
from tmapr.config import changed
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun

BROWSERS = (os.environ.get("CHROME", ""), "chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND")
# The browser reads commands from its third file and answers on its fourth.
START = "import os, sys; os.dup2({0}, 3); os.dup2({1}, 4); os.execv(sys.argv[1], sys.argv[1:])"
HOSTILE = '</script><script>window.harmed=true</script><img src="x" onerror="window.harmed=true">&]]>'


class Browser:
    """One browser with one tab; `events` is what happened since the page was opened."""

    def __init__(self, program, profile):
        (theirs_in, self._to), (self._from, theirs_out) = os.pipe(), os.pipe()
        # Numbers that are neither 3 nor 4, which the browser's end overwrites.
        passed = [fcntl.fcntl(number, fcntl.F_DUPFD, 10) for number in (theirs_in, theirs_out)]
        options = (*OPTIONS, f"--user-data-dir={profile}", "--remote-debugging-pipe")
        self._process = subprocess.Popen(
            [sys.executable, "-c", START.format(*passed), program, *options, "about:blank"],
            pass_fds=passed,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for number in (theirs_in, theirs_out, *passed):
            os.close(number)
        self._numbers, self._unread, self._session, self.events = itertools.count(1), b"", {}, []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method, **params):
        number = next(self._numbers)
        os.write(
            self._to, json.dumps({"id": number, "method": method, "params": params, **self._session}).encode() + b"\0"
        )
        while (message := self._next()).get("id") != number:
            self.events.append(message)
        assert "error" not in message, message
        return message["result"]

    def open(self, path, width=1280, height=900):
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.events = []
        self("Page.navigate", url=path.as_uri())
        while not self.happened("Page.loadEventFired"):
            self.events.append(self._next())

    def happened(self, method):
        return [event["params"] for event in self.events if event.get("method") == method]

    def complaints(self):
        self.js("1")  # whatever was said until now has then arrived
        said = [*self.happened("Log.entryAdded"), *self.happened("Runtime.consoleAPICalled")]
        return [str(entry) for entry in [*said, *self.happened("Runtime.exceptionThrown")]]

    def js(self, expression):
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def close(self):
        self("Browser.close")
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def _next(self):
        while b"\0" not in self._unread:
            received = os.read(self._from, 1 << 20)
            assert received, "the browser has gone"
            self._unread += received
        message, self._unread = self._unread.split(b"\0", 1)
        return json.loads(message)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"no browser: CHROME names none, and none of {', '.join(BROWSERS[1:])} is installed")
    started = Browser(program, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return ReportedRun.load(filmed_run(tmp_path_factory.mktemp("home")).path)


@pytest.fixture(scope="module")
def report(run):
    return written(run.folder.path / "page.html", render_page([run]))


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def data_of(path):
    """The frames and the pictures that the page holds."""
    blocks = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', path.read_text())
    frames, pictures = map(json.loads, blocks)
    return frames["frames"], pictures


def on_screen(browser, plot, point):
    """Where a point of a drawing lies in the window, after bringing the drawing there."""
    x, y = point
    return browser.js(
        f"(() => {{ const svg = document.querySelector('{plot} .plot svg'); svg.scrollIntoView({{block: 'center'}});"
        f" const at = new DOMPoint({x}, {y}).matrixTransform(svg.getScreenCTM()); return [at.x, at.y]; }})()"
    )


def hover(browser, plot, point):
    x, y = on_screen(browser, plot, point)
    browser("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


def press(browser, key, times=1):
    for _ in range(times):
        for kind in ("rawKeyDown", "keyUp"):
            code = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9}[key]
            browser("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)


CARD = """(async () => {
  const card = document.querySelector(".card"), images = [...card.querySelectorAll("img")];
  const words = (selector) => [...card.querySelectorAll(selector)].map((part) => part.textContent);
  await Promise.all(images.map((image) => image.decode()));
  return {
    shown: card.checkVisibility(), titles: words("figcaption"), verdict: words(".verdict")[0], facts: words("dd"),
    sources: images.map((image) => image.src), widths: images.map((image) => image.naturalWidth), text: card.innerText,
  };
})()"""


def card(browser):
    """What the card says, once its pictures are decoded."""
    return browser.js(CARD)


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
    expect_belief(browser, report, 0)
    browser.js("document.querySelector('.steps input').focus()")
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
    titles = [frame["title"] for frame in frames]
    number = titles.index(card(browser)["titles"][0])
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


def test_a_run_without_a_belief_has_a_page_without_one(browser, run, tmp_path):
    drive = run.sequences[0]
    plain = replace(run, sequences=(replace(drive, trial=replace(drive.trial, beliefs=None)),))
    path = written(tmp_path / "plain.html", render_page([plain]))
    frames, _ = data_of(path)
    browser.open(path)
    browser.js("document.querySelector('.steps input').focus()")
    press(browser, "ArrowRight", times=3)
    assert card(browser)["titles"][0] == frames[3]["title"]
    assert browser.js("document.querySelectorAll('.belief, .certainty, .likely').length") == 0
    assert browser.complaints() == []


def test_a_wrong_match_that_was_accepted_is_drawn_in_the_colour_of_warnings(browser, run, tmp_path):
    drive = run.sequences[0]
    row = int(np.flatnonzero(drive.accepted)[0])
    elsewhere = np.where(drive.truth.known[:, None], drive.truth.values, 0.0)
    elsewhere[row] += 25.0
    misled = retold(drive, reference_positions=replace(drive.table.reference_positions, values=elsewhere))
    path = written(tmp_path / "misled.html", render_page([replace(run, sequences=(misled,))]))
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
    press(browser, "Tab", times=browser.js("document.querySelectorAll('.map .keys button').length") + 1)
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
      key.click();
      const layer = key.closest("figure").querySelector(`[data-layer="${key.dataset.switch}"]`);
      return getComputedStyle(layer).display;
    })"""
    away, back = browser.js(state), browser.js(state)
    assert len(away) >= 7
    assert set(away) == {"none"}
    assert set(back) == {"inline"}


@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_never_scrolls_sideways_and_every_word_of_a_figure_can_be_read(browser, run, tmp_path, width):
    other = replace(run, experiment=changed(run.experiment, {"name": "other" * 12}))
    for number, runs in enumerate([[run], [run, other]]):
        browser.open(written(tmp_path / f"{number}.html", render_page(runs)), width=width)
        assert browser.js("document.documentElement.scrollWidth") <= width
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


def test_where_a_drawing_is_wider_than_the_screen_the_marked_frame_is_brought_into_sight(browser, report):
    browser.open(report, width=400)
    browser.js("document.querySelector('.steps input').focus()")
    press(browser, "End")
    left, right, at = browser.js("""(() => {
      const plot = document.querySelector(".strip .plot").getBoundingClientRect();
      return [plot.left, plot.right, document.querySelector(".strip .cursor").getBoundingClientRect().left];
    })()""")
    assert left <= at <= right


def test_without_scripts_the_figures_and_the_sampled_frames_remain(browser, report):
    browser("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(report)
    seen = browser.js(
        "[document.querySelector('.card').checkVisibility(), [...document.querySelectorAll('.sampled img')].filter("
        "(e) => e.naturalWidth === 80 && e.checkVisibility()).length, document.querySelectorAll('.plot > svg').length]"
    )
    browser("Emulation.setScriptExecutionDisabled", value=False)
    assert seen == [False, 8, 9]


def test_a_name_cannot_become_a_script(browser, run, tmp_path):
    errors = run.errors.model_copy(update={"test": {HOSTILE: run.errors.test["night"]}})
    hostile = replace(run, errors=errors, sequences=(replace(run.sequences[0], name=HOSTILE),))
    browser.open(written(tmp_path / "hostile.html", render_page([hostile])))
    assert browser.complaints() == []
    assert browser.js("window.harmed") is None
    assert card(browser)["titles"][0].endswith(f"of {HOSTILE}")


def test_a_frame_without_an_image_still_has_its_card(browser, run, tmp_path):
    blind = replace(run, experiment=changed(run.experiment, {"data.root": str(tmp_path / "nowhere")}))
    path = written(tmp_path / "blind.html", render_page([blind]))
    frames, _ = data_of(path)
    browser.open(path)
    hover(browser, ".map", frames[9]["fused"])
    shown = card(browser)
    assert shown["text"].count("no image") == 2
    assert shown["facts"] == frames[9]["facts"]
    assert browser.complaints() == []
