"""Local matches on the page of a run from images: lines join what the images show at both ends.

Night sees the wall of noon from the same spots, so that a frame and its own reference differ in nothing but contrast
and noise, and a neighbour's picture is the same 20 of 80 pixels farther on.
"""

import re
import shutil
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from drives import retold
from tmapr.artifacts.images import read_image
from tmapr.artifacts.run import RunFolder
from tmapr.artifacts.trajectory import Column
from tmapr.experiment import read_experiment
from tmapr.perception.keypoints import KeypointFinder
from tmapr.reports.figures.local_matches import choose_ties
from tmapr.reports.page.matching import Matching
from tmapr.reports.page.page import render_page
from tmapr.reports.page.sequence import render_matches
from tmapr.reports.reported import ReportedRun
from tmapr.retrieval.verification import count_matches
from tmapr.running.running import map_experiment, run_experiment
from walked import SHAPE, STEP, write_walk

SVG = "{http://www.w3.org/2000/svg}svg"
ROW, WRONG = 3, 14
"""The frame that is shown, and the reference, 22 m away, that it is made to be taken for."""
COLUMN, RIGHT = 300.0, 310.0


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = write_walk(tmp_path_factory.mktemp("walked"))
    experiment, folder = read_experiment(home / "walk.toml"), RunFolder(home / "run")
    map_experiment(experiment, folder)
    run_experiment(experiment, folder)
    return home


def misled(folder):
    """The run, in which one frame was taken for a place far away."""
    run = ReportedRun.load(folder)
    (drive,) = run.sequences
    first = drive.table.first
    frames, places, known = (
        values.copy() for values in (first.references.values, first.positions.values, first.references.known)
    )
    frames[ROW], places[ROW], known[ROW] = WRONG, (2.0 * WRONG, 5.0), True
    changes = {"references": Column(frames, known), "positions": Column(places, known)}
    return replace(run, sequences=(retold(drive, first=replace(first, **changes)),))


@pytest.fixture(scope="module")
def run(home):
    return misled(home / "run")


def gallery_of(run):
    """The one figure of the gallery."""
    shown = ElementTree.fromstring(f"<div>{render_matches(Matching(run, run.sequences[0]))}</div>")
    (figure,) = shown.findall("div[@class='gallery']/figure")
    return figure


@pytest.fixture(scope="module")
def figure(run):
    return gallery_of(run)


def lines_of(figure):
    """Where lines to the match of global retrieval, and to ours, begin and end."""
    paths = [path.get("d") for path in figure.findall(".//{*}path") if path.get("class") == "line tie"]
    found = [re.findall(r"M([\d.]+) ([\d.]+)l([-\d.]+) ([-\d.]+)", path) for path in paths]
    ways = [np.array(each, dtype=float).reshape(-1, 2, 2) for each in found]
    return [(way[:, 0], way.sum(axis=1)) for way in ways]


def matched(home, run, reference):
    """The local matches as the image files say."""
    find, image = KeypointFinder(), run.experiment.perception.image
    files = home / f"data/night/{ROW:02}.png", home / f"data/noon/{reference:02}.png"
    return count_matches(*(find(read_image(file), image) for file in files))


def test_the_lines_are_the_matches_of_the_two_images(home, run, figure):
    for (starts, stops), reference, left in zip(lines_of(figure), (ROW, WRONG), (0.0, 2 * RIGHT), strict=True):
        found = matched(home, run, reference)
        agree = found.agreeing & found.aligned
        wanted = np.hstack([COLUMN * found.query[agree] + [RIGHT, 0], COLUMN * found.reference[agree] + [left, 0]])
        drawn = np.hstack([starts, stops])
        assert len(drawn) == len(choose_ties(found))
        away = np.abs(drawn[:, None] - wanted).max(axis=2)
        assert (away.min(axis=1) < 0.15).all()  # tenths, and a tenth more by the step
        assert len(set(away.argmin(axis=1))) == len(drawn)


def test_a_line_to_the_right_place_ends_on_what_it_began_on(figure):
    (starts, stops), _ = lines_of(figure)
    assert len(starts) > 10
    # Two pixels of 320, the size at which points are found.
    np.testing.assert_allclose(np.median(stops - starts, axis=0), [-RIGHT, 0], atol=2 * COLUMN / 320)


def test_a_line_to_the_neighbour_s_picture_goes_to_what_was_seen_there(home, run):
    match = Matching(run, run.sequences[0])
    column = int(np.flatnonzero(run.memory.frames[match.references] == ROW + 1)[0])
    found = match.match_points(int(np.flatnonzero(match.rows == ROW)[0]), column)
    agree = found.agreeing & found.aligned
    assert agree.sum() > 5
    moved = np.median((found.query - found.reference)[agree], axis=0)
    np.testing.assert_allclose(moved, [STEP / SHAPE[1], 0], atol=2 / 320)


def test_the_counts_stand_under_each_match(home, run, figure):
    panels = [[line.text for line in panel.iter("p")] for panel in figure.iter("div")][1:]
    for (_, told), reference in zip((panels[0], panels[2]), (ROW, WRONG), strict=True):
        found = matched(home, run, reference)
        assert told == f"{found.mutual} matches, {(found.agreeing & found.aligned).sum()} agree"


def test_the_page_of_the_run_has_the_drawing_and_stays_well_formed(run):
    page = render_page([run])
    root = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))
    (drawn,) = root.findall(f".//div[@class='gallery']//{SVG}")
    assert len(drawn.findall("{*}image")) == 3
    assert page.count('class="line tie"') == 2


@pytest.mark.parametrize("name", ["percepts/night.keypoints.npz", "keypoints.npz"])
def test_a_run_without_keypoints_has_the_pictures_and_no_lines(home, tmp_path, name):
    folder = shutil.copytree(home / "run", tmp_path / "run", symlinks=True)
    (folder / name).unlink()
    figure = gallery_of(misled(folder))
    assert [len(list(figure.iter(tag))) for tag in ("img", SVG)] == [3, 0]
    words = [panel.findtext("p") for panel in figure.iter("div")][1:]
    assert [line.split(":")[0] for line in words] == ["query", "✓ global retrieval", "✗ ours"]
    assert "agree" not in "".join(figure.itertext())
