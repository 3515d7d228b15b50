"""A page in a real browser: opened, pointed at, typed into, and read back."""

import json
import re

import pytest

from browser import PROGRAMS, Browser, find_browser


def start_browser(profile):
    """A browser, or the reason why the test cannot be made."""
    program = find_browser()
    if program is None:
        pytest.skip(f"no browser: CHROME names none, and none of {', '.join(PROGRAMS[1:])} is installed")
    return Browser(program, profile)


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
        " const drawn = svg.querySelector('.window > g') ?? svg;"
        f" const at = new DOMPoint({x}, {y}).matrixTransform(drawn.getScreenCTM()); return [at.x, at.y]; }})()"
    )


def hover(browser, plot, point):
    x, y = on_screen(browser, plot, point)
    browser("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


def press(browser, key, times=1):
    for _ in range(times):
        for kind in ("rawKeyDown", "keyUp"):
            code = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9, "Enter": 13, "Escape": 27}[key]
            typed = {"text": "\r"} if key == "Enter" and kind == "rawKeyDown" else {}
            told = "keyDown" if typed else kind
            browser("Input.dispatchKeyEvent", type=told, key=key, code=key, windowsVirtualKeyCode=code, **typed)


CARD = """(async () => {
  const card = document.querySelector(".card"), images = [...card.querySelectorAll("img")];
  const words = (selector) => [...card.querySelectorAll(selector)].map((part) => part.textContent);
  await Promise.all(images.map((image) => image.decode()));
  return {
    shown: card.checkVisibility(), titles: words("figcaption"), verdict: words(".verdict")[0], facts: words("dd"),
    sources: images.map((image) => image.src), widths: images.map((image) => image.naturalWidth), text: card.innerText,
    warned: card.classList.contains("wrong"),
  };
})()"""


def card(browser):
    """What the card says, once its pictures are decoded."""
    return browser.js(CARD)


def seen_title(browser):
    """The title of the frame that is looked at."""
    return card(browser)["titles"][0]


def number_of(frames, title):
    """The place of a frame among those that a page shows, by its title."""
    return [frame["title"] for frame in frames].index(title)
