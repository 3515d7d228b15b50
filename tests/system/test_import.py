"""`tmapr import`: folders of images, with files that say when and where, become one that is read back."""

import json

import cv2
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from repository import SHARED
from tmapr.artifacts.images import read_image, write_png
from tmapr.cli.import_ import import_recording
from tmapr.data.coordinates import from_degrees
from tmapr.data.folder import read_folder
from tmapr.exceptions import InputError

HAWK = SHARED / "pvhawk_gps"
START = 1_633_948_296_530_000_000
DARK = np.zeros((24, 32), np.uint8)
app = typer.Typer()
app.command()(import_recording)


def imported(*arguments):
    """What the command printed; its refusal is raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def flight(tmp_path):
    """Five 16-bit TIFFs named by number, and stamps and fixes of the ten frames they were taken from."""
    (tmp_path / "thermal").mkdir()
    rng = np.random.default_rng(8)
    for number in (2, 3, 5, 7, 10):
        counts = rng.integers(6000, 8000, (24, 32)).astype(np.uint16)
        cv2.imwrite(str(tmp_path / f"thermal/frame_{number}.tiff"), counts)
    (tmp_path / "times.csv").write_text("".join(f"{START + row * 10**8}\r\n" for row in range(11)), newline="")
    fixes = [[10.18 + row * 1e-5, 49.6, 100.0] for row in range(11)]
    (tmp_path / "gps.json").write_text(json.dumps(fixes))
    (tmp_path / "gps.csv").write_text("".join(f"{lon!r},{lat!r},{up}\n" for lon, lat, up in fixes))
    return tmp_path


@pytest.mark.skipif(not HAWK.exists(), reason="the drone's frames are not beside this checkout")
def test_a_drones_frames_with_their_stamps_and_fixes_are_imported_by_one_command(tmp_path):
    stamps, gps = HAWK / "timestamps.csv", HAWK / "gps/gps.json"
    printed = imported(HAWK / "radiometric", tmp_path / "drive", "--stamps", stamps, "--gps", gps, "--stride", 3)
    # A drone flies at some metres per second.
    assert "5 frames over 1.600 s, 5 of them with positions along 6.1 m" in printed
    sequence = read_folder(tmp_path, "drive")
    assert [frame.stamp for frame in sequence][:2] == [START, START + 400_000_000]
    degrees = np.array(json.loads(gps.read_text()))[:15:3]
    expected = from_degrees(degrees[:, 0], degrees[:, 1], sequence.frame)
    np.testing.assert_allclose([frame.position for frame in sequence], expected, atol=1e-4)
    originals = sorted((HAWK / "radiometric").glob("*.tiff"))[::3]
    for frame, original in zip(sequence, originals, strict=True):
        np.testing.assert_array_equal(frame.image(), read_image(original), strict=True)


@pytest.mark.parametrize("gps", ["gps.json", "gps.csv"])
def test_a_row_of_a_longer_recording_is_found_by_the_number_in_the_name(gps, flight):
    imported(flight / "thermal", flight / "out", "--stamps", flight / "times.csv", "--gps", flight / gps)
    sequence = read_folder(flight, "out")
    rows = np.array([2, 3, 5, 7, 10])
    assert [frame.stamp for frame in sequence] == (START + rows * 10**8).tolist()
    expected = from_degrees(10.18 + rows * 1e-5, np.full(5, 49.6), sequence.frame)
    np.testing.assert_allclose([frame.position for frame in sequence], expected, atol=1e-4)


def test_as_many_rows_as_images_are_taken_in_order(flight):
    (flight / "times.csv").write_text("time\n" + "".join(f"{row}.5\n" for row in range(5)))
    imported(flight / "thermal", flight / "out", "--stamps", flight / "times.csv")
    assert [frame.stamp for frame in read_folder(flight, "out")] == [row * 10**9 + 500_000_000 for row in range(5)]


def test_fixes_with_stamps_of_their_own_are_interpolated(flight):
    fixes = "".join(f"{START + row * 10**9},{49.6 + row * 1e-4},{10.18}\n" for row in range(2))
    (flight / "gps.csv").write_text(f"stamp,lat,lon\n{fixes}{START + 5 * 10**8},,\n")
    imported(flight / "thermal", flight / "out", "--stamps", flight / "times.csv", "--gps", flight / "gps.csv")
    sequence = read_folder(flight, "out")
    expected = from_degrees(np.full(5, 10.18), 49.6 + np.array([2, 3, 5, 7, 10]) * 1e-5, sequence.frame)
    np.testing.assert_allclose([frame.position for frame in sequence], expected, atol=1e-3)


@pytest.mark.parametrize("fixes", [[[10.18, 49.6]] * 4 + [None], [{"lat": 49.6, "lon": 10.18}] * 4 + [[None, None, 3]]])
def test_an_image_without_a_fix_has_no_position(fixes, flight):
    (flight / "gps.json").write_text(json.dumps(fixes))
    imported(flight / "thermal", flight / "out", "--gps", flight / "gps.json")
    sequence = read_folder(flight, "out")
    assert sequence.frame.origin == pytest.approx((10.18, 49.6))
    assert [frame.position is None for frame in sequence] == [False] * 4 + [True]


def test_every_nth_image_is_kept_and_nothing_is_said_when_quiet(flight):
    assert imported(flight / "thermal", flight / "out", "--stride", 2, "--quiet") == ""
    assert [frame.stamp for frame in read_folder(flight, "out")] == [0, 2 * 10**8, 4 * 10**8]
    assert len(list((flight / "out/images").iterdir())) == 3


def test_an_import_is_imported_again_without_a_change(flight):
    imported(flight / "thermal", flight / "once", "--stamps", flight / "times.csv", "--gps", flight / "gps.json")
    imported(flight / "once", flight / "twice")
    for path in ("frames.csv", "images/000004.png"):
        assert (flight / "twice" / path).read_bytes() == (flight / "once" / path).read_bytes()


def gps(content):
    return lambda home: (home / "gps.json").write_text(content)


def a_torn_image(home):
    path = home / "thermal/frame_7.tiff"
    path.write_bytes(path.read_bytes()[:-100])


ALL = ("thermal", "out", "--stamps", "times.csv", "--gps", "gps.json")
MISTAKEN = [
    # what, how it comes about, the command, and the line it gets
    ("no source", lambda home: None, ("nowhere", "out"), "nowhere: no such folder"),
    ("a file for a source", lambda home: None, ("times.csv", "out"), "times.csv: is no recording; give"),
    ("a target in use", lambda home: write_png(home / "out/x.png", DARK), ALL, "out: is not empty; name a new folder"),
    ("a file for a target", lambda home: (home / "out").touch(), ALL, "out: is not a folder that can be read"),
    ("rows too few", lambda home: (home / "times.csv").write_text("1.5\n"), ALL, "times.csv: has 1 rows for 5 images"),
    ("a row missing", gps(json.dumps([[10, 49]] * 10)), ALL, "10 rows for 5 images, and none for 'frame_10'"),
    ("no JSON", gps("[[10, 49]"), ALL, "gps.json: is not JSON"),
    ("nested without end", gps("[" * 100_000), ALL, "gps.json: is not JSON"),
    ("another JSON", gps('{"lon": 10}'), ALL, "gps.json: needed are the columns lon,lat"),
    ("an entry of text", gps('["here"]'), ALL, "gps.json, entry 0: has 0 cells, there must be 2"),
    ("an entry without lat", gps('[[1, 2], {"lon": 3}]'), ALL, "gps.json, entry 1: has 1 cells, there must be 2"),
    ("a fix that is text", gps('[["here", 2]]'), ALL, "gps.json, entry 0: lon is 'here', not a number"),
    ("a fix that is NaN", gps("[[NaN, 2]]"), ALL, "gps.json, entry 0: lon is nan; leave"),
    ("a swapped fix", gps("[[36.4, 127.4]]"), ALL, "entry 0: lon is 36.4 and lat is 127.4; they seem to be"),
    ("no fix", gps("[null, null, null, null, null]"), ALL, "gps.json: holds no fix"),
    ("a damaged image", a_torn_image, ALL, "frame_7.tiff: is cut off or damaged"),
    ("no stride", lambda home: None, (*ALL, "--stride", "0"), None),
]  # fmt: skip


@pytest.mark.parametrize(("what", "spoil", "arguments", "answer"), MISTAKEN, ids=[case[0] for case in MISTAKEN])
def test_a_mistake_gets_one_line_and_no_list_of_frames(what, spoil, arguments, answer, flight, monkeypatch):
    monkeypatch.chdir(flight)
    spoil(flight)
    if answer is None:
        assert CliRunner().invoke(app, arguments).exit_code == 2
    else:
        with pytest.raises(InputError) as refusal:
            imported(*arguments)
        assert answer in str(refusal.value)
        assert "\n" not in str(refusal.value)
    assert not (flight / "out/frames.csv").exists()


def test_images_of_two_depths_are_not_imported_into_one_folder(flight):
    write_png(flight / "thermal/frame_4.png", DARK)
    with pytest.raises(InputError, match=r"frame_4\.png: has 8 bits, the images before it have 16; keep one kind"):
        imported(flight / "thermal", flight / "out")
