"""Folders with something wrong: one line that names the file and the row, quickly, whatever the bytes are."""

import re
import struct
import time
import zlib
from functools import partial

import numpy as np
import pytest

from tmapr.artifacts.images import write_png
from tmapr.data.folder import read_folder
from tmapr.exceptions import InputError

WHEN = 1_628_215_174_691_250_698
LEVEL = "0 0 0 1"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def home(tmp_path):
    """A folder `drive` with two good images and a good list of them."""
    for name in ("a", "b"):
        write_png(tmp_path / f"drive/{name}.png", np.full((6, 8), 7000, np.uint16))
    (tmp_path / "drive/frames.csv").write_text("stamp,file,x,y\n1,a.png,0,0\n2,b.png,1,0\n")
    return tmp_path


def listing(*lines, end="\n"):
    return lambda drive: (drive / "frames.csv").write_text(end.join(lines), newline="")


PLAIN = partial(listing, "stamp,file")
METRES = partial(listing, "stamp,file,x,y")
DEGREES = partial(listing, "stamp,file,lon,lat")


def junk(content):
    return lambda drive: (drive / "frames.csv").write_bytes(content)


def without_list(change=lambda drive: None):
    def spoil(drive):
        (drive / "frames.csv").unlink()
        change(drive)

    return spoil


def beside(**texts):
    """Other files instead of the list; `_` stands for a dot."""
    return without_list(lambda drive: [(drive / n.replace("_", ".")).write_text(t) for n, t in texts.items()])


def named(*names):
    """The first image again, under other names."""

    def change(drive):
        content = (drive / "a.png").read_bytes()
        for old in ("a.png", "b.png"):
            (drive / old).unlink()
        for name in names:
            (drive / name).write_bytes(content)

    return without_list(change)


def looped(drive):
    (drive / "frames.csv").unlink()
    (drive / "frames.csv").symlink_to(drive / "frames.csv")


def a_folder_for_the_list(drive):
    (drive / "frames.csv").unlink()
    (drive / "frames.csv").mkdir()


def a_folder_for_an_image(drive):
    (drive / "a.png").unlink()
    (drive / "a.png").mkdir()


def an_image_for_the_list(drive):
    (drive / "a.png").rename(drive / "frames.csv")


def gone(drive):
    for path in drive.iterdir():
        path.unlink()
    drive.rmdir()


NEEDED = "needed are stamp,file and at most one pair of x,y or lon,lat"
TIMES = "1.5\n2.5\n"
ONE_KITTI = "1 0 0 0 0 1 0 0 0 0 1 0\n"
TWO_TUM = f"0.5 0 0 0 {LEVEL}\n1.5 1 0 0 {LEVEL}\n"
PLACES = ("@1@2@10@S@.png", "@1@3@11@S@.png")

