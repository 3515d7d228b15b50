"""People's own data: each layout against what was written by hand, and what is written against what is read back."""

import math

import cv2
import numpy as np
import pytest

from tmapr.data.coordinates import from_degrees, tangent_plane
from tmapr.data.folder import read_folder, write_folder
from tmapr.data.sequence import from_arrays
from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame

WHEN = 1_628_215_174_691_250_698
HOME = tangent_plane(127.36, 36.37)
LEVEL, NORTHWARD = "0 0 0 1", "0 0 0.70710678 0.70710678"
STRAIGHT = "1 0 0 {} 0 1 0 0 0 0 1 {}\n"
UTM_NAME = "@{}@{}@10@S@037.7564@-122.50874@pano@@{}@@@@{}@@.jpg"


@pytest.fixture
def drive(tmp_path):
    """Fills the folder `drive` with texts and images and reads it."""

    def fill(files, frame=None):
        for name, content in files.items():
            path = tmp_path / "drive" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                cv2.imwrite(str(path), np.arange(48, dtype=np.uint8).reshape(6, 8))
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_folder(tmp_path, "drive", frame)

    return fill


def images(*names):
    return dict.fromkeys(names)


def listed(*lines):
    return images("a.png", "b.png", "c.png") | {"frames.csv": "\n".join(lines)}


def stamps(sequence):
    return [frame.stamp for frame in sequence]


def test_a_list_gives_stamps_positions_and_headings_where_it_has_them(drive):
    text = "\ufeffremark,stamp,file,x,y,heading\r\nkept,1.5,b.png,1.25,-2,4.0\r\n,2.5,a.png,,,\r\n"
    first, second = drive(images("a.png", "b.png") | {"frames.csv": text})
    assert (first.file.name, first.stamp, first.position.tolist()) == ("b.png", 1_500_000_000, [1.25, -2.0])
    assert first.heading == pytest.approx(4.0 - 2 * math.pi)
    assert (second.file.name, second.index, second.position, second.heading) == ("a.png", 1, None, None)
    assert first.image().shape == (6, 8)


@pytest.mark.parametrize("frame", [None, HOME])
def test_degrees_become_metres_in_the_frame_given_or_at_the_first_fix(frame, drive):
    sequence = drive(listed("stamp,file,lat,lon", "1,a.png,,", "2,b.png,36.38,127.37", "3,c.png,36.381,127.37"), frame)
    assert sequence.frame == (frame or tangent_plane(127.37, 36.38))
    _, first, second = sequence
    expected = from_degrees(np.full(2, 127.37), np.array([36.38, 36.381]), sequence.frame)
    np.testing.assert_allclose([first.position, second.position], expected, atol=1e-6)
    # A minute of latitude is a nautical mile, 1852 m, to 0.5 %.
    assert second.position[1] - first.position[1] == pytest.approx(0.001 * 60 * 1852, rel=0.005)


def test_degrees_do_not_fit_into_a_local_map(drive):
    with pytest.raises(
        InputError,
        match="the map as x,y in a frame of their own; give x,y here, or map with lon,lat",
    ):
        drive(listed("stamp,file,lon,lat", "1,a.png,127,36"), CoordinateFrame())


def test_a_tum_file_is_interpolated_at_the_images(drive):
    tum = f"10.0 0 0 0 {LEVEL}\n11.0 4 0 0 {NORTHWARD}\n"
    sequence = drive(images("10.5.png", "10.25.png", "99.0.png", ".10.75.png") | {"poses.txt": tum, "sub/1.png": None})
    assert stamps(sequence) == [10_250_000_000, 10_500_000_000, 99_000_000_000]
    first, second, late = sequence
    np.testing.assert_allclose([first.position, second.position], [(1.0, 0.0), (2.0, 0.0)], atol=1e-3)
    assert (first.heading, second.heading) == pytest.approx((math.pi / 8, math.pi / 4), abs=1e-6)
    assert (late.position, late.heading) == (None, None)


