"""`tmapr show` from the command line, and its page in a real browser."""

import json
import re
import webbrowser

import numpy as np
import pytest

from browsing import CARD, hover, press
from commandline import command
from surveyed import copied, film_street, record, straight, write_run
from tmapr.artifacts.lock import writing
from tmapr.artifacts.run import RunFolder

COUNT = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run folder with a map of a street whose middle is there twice, and its images."""
    home = tmp_path_factory.mktemp("home")
    film_street(home / "noon", COUNT)
    along = straight()[:, 0]
    positions = np.column_stack([np.minimum(along, 200.0), np.maximum(along - 200.0, 0.0)])
    seen = copied(straight(), (60.0, 130.0), (260.0, 330.0))
    return write_run(RunFolder(home / "run"), record("noon", positions, seen), root=home)


@pytest.fixture(scope="module")
def page(folder):
    assert command("show", folder.path, "--quiet") == 0
    return folder.path / "report/map.html"


def data_of(page):
    shown, pictures = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text())
    return json.loads(shown), json.loads(pictures)


def test_the_page_lies_in_the_run_folder_and_its_path_is_told(folder, page, capfd):
    assert command("show", folder.path) == 0
    assert capfd.readouterr().out == f"{page}\n"


def test_a_map_file_in_a_run_folder_is_that_of_the_folder(folder, page):
    before = page.read_bytes()
    assert command("show", folder.map, "--quiet") == 0
    assert page.read_bytes() == before


def test_the_page_goes_where_one_wants_it(folder, tmp_path, capfd):
    assert command("show", folder.path, "--out", tmp_path / "there/map.html") == 0
    assert capfd.readouterr().out == f"{tmp_path / 'there/map.html'}\n"
    assert (tmp_path / "there/map.html").exists()


def test_a_map_that_lies_alone_has_its_page_beside_it(folder, tmp_path):
    (tmp_path / "alone.npz").write_bytes(folder.map.read_bytes())
    assert command("show", tmp_path / "alone.npz", "--quiet") == 0
    assert (tmp_path / "alone.html").exists()


@pytest.mark.parametrize(("opened", "line"), [(True, ""), (False, "no browser could be opened")])
def test_the_page_is_opened_on_request(folder, page, monkeypatch, capfd, opened, line):
    asked = []
    monkeypatch.setattr(webbrowser, "open", lambda address: asked.append(address) or opened)
    assert command("show", folder.path, "--open") == 0
    assert asked == [page.resolve().as_uri()]
    assert line in capfd.readouterr().err


@pytest.mark.parametrize("given", ["nowhere", "."])
def test_what_is_no_map_is_refused_in_one_line(tmp_path, given, capfd):
    assert command("show", tmp_path / given) == 2
    told = capfd.readouterr().err
    assert told.count("\n") == 1
    assert "`tmapr map EXPERIMENT`" in told


def test_a_folder_that_is_being_written_is_left_alone(folder, tmp_path, capfd):
    with writing(folder.path):
        assert command("show", folder.path) == 2
        assert "name another file with --out" in capfd.readouterr().err
        assert command("show", folder.path, "--out", tmp_path / "map.html", "--quiet") == 0


def test_a_run_folder_that_is_named_as_the_file_is_refused(folder, tmp_path, capfd):
    assert command("show", folder.path, "--out", tmp_path) == 2
    assert "is a folder" in capfd.readouterr().err


def expect_card(browser, page, number):
    shown, pictures = data_of(page)
    station, card = shown["stations"][number], browser.js(CARD)
    assert card["shown"]
    assert card["titles"] == [station["title"], station["match_title"]]
    assert card["sources"] == [pictures[station["picture"]], pictures[station["match_picture"]]]
    assert (card["verdict"], card["facts"]) == (station["verdict"], station["facts"])
    assert card["warned"] == station["alike"]


@pytest.mark.parametrize("width", [1280, 400])
def test_pointing_at_a_reference_shows_it_and_its_look_alike(browser, page, width):
    stations = data_of(page)[0]["stations"]
    browser.open(page, width=width)
    hover(browser, ".map", stations[47]["here"])
    expect_card(browser, page, int(browser.js("document.querySelector('.steps input').value")))
    hover(browser, ".map", stations[-1]["here"])
    expect_card(browser, page, len(stations) - 1)
    marks = browser.js(
        "['here', 'matched'].map((role) => document.querySelector(`.map .marker .${role}`).getAttribute('d'))"
    )
    assert marks == ["M{},{}h0".format(*(f"{value:g}" for value in stations[-1][of])) for of in ("here", "match")]
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_scrolls_sideways_and_nothing_is_fetched(browser, page, width):
    browser.open(page, width=width)
    assert browser.js("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    asked = {event["request"]["url"].split(":")[0] for event in browser.happened("Network.requestWillBeSent")}
    assert asked <= {"file", "data"}
    assert browser.complaints() == []


def test_pointing_at_the_way_shows_the_station_there(browser, page):
    stations = data_of(page)[0]["stations"]
    browser.open(page)
    hover(browser, ".strip", (stations[80]["moment"][0], 60))
    expect_card(browser, page, 80)


def test_arrow_keys_step_through_the_map(browser, page):
    browser.open(page)
    browser.js("document.querySelector('.steps input').focus()")
    press(browser, "Home")
    expect_card(browser, page, 0)
    press(browser, "ArrowRight", times=3)
    expect_card(browser, page, 3)


def test_the_worst_look_alike_is_shown_first_and_each_can_be_brought_back(browser, page):
    twins = data_of(page)[0]["twins"]
    browser.open(page)
    expect_card(browser, page, twins[0]["station"])
    browser.js("document.querySelector('.steps input').focus()")
    press(browser, "Home")
    expect_card(browser, page, 0)
    browser.js("document.querySelector('[data-twin]').click()")
    expect_card(browser, page, twins[0]["station"])
    drawn = browser.js("document.querySelector('.map .marker .stretch').getAttribute('d')")
    assert drawn.count("M") == 2


LAYERS = """["cell", "tie-line", "way"].map((name) => {
  const [layer, key] = ["layer", "switch"].map((kind) => document.querySelector(`[data-${kind}="${name}"]`));
  const shown = getComputedStyle(layer).display !== "none";
  key.click();
  return [shown, key.getAttribute("aria-pressed")];
})"""


def test_places_and_ties_are_there_on_request_and_every_layer_comes_and_goes(browser, page):
    browser.open(page)
    assert browser.js(LAYERS) == [[False, "true"], [False, "true"], [True, "false"]]
    assert browser.js(LAYERS) == [[True, "false"], [True, "false"], [False, "true"]]
