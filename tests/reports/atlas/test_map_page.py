"""The page of a map: what stands on it, with and without images, and that it is well-formed."""

import json
import re
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from filmed import decoded, seen_in
from surveyed import START, copied, film_street, record, straight, survey, write_run
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.reports.atlas.atlas import Atlas
from tmapr.reports.atlas.page import render_atlas
from tmapr.reports.atlas.source import read_map
from tmapr.reports.page.footage import MOST_PICTURES

HERE, THERE = (60.0, 130.0), (260.0, 330.0)


def street():
    positions = straight()
    return record("noon", positions, copied(positions, HERE, THERE))


def words_of(page):
    """All that the page says, in one line."""
    root = ElementTree.fromstring(page.partition("\n")[2])
    return " ".join(" ".join(root.find("body/main").itertext()).split())


def data_of(page):
    """What the script is given, and the pictures."""
    shown, pictures = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page)
    return json.loads(shown), json.loads(pictures)


def page_of(folder):
    return render_atlas(Atlas.of(read_map(folder.path)))


def test_the_page_tells_length_references_places_and_what_looks_alike():
    atlas = survey(street())
    told = words_of(render_atlas(atlas))
    assert f"398 m of route, from noon: 200 references in {atlas.places.places} places, 2.0 m apart" in told
    assert f"{100 * atlas.twin.mean():.0f} % of the route looks like another part of it: 1 pair of stretches" in told
    assert "driven the same way" in told


def test_a_map_without_look_alikes_says_so():
    positions = straight()
    told = words_of(render_atlas(survey(record("noon", positions, positions[:, 0]))))
    assert "No stretch of it looks like another one." in told
    assert "there is no gap" in told


def test_gaps_are_told_by_the_frames_around_them():
    positions = np.vstack([straight(100.0), straight(100.0, at=(140.0, 0.0))])
    told = words_of(render_atlas(survey(record("noon", positions, positions[:, 0]))))
    assert "There is 1 gap, of 42 m." in told
    assert "frame 49 of noon frame 50 of noon 0.5" in told


def test_a_map_of_one_reference_has_a_page():
    told = words_of(render_atlas(survey(record("noon", np.zeros((1, 2)), [0.0]))))
    assert "1 reference in 1 place: a single spot, from noon." in told
    assert "too small to have two places" in told


def test_a_card_says_what_was_measured():
    atlas = survey(street())
    stations = data_of(render_atlas(atlas))[0]["stations"]
    middle = int(np.abs(atlas.stations.positions[:, 0] - 95.0).argmin())
    name = atlas.memory.describe(int(atlas.stations.rows[middle]))
    (card,) = [each for each in stations if each["title"] == name]
    assert card["alike"]
    assert card["verdict"] == (
        f"Looks like a place 200 m away: {100 * atlas.likeness.value[middle]:.0f} % as alike as its own neighbours."
    )
    assert card["facts"][2:6] == [
        "94.0, 0.0 m",
        *card["facts"][3:4],
        "200 m",
        f"{atlas.likeness.similarity[middle]:.2f}",
    ]


def test_every_station_is_shown_in_the_order_it_was_driven_where_there_is_room():
    stations = data_of(render_atlas(survey(street())))[0]["stations"]
    frames = [int(station["title"].split()[1]) for station in stations]
    assert frames == list(range(200))


def test_names_from_files_are_no_markup():
    positions = straight(60.0)
    page = render_atlas(survey(record('<b>"&', positions, positions[:, 0])))
    assert '<b>"&' in words_of(page)
    assert "<b>" not in page


def test_the_pictures_are_of_the_references_that_are_named(tmp_path):
    film_street(tmp_path / "noon", 200)
    folder = write_run(RunFolder(tmp_path / "run"), street(), root=tmp_path)
    shown, pictures = data_of(page_of(folder))
    assert 0 < len(pictures) <= MOST_PICTURES
    for station in shown["stations"][::20]:
        number = int(station["title"].split()[1])
        assert seen_in(decoded(pictures[station["picture"]])) == ("noon", number)
        other = int(re.search(r"frame (\d+) of", station["match_title"])[1])
        assert seen_in(decoded(pictures[station["match_picture"]])) == ("noon", other)


def test_images_of_another_recording_are_not_shown(tmp_path):
    film_street(tmp_path / "noon", 200)
    table = tmp_path / "noon/frames.csv"
    table.write_text(table.read_text().replace(str(START), str(START + 1)))
    page = page_of(write_run(RunFolder(tmp_path / "run"), street(), root=tmp_path))
    assert "are of another recording" in words_of(page)


def test_where_the_images_are_gone_the_page_has_none_and_says_so(tmp_path):
    page = page_of(write_run(RunFolder(tmp_path / "run"), street(), root=tmp_path / "gone"))
    assert "No pictures: images of noon are not at" in words_of(page)
    assert data_of(page)[1] == []


def test_a_map_that_lies_alone_has_a_page_without_pictures(tmp_path):
    folder = write_run(RunFolder(tmp_path / "run"), street())
    alone = folder.map.rename(tmp_path / "city.npz")
    source = read_map(alone)
    assert source.page == tmp_path / "city.html"
    page = render_atlas(Atlas.of(source))
    assert "The map lies without its experiment" in words_of(page)
    assert words_of(page).startswith("Map city")


def test_a_folder_without_a_map_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no map.npz; make one with `tmapr map EXPERIMENT`"):
        read_map(tmp_path)


def test_a_file_that_is_no_map_is_refused(tmp_path):
    cv2.imwrite(str(tmp_path / "map.png"), np.zeros((4, 4), np.uint8))
    with pytest.raises(InputError, match="damaged or not one of our files"):
        read_map(tmp_path / "map.png")