def test_a_kitti_file_has_a_line_for_each_image_and_times_beside_it(drive):
    poses = "".join(STRAIGHT.format(-row, 2 * row) for row in range(12))
    times = "".join(f"{row * 0.1036:e}\n" for row in range(12))
    names = [f"{row}.png" for row in range(12)]
    sequence = drive(images(*names) | {"poses.txt": poses, "times.txt": times})
    assert [frame.file.name for frame in sequence] == names
    assert stamps(sequence) == [row * 103_600_000 for row in range(12)]
    np.testing.assert_allclose([frame.position for frame in sequence], [(2 * row, row) for row in range(12)], atol=1e-3)
    assert {frame.heading for frame in sequence} == {0.0}


def test_names_of_place_recognition_data_sets_give_utm_azimuth_and_time(drive):
    late = UTM_NAME.format("0543256.96", "4178906.70", "090", "20190102_123000")
    early = UTM_NAME.format("0543300.00", "4178900.25", "", "20190102_122959")
    first, second = sequence = drive(images(late, early))
    assert sequence.frame == CoordinateFrame("utm", "10N", (543300.0, 4178900.0))
    np.testing.assert_allclose([first.position, second.position], [(0.0, 0.25), (-43.04, 6.7)], atol=1e-3)
    assert (first.heading, second.heading) == (None, pytest.approx(0.0))
    assert second.stamp - first.stamp == 10**9


def test_an_azimuth_counts_from_north_clockwise(drive):
    names = [UTM_NAME.format(row, 0, azimuth, "") for row, azimuth in enumerate((0, 90, 180, 270))]
    headings = [frame.heading for frame in drive(images(*names))]
    assert headings == pytest.approx([math.pi / 2, 0.0, -math.pi / 2, math.pi])


@pytest.mark.parametrize("rest", [".png", "@.png", "@@@@@@@@@@@201901@@.png", "@@@@@@@@@@@20190102_123000@@.png"])
def test_without_zone_and_time_such_names_are_local_and_a_tenth_of_a_second_apart(rest, drive):
    sequence = drive(images(f"@20.5@7{rest}", f"@3@-1{rest}", f"@100@8{rest}"))
    assert sequence.frame == CoordinateFrame()
    assert [frame.position.tolist() for frame in sequence] == [[3.0, -1.0], [20.5, 7.0], [100.0, 8.0]]
    assert stamps(sequence) == [0, 100_000_000, 200_000_000]


def test_a_southern_zone_is_told_from_a_northern_one_by_its_letter(drive):
    assert drive(images("@334873@6252266@56@H@-33@151@.png")).frame.zone == "56S"


@pytest.mark.parametrize(
    ("names", "order", "times"),
    [
        (["frame_10.TIF", "frame_2.JPEG", "frame_1.jpg"], ["frame_1", "frame_2", "frame_10"], [0, 10**8, 2 * 10**8]),
        (["b2.png", "a10.png", "a9.png"], ["a9", "a10", "b2"], [0, 10**8, 2 * 10**8]),
        ([f"{WHEN + 10**9}.png", f"{WHEN}.png"], [f"{WHEN}", f"{WHEN + 10**9}"], [WHEN, WHEN + 10**9]),
        (["1.5.png", "1.25.png"], ["1.25", "1.5"], [1_250_000_000, 1_500_000_000]),
    ],
)
def test_a_bare_folder_is_read_in_natural_order(names, order, times, drive):
    sequence = drive(images(*names) | {".hidden.png": b"", "notes.md": ""})
    assert ([frame.file.stem for frame in sequence], stamps(sequence)) == (order, times)
    assert all(frame.position is None and frame.heading is None for frame in sequence)


@pytest.mark.parametrize("code", [1, 5, 8, 32773], ids=["raw", "LZW", "deflate", "PackBits"])
def test_every_common_tiff_is_read(code, drive, rng):
    counts = rng.integers(0, 2**16, (64, 80)).astype(np.uint16)
    content = cv2.imencode(".tiff", counts, [cv2.IMWRITE_TIFF_COMPRESSION, code])[1].tobytes()
    (frame,) = drive({"frame.Tiff": content})
    np.testing.assert_array_equal(frame.image(), counts)