REFUSED = [
    # what, how it comes about, and the line it gets
    ("no folder", gone, "drive: no such folder"),
    ("nothing to read", without_list(lambda drive: [path.unlink() for path in drive.iterdir()]),
     "frames.csv: no such file; it must list stamp,file"),
    ("a loop of links", looped, "frames.csv: cannot be read (Too many levels of symbolic links)"),
    ("a folder for the list", a_folder_for_the_list, "frames.csv: cannot be read (Is a directory)"),
    ("an empty list", listing(), "frames.csv: lists no frame"),
    ("a header alone", PLAIN(), "frames.csv: lists no frame"),
    ("a missing column", listing("stamp,x,y", "1,0,0"), f"frames.csv: has the columns stamp, x, y; {NEEDED}"),
    ("a column twice", listing("stamp,file,x,y, X", "1,a.png,0,0,0"), "frames.csv: has the column 'x' twice"),
    ("half a pair of columns", listing("stamp,file,lon", "1,a.png,0"), NEEDED),
    ("two pairs of columns", listing("stamp,file,x,y,lon,lat", "1,a.png,0,0,9,9"), NEEDED),
    ("long for lon", listing("stamp,file,long,lat", "1,a.png,9,9"), "; is 'long' the lon?"),
    ("latitude for lat", listing("stamp,file,latitude", "1,a.png,9"), "; is 'latitude' the lat?"),
    ("yaw for heading", listing("stamp,file,yaw", "1,a.png,0"), "; is 'yaw' the heading?"),
    ("timestamp for stamp", listing("timestamp,file", "1,a.png"), "; is 'timestamp' the stamp?"),
    ("a slip of the finger", listing("stamp,file,x,y,headng", "1,a.png,0,0,0"), "; is 'headng' the heading?"),
    ("semicolons", listing("stamp;file", "1;a.png"), "semicolons"),
    ("too few cells", METRES("1,a.png,0,0", "2,b.png"), "line 3: has 2 cells, there must be 4"),
    ("too many cells", PLAIN("1,a.png", "2,b.png,0", end="\r\n"), "line 3: has 3 cells, there must be 2"),
    ("an open quote", PLAIN('1,"a.png'), "line 2: is not a CSV file (unexpected end of data)"),
    ("a NaN", METRES("1,a.png,0,0", "2,b.png,0,nan"), "line 3: y is nan"),
    ("text for a number", METRES("1,a.png,here,0"), "line 2: x is 'here', not a number"),
    ("a comma for a point", METRES('1,a.png,"1,5",0'), "line 2: x is '1,5', not a number"),
    ("half a position", METRES("1,a.png,0,"), "line 2: has only one of x and y"),
    ("a position off the Earth", METRES("1,a.png,1e9,0"), "line 2: x is 1e+09"),
    ("a heading in degrees", listing("stamp,file,heading", "1,a.png,90"), "line 2: heading is 90"),
    ("swapped degrees", DEGREES("1,a.png,36.4,127.4"), "swapped"),
    ("degrees out of range", DEGREES("1,a.png,181,0"), "±180"),
    ("a receiver without a fix", DEGREES("1,a.png,0.0,0"), "without a fix"),
    ("a stamp that is text", PLAIN("noon,a.png"), "frames.csv, line 2: stamp 'noon' is neither"),
    ("no stamp", PLAIN(",a.png"), "frames.csv, line 2: stamp '' is neither"),
    ("two kinds of stamps", PLAIN("1.5,a.png", f"{WHEN},b.png"), "line 3: stamp '1628215174691250698' is in"),
    ("a missing image", PLAIN("1,a.png", "2,c.png"), "line 3: there is no image 'c.png' beside the file"),
    ("a disk unplugged", PLAIN("1,x/a.png", "2,x/b.png"), "line 2: there is no image 'x/a.png' beside the file; 2 of"),
    ("no name", PLAIN("1,"), "line 2: there is no image ''"),
    ("a zero byte in a name", PLAIN("1,x\0/a.png"), "line 2: there is no image 'x\\x00/a.png'"),
    ("a folder for an image", a_folder_for_an_image, "line 2: there is no image 'a.png'"),
    ("binary junk", junk(bytes(range(256))), "frames.csv: is not a CSV file in UTF-8"),
    ("a spreadsheet's UTF-16", junk("stamp,file".encode("utf-16")), "frames.csv: is not a CSV file in UTF-8"),
    ("an image for a list", an_image_for_the_list, "is not a CSV file in UTF-8"),
    ("two trajectories", beside(x_tum=TWO_TUM, poses_txt=TWO_TUM), "poses.txt: there is x.tum too"),
    ("names that are no times", beside(x_tum=TWO_TUM), "add times.txt"),
    ("times too few", beside(times_txt="1.5\n"), "times.txt: has 1 stamps for 2 images"),
    ("KITTI too short", beside(poses_txt=ONE_KITTI, times_txt=TIMES), "poses.txt: has 1 poses for 2 images"),
    ("poses of another day", beside(x_tum=TWO_TUM, times_txt="91.5\n92.5"), "x.tum: no image was taken near the time"),
    ("a NaN pose", beside(x_tum=f"1 nan 0 0 {LEVEL}", times_txt=TIMES), "x.tum, line 1: x is nan"),
    ("a preview beside its image", named("1.png", "1.jpg"), "1.png: there is 1.jpg too"),
    ("two UTM zones", named(*PLACES), "@1@3@11@S@.png: is in UTM zone 11N"),
    ("a place that is text", named("@here@2@.png"), "@here@2@.png: easting is 'here', not a number"),
    ("half a place", named("@1.png"), "@1.png: northing is '', not a number"),
    ("a name without a place", named("@1@2@.png", "frame.png"), "frame.png: easting is '', not a number"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "spoil", "answer"), REFUSED, ids=[case[0] for case in REFUSED])
def test_a_mistake_gets_one_line_that_names_the_file(what, spoil, answer, home):
    spoil(home / "drive")
    with pytest.raises(InputError) as refusal:
        read_folder(home, "drive")
    assert answer in str(refusal.value)
    assert str(refusal.value).startswith(str(home / "drive"))
    assert "\n" not in str(refusal.value)


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def claiming(side):
    """A PNG of a few bytes whose header promises side² pixels of 16 bits."""
    header = struct.pack(">IIBBBBB", side, side, 16, 0, 0, 0, 0)
    return PNG + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "content", [claiming(32_767), claiming(100_000), b"", PNG], ids=["2 GB", "20 GB", "empty", "cut off"]
)
def test_a_bad_image_is_refused_when_it_is_read_and_not_before(content, home):
    (home / "drive/b.png").write_bytes(content)
    good, bad = read_folder(home, "drive")
    assert good.image().shape == (6, 8)
    began = time.thread_time()
    with pytest.raises(InputError, match=re.escape(str(home / "drive/b.png"))):
        bad.image()
    # Filling 2 GB takes a processor longer than this, however busy it is otherwise.
    assert time.thread_time() - began < 0.2


def test_images_of_two_depths_may_be_read_from_one_folder(home):
    write_png(home / "drive/b.png", np.full((6, 8), 70, np.uint8))
    assert [frame.image().dtype for frame in read_folder(home, "drive")] == [np.uint16, np.uint8]
