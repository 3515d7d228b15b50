"""What a recording is made from, seen without reading more of it than has to be."""

import os

import numpy as np
import pytest

from bags import images, scenes, written
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.sources import UNREADABLE
from tmapr.data.bag import Topics, read_bag
from tmapr.data.folder import read_folder
from tmapr.data.survey import survey
from tmapr.experiment import Data, is_data_there


@pytest.fixture
def noon(tmp_path, rng):
    """A folder of four images, the third without a position."""
    for row in range(4):
        write_frame(tmp_path / f"noon/{row}.png", rng.integers(0, 9000, (8, 8)).astype(np.uint16))
    rows = ["0.0,0.png,1,5,0.5,2", "0.1,1.png,2,5,,", "0.2,2.png,,,,", "0.3,3.png,4,5,,"]
    (tmp_path / "noon/frames.csv").write_text("\n".join(["stamp,file,x,y,heading,speed", *rows]) + "\n")
    return tmp_path


END = {"bag": ".bag", "mcap": ""}


def look(root, known=None, trust="stamps"):
    return survey(read_folder(root, "noon"), root, known, trust)


def test_a_survey_has_all_that_is_recorded_beside_the_images(noon):
    found = look(noon)
    assert found.stamps.tolist() == [0, 100_000_000, 200_000_000, 300_000_000]
    np.testing.assert_array_equal(found.truth, [[1, 5], [2, 5], [np.nan, np.nan], [4, 5]])
    np.testing.assert_array_equal(found.headings, [0.5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(found.motion[0], [2, np.nan])
    assert found.placed.tolist() == [True, True, False, True]
    assert found.sources.files == tuple(f"noon/{row}.png" for row in range(4))
    assert len(set(found.sources.contents)) == 4


def test_a_file_is_read_again_only_if_its_size_or_time_stamp_is_another(noon):
    known, image = look(noon).sources, noon / "noon/1.png"
    state = image.stat()
    image.write_bytes(bytes(state.st_size))
    os.utime(image, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert look(noon, known).sources.contents == known.contents
    changed = [
        now != then for now, then in zip(look(noon, known, "content").sources.contents, known.contents, strict=True)
    ]
    assert changed == [False, True, False, False]
    os.utime(image)
    assert look(noon, known).sources.contents != known.contents


def test_what_is_no_file_is_not_waited_for_and_looked_at_again_each_time(noon):
    (noon / "noon/1.png").unlink()
    os.mkfifo(noon / "noon/1.png")
    known = survey(read_folder(noon, "noon"), noon).sources
    assert known.contents[1] == UNREADABLE
    (noon / "noon/1.png").unlink()
    write_frame(noon / "noon/1.png", np.full((8, 8), 7, np.uint16))
    assert look(noon, known).sources.contents[1] != UNREADABLE


@pytest.mark.parametrize("kind", ["bag", "mcap"])
def test_a_bag_is_known_by_its_state_and_its_images_by_their_counts(tmp_path, rng, kind):
    counts = scenes(rng, 3)
    path = written(tmp_path / f"drive{END[kind]}", kind, images(counts))
    first = survey(read_bag(path, "drive"), tmp_path)
    assert first.sources.whole == read_bag(path, "drive").whole
    assert len(set(first.sources.contents)) == 3
    assert read_bag(path, "drive", topics=Topics(speed="")).whole != first.sources.whole
    counts[1] = counts[1] + 1
    second = survey(read_bag(written(tmp_path / f"again{END[kind]}", kind, images(counts)), "drive"), tmp_path)
    assert second.sources.whole != first.sources.whole
    same = [a == b for a, b in zip(first.sources.contents, second.sources.contents, strict=True)]
    assert same == [True, False, True]


@pytest.mark.parametrize(
    ("layout", "name", "there"),
    [
        ("folder", "a/b", "a/b"),
        ("ms2", "seq/left", "sync_data/seq"),
        ("sthereo", "seq/left", "seq"),
        ("bag", "drive", "drive.mcap"),
    ],
)
def test_a_sequence_is_there_if_its_folder_is(layout, name, there, tmp_path):
    data = Data(layout=layout, root=str(tmp_path))
    assert not is_data_there(data, name)
    (tmp_path / there).mkdir(parents=True)
    assert is_data_there(data, name)
