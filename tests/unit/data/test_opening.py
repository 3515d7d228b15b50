"""Recordings of any kind by one path, or by a name in the layout of folders."""

import shutil

import numpy as np
import pytest

from bags import GPS, ODOMETRY, TENTH, fix, image, odometry, written
from tmapr.artifacts.images import write_frame
from tmapr.data.bag import Topics
from tmapr.data.coordinates import tangent_plane
from tmapr.data.drives import find_marks, find_path_marks, recognize
from tmapr.data.ms2 import write_ms2
from tmapr.data.opening import open_path, open_sequence
from tmapr.data.poses import Poses
from tmapr.data.sequence import from_files
from tmapr.data.survey import survey
from tmapr.exceptions import InputError
from tmapr.experiment import Data, find_home, is_data_there, open_data
from tmapr.types import CoordinateFrame
from walked import view, write_list

EARTH, HERE = tangent_plane(127.0, 36.3), CoordinateFrame()


@pytest.fixture
def root(tmp_path):
    """A folder of images, a ROS 1 bag, the folder of a ROS 2 bag and a drive of MS2, side by side."""
    for row in range(3):
        write_frame(tmp_path / f"noon/{row:02}.png", view(row))
    write_list(tmp_path / "noon", range(3))
    entries = [
        (topic, 10**18 + row * TENTH, made)
        for row in range(4)
        for topic, made in (("/thermal", image(view(row))), (ODOMETRY, odometry(float(row), 0.0, 0.0)))
    ]
    written(tmp_path / "dusk.bag", "bag", entries)
    written(tmp_path / "night", "mcap", entries)
    for side, count in (("left", 5), ("right", 5)):
        write_ms2(tmp_path / "ms2", f"drive/{side}", on_earth(tmp_path / "noon", count))
    shutil.move(tmp_path / "ms2/sync_data", tmp_path / "sync_data")
    return tmp_path


def on_earth(folder, count):
    frames = list(open_path(folder))
    files = [frames[row % 3].file for row in range(count)]
    rows = np.arange(count)
    poses = Poses(10**18 + rows * TENTH, np.stack([2.0 * rows, 0.0 * rows], axis=1), 0.0 * rows)
    return from_files("drive", EARTH, files, poses)


COUNTS = {"noon": 3, "dusk": 4, "dusk.bag": 4, "night": 4, "sync_data/drive": 5, "sync_data/drive/right": 5}


@pytest.mark.parametrize("name", COUNTS)
def test_a_name_in_the_layout_of_folders_may_be_any_recording(root, name):
    assert is_data_there(Data(root=str(root)), name)
    sequence = open_sequence("folder", root, name)
    assert (sequence.name, len(sequence)) == (name, COUNTS[name])
    assert {frame.sequence for frame in sequence} == {name}
    assert all(frame.image().shape == (64, 80) for frame in sequence)


@pytest.mark.parametrize("name", COUNTS)
def test_a_source_is_the_same_under_another_name(root, name):
    data = Data(root="/nowhere", sources={"there": str(root / name)}, reference="there")
    sequence = open_data(data, "there")
    assert (sequence.name, len(sequence)) == ("there", COUNTS[name])
    assert {frame.sequence for frame in sequence} == {"there"}


def test_the_cameras_of_a_drive_are_told_apart(root):
    left, right = (open_path(root / "sync_data/drive" / side) for side in ("left", "right"))
    assert [next(iter(each)).file.parent.name for each in (left, right)] == ["img_left", "img_right"]
    assert next(iter(open_path(root / "sync_data/drive"))).file.parent.name == "img_left"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("noon", "folder"),
        ("dusk.bag", "bag"),
        ("night", "bag"),
        ("x.mp4", "video"),
        ("sync_data/drive", "ms2"),
        ("nowhere", "folder"),
    ],
)
def test_what_lies_there_is_told_by_looking(root, path, kind):
    assert recognize(root / path) == kind


def test_two_recordings_of_one_name_need_their_suffix(root):
    shutil.copy(root / "dusk.bag", root / "dusk.mcap")
    with pytest.raises(InputError, match=r"there are dusk.bag and dusk.mcap; name one with its suffix"):
        open_sequence("folder", root, "dusk")
    with pytest.raises(InputError, match=r"there are dusk.bag and dusk.mcap; name one with its suffix"):
        open_path(root / "dusk")


@pytest.mark.parametrize("name", ["noon", "dusk.bag", "night", "sync_data/drive"])
def test_a_source_and_a_name_for_one_place_are_one_drive(root, name):
    shared = find_path_marks(root / name).keys() & find_marks("folder", root, name).keys()
    assert shared
    with pytest.raises(ValueError, match=r"'again' and data.reference .*, which are one drive: both have"):
        Data(root=str(root), reference=name, sources={"again": str(root / name)}, test=("again",))


def test_a_drive_of_ms2_is_the_same_in_its_own_layout_and_as_a_source(root):
    own = find_marks("ms2", root, "drive/left").keys()
    assert own & find_path_marks(root / "sync_data/drive/right").keys()


@pytest.mark.parametrize("name", ["noon", "sync_data/drive", "sync_data/drive/right"])
def test_files_are_known_by_names_that_a_move_does_not_change(root, name, tmp_path):
    data = Data(sources={"there": str(root / name)})
    files = survey(open_data(data, "there"), find_home(data, "there")).sources.files
    assert not any(file.startswith(("/", "..")) for file in files)
    assert files[0].endswith("00.png")


@pytest.mark.parametrize("mapped", [EARTH, HERE])
@pytest.mark.parametrize("table", [None, "stamp,file", "stamp,file,x,y", "stamp,file,lon,lat"])
def test_what_has_no_positions_is_in_any_frame(root, mapped, table):
    (root / "noon/frames.csv").unlink()
    if table:
        rows = [f"{row},{row:02}.png{',' * (table.count(',') - 1)}" for row in range(3)]
        (root / "noon/frames.csv").write_text("\n".join([table, *rows]))
    assert open_sequence("folder", root, "noon", mapped).frame == mapped


def test_both_kinds_of_positions_and_the_way_out_are_named(root):
    with pytest.raises(InputError, match=r"noon/frames\.csv: .* x,y .* the map as longitude and latitude; give"):
        open_sequence("folder", root, "noon", EARTH)
    written(root / "gps.bag", "bag", [("/thermal", 10**18, image(view(0))), (GPS, 10**18, fix(127.0, 36.3))])
    with pytest.raises(
        InputError, match=r"as longitude and latitude, the map as x,y .* or map with lon,lat, or go with"
    ):
        open_sequence("folder", root, "gps", HERE)


def test_topics_may_differ_from_bag_to_bag(root):
    entries = [(topic, 10**18, image(view(row))) for row, topic in enumerate(("/a", "/b"))]
    written(root / "two.bag", "bag", entries)
    data = Data(root=str(root), reference="dusk", test=("two",), topics_of={"two": Topics(image="/b")})
    assert (next(iter(open_data(data, "two"))).image() == view(1)).all()
    assert len(open_data(data, "dusk")) == 4
