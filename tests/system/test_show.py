"""`tmapr show`: the page of a map, whose numbers and pictures are those of its references."""

import json
import re
import shutil
import webbrowser
from xml.etree import ElementTree

import numpy as np
import pytest

from commandline import command
from shown_frames import decoded, seen_in
from surveyed import record, straight, survey
from tmapr.artifacts.lock import writing
from tmapr.reports.atlas.atlas import Atlas
from tmapr.reports.atlas.page import render_atlas
from tmapr.reports.atlas.source import read_map
from tmapr.reports.page.footage import MOST_PICTURES


@pytest.fixture(scope="module")
def folder(street, tmp_path_factory):
    return shutil.copytree(street, tmp_path_factory.mktemp("home") / "street", symlinks=True) / "runs/street"


@pytest.fixture(scope="module")
def atlas(street):
    return Atlas.of(read_map(street / "runs/street"))


@pytest.fixture(scope="module")
def page(street):
    return (street / "runs/street/report/map.html").read_text()


def words_of(page):
    """All that the page says, in one line."""
    root = ElementTree.fromstring(page.partition("\n")[2])
    return " ".join(" ".join(root.find("body/main").itertext()).split())


def data_of(page):
    """What the script is given, and the pictures."""
    return map(json.loads, re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page))


def test_the_page_tells_length_references_places_and_what_looks_alike(atlas, page):
    told = words_of(page)
    assert f"{atlas.coverage.distinct:.0f} m of route" in told
    assert f"70 references in {atlas.places.places} places" in told
    assert f"{100 * atlas.twin.mean():.0f} % of the route looks like another part of it" in told


def test_a_card_says_what_was_measured_and_its_pictures_are_of_the_references_it_names(street, atlas, page):
    shown, pictures = data_of(page)
    assert 0 < len(pictures) <= MOST_PICTURES
    assert len(shown["stations"]) == len(atlas.stations)
    for number in range(0, len(atlas.stations), 7):
        station, value = shown["stations"][number], atlas.likeness.value[number]
        assert station["title"] == atlas.memory.describe(int(atlas.stations.rows[number]))
        assert f"{100 * value:.0f} %" in station["verdict"] or not station["alike"]
        assert f"{atlas.likeness.similarity[number]:.2f}" in station["facts"]
        for title, picture in (("title", "picture"), ("match_title", "match_picture")):
            frame = int(re.search(r"frame (\d+) of", station[title])[1])
            assert seen_in(decoded(pictures[station[picture]]), street / "data/noon") == frame


def test_gaps_and_the_absence_of_look_alikes_are_told():
    positions = np.vstack([straight(100.0), straight(100.0, at=(140.0, 0.0))])
    told = words_of(render_atlas(survey(record("noon", positions, positions[:, 0]))))
    assert "1 gap, of 42 m" in told
    assert "frame 49 of noon frame 50 of noon" in told
    assert "No stretch of it looks like another one" in told


def test_a_map_of_one_reference_has_a_page_and_names_from_files_are_no_markup():
    page = render_atlas(survey(record('<b>"&', np.zeros((1, 2)), [0.0])))
    assert "1 reference in 1 place" in words_of(page)
    assert '<b>"&' in words_of(page)
    assert "<b>" not in page


def test_where_the_images_are_gone_the_page_has_none_and_says_so(street_copy):
    shutil.rmtree(street_copy / "data/noon")
    page = render_atlas(Atlas.of(read_map(street_copy / "runs/street")))
    assert f"images of noon are not at {street_copy / 'data'}" in words_of(page)
    assert list(data_of(page))[1] == []


def test_the_page_lies_in_the_run_folder_and_is_the_same_for_its_map_file(folder, page, capfd):
    for given in (folder, folder / "map.npz"):
        assert command("show", given) == 0
        assert capfd.readouterr().out == f"{folder / 'report/map.html'}\n"
        assert (folder / "report/map.html").stat().st_size == pytest.approx(len(page.encode()), rel=0.01)


def test_the_page_goes_where_one_wants_it_and_beside_a_map_that_lies_alone(folder, tmp_path, capfd):
    assert command("show", folder, "--out", tmp_path / "there/map.html") == 0
    assert capfd.readouterr().out == f"{tmp_path / 'there/map.html'}\n"
    shutil.copy(folder / "map.npz", tmp_path / "alone.npz")
    assert command("show", tmp_path / "alone.npz", "--quiet") == 0
    assert words_of((tmp_path / "alone.html").read_text()).startswith("Map alone")


@pytest.mark.parametrize(("opened", "line"), [(True, ""), (False, "no browser could be opened")])
def test_the_page_is_opened_on_request(folder, monkeypatch, capfd, opened, line):
    asked = []
    monkeypatch.setattr(webbrowser, "open", lambda address: asked.append(address) or opened)
    assert command("show", folder, "--open") == 0
    assert asked == [(folder / "report/map.html").resolve().as_uri()]
    assert line in capfd.readouterr().err


@pytest.mark.parametrize(("given", "named"), [("nowhere", "tmapr map"), (".", "tmapr map"), ("map.png", "map.png")])
def test_what_is_no_map_is_refused_in_one_line(tmp_path, given, named, capfd):
    (tmp_path / "map.png").write_bytes(b"\x89PNG")
    assert command("show", tmp_path / given) == 2
    told = capfd.readouterr().err
    assert told.count("\n") == 1
    assert named in told


def test_a_folder_that_is_being_written_is_left_alone_and_a_folder_is_no_file(folder, tmp_path, capfd):
    with writing(folder):
        assert command("show", folder) == 2
        assert "--out" in capfd.readouterr().err
        assert command("show", folder, "--out", tmp_path / "map.html", "--quiet") == 0
    assert command("show", folder, "--out", tmp_path) == 2
    assert "is a folder" in capfd.readouterr().err