def recorded(counts, positions, headings=None, frame=HOME, start=WHEN):
    """A sequence with images in memory, ten frames a second."""
    count = len(counts)
    headings = np.full(count, np.nan) if headings is None else headings
    when = start + 100_000_000 * np.arange(count)
    return from_arrays("walk", frame, when, lambda row: counts[row], positions, headings)


@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
@pytest.mark.parametrize(
    "frame", [HOME, tangent_plane(179.9999, -80.0), CoordinateFrame()], ids=["enu", "edge", "local"]
)
@pytest.mark.parametrize("start", [WHEN, 0, -5])
def test_what_is_written_is_read_back(depth, frame, start, tmp_path, rng):
    counts = rng.integers(0, np.iinfo(depth).max, (6, 12, 16), endpoint=True).astype(depth)
    positions, headings = rng.uniform(-5000, 5000, (6, 2)), rng.uniform(-np.pi, np.pi, 6)
    positions[2], headings[3] = np.nan, np.nan
    sequence = recorded(counts, positions, headings, frame, start)
    write_folder(tmp_path / "out", sequence)
    again = read_folder(tmp_path, "out", frame if frame.kind == "enu" else None)
    assert (again.frame, stamps(again), len(again)) == (frame, stamps(sequence), 6)
    for row, frame_again in enumerate(again):
        np.testing.assert_array_equal(frame_again.image(), counts[row], strict=True)
        assert frame_again.heading == (None if row == 3 else headings[row])
        found = (np.nan, np.nan) if frame_again.position is None else frame_again.position
        np.testing.assert_allclose(found, positions[row], atol=1e-4)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_an_interrupted_import_is_not_read_as_a_shorter_sequence(failing, tmp_path):
    def watch(rows):
        for row in rows:
            if row == failing:
                raise KeyboardInterrupt
            yield row

    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "out", recorded(np.zeros((3, 4, 4), np.uint16), np.zeros((3, 2))), watch)
    with pytest.raises(InputError, match=r"no such f"):
        read_folder(tmp_path, "out")


def test_a_sequence_without_frames_is_not_written(tmp_path):
    with pytest.raises(InputError, match="walk: holds no frame"):
        write_folder(tmp_path / "out", recorded([], np.zeros((0, 2))))
    assert not (tmp_path / "out").exists()


def test_sequences_in_utm_that_were_written_still_share_a_frame(tmp_path):
    """Each counts from its own first position; read again, they are where they were to one another."""
    grids = [CoordinateFrame("utm", "52N", (346522.0, 4023630.0)), CoordinateFrame("utm", "52N", (346600.0, 4023000.0))]
    for name, grid in zip(("noon", "night"), grids, strict=True):
        positions = np.array([[0.25, 0.5], [1.5, -2.0]])
        stamped = WHEN + np.arange(2) * 10**8
        still = from_arrays(name, grid, stamped, lambda _: np.zeros((4, 4), np.uint16), positions, np.zeros(2))
        write_folder(tmp_path / name, still)
    noon = read_folder(tmp_path, "noon")
    night = read_folder(tmp_path, "night", noon.frame)
    assert noon.frame == grids[0]
    assert next(iter(noon)).position.tolist() == [0.25, 0.5]
    assert next(iter(night)).position.tolist() == [78.25, -629.5]


@pytest.mark.parametrize("zone", ["", ",52N\n,33N", ",52"])
def test_utm_without_one_zone_is_refused(zone, drive):
    header = "stamp,file,easting,northing" + (",zone" if zone else "")
    zones = zone.split("\n") * 2 if zone else ["", ""]
    lines = [f"{row},{file},346522,4023630{zones[row]}" for row, file in enumerate(("a.png", "b.png"))]
    with pytest.raises(InputError, match=r"frames.csv: easting,northing need a column zone with one UTM zone"):
        drive(listed(header, *lines))
