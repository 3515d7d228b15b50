"""A film in a real browser: it plays."""

import pytest

from commandline import command

PLAYED = """(async () => {
  const film = document.querySelector("video");
  if (film.readyState < 1) await new Promise((done, fail) => { film.onloadedmetadata = done; film.onerror = fail; });
  await film.play();
  while (film.currentTime < 0.5) await new Promise((done) => setTimeout(done, 20));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [film.videoWidth, film.videoHeight];
  film.pause();
  canvas.getContext("2d").drawImage(film, 0, 0);
  return {width: film.videoWidth, height: film.videoHeight, duration: film.duration, at: film.currentTime,
          error: film.error && film.error.message};
})()"""


@pytest.fixture(scope="module")
def folder(filmed):
    return filmed.folder.path


@pytest.fixture(scope="module")
def page(folder, tmp_path_factory):
    home = tmp_path_factory.mktemp("film")
    options = ["--from", 0, "--to", 4, "--speed", 1, "--rate", 10, "--width", 640]
    assert command("film", folder, "--out", home / "film.webm", *options) == 0
    (home / "page.html").write_text('<!doctype html><video src=film.webm muted style="max-width: 100%"></video>')
    return home / "page.html"


@pytest.mark.parametrize("width", [1280, 400])
def test_a_film_plays_in_a_browser(browser, page, width):
    browser.open(page, width=width)
    shown = browser.js(PLAYED)
    assert (shown["width"], shown["height"], shown["error"]) == (640, 360, None)
    assert shown["duration"] == pytest.approx(4.1, abs=0.11)
    assert shown["at"] >= 0.5
    assert browser.js("document.documentElement.scrollWidth") <= width
    assert browser.complaints() == []


def test_an_animation_is_shown_in_a_browser(browser, folder, tmp_path):
    options = ["--from", 0, "--to", 2, "--speed", 1, "--rate", 5, "--width", 640]
    assert command("film", folder, "--out", tmp_path / "film.gif", *options) == 0
    (tmp_path / "page.html").write_text("<!doctype html><img src=film.gif>")
    browser.open(tmp_path / "page.html")
    size = browser.js("[document.images[0].naturalWidth, document.images[0].naturalHeight]")
    assert size == [640, 360]
