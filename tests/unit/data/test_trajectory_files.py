"""Files beside images: TUM and KITTI poses against matrices, tables as spreadsheets write them, and random damage."""

import numpy as np
import pytest

from tmapr.data.trajectory import count_columns, read_kitti, read_stamps, read_table, read_tum
from tmapr.exceptions import InputError

WHEN = 1_628_215_174_691_250_698
LEVEL = "0 0 0 1"


@pytest.fixture
def stored(tmp_path):
    """Writes a file and gives its path."""

    def store(content, name="drive.tum"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return store


def quaternion(yaw, pitch, roll):
    """Of a body turned by roll about x, then pitch about y, then yaw about z."""
    (cy, sy), (cp, sp), (cr, sr) = ((np.cos(angle / 2), np.sin(angle / 2)) for angle in (yaw, pitch, roll))
    x, y, z = sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy
    return x, y, z, cr * cp * cy + sr * sp * sy


def rotation(axis, angle):
    first, second = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[[first, second], [first, second]] = np.cos(angle)
    R[second, first], R[first, second] = np.sin(angle), -np.sin(angle)
    return R


def test_a_tum_file_is_read_to_the_nanosecond_and_the_last_digit(stored):
    text = (
        f"# stamp x y z qx qy qz qw\n\n1628215174.691250698 1.5 -2.25 9 {LEVEL}\r\n1628215175 1e3 0 0 {LEVEL} # end\n"
    )
    poses = read_tum(stored(text))
    assert poses.stamps.tolist() == [WHEN, 1_628_215_175 * 10**9]
    np.testing.assert_array_equal(poses.positions, [(1.5, -2.25), (1000.0, 0.0)])
    np.testing.assert_array_equal(poses.headings, [0.0, 0.0])


def test_the_heading_is_the_yaw_whatever_the_roll_and_pitch(stored, rng):
    yaws, pitches, rolls = rng.uniform(-3.1, 3.1, 200), rng.uniform(-1.4, 1.4, 200), rng.uniform(-3.1, 3.1, 200)
    rows = (quaternion(*angles) for angles in zip(yaws, pitches, rolls, strict=True))
    text = "".join(f"{row}.5 0 0 0 {' '.join(map(repr, map(float, q)))}\n" for row, q in enumerate(rows))
    np.testing.assert_allclose(read_tum(stored(text)).headings, yaws, atol=1e-9)


def test_four_decimals_of_a_quaternion_are_enough(stored):
    assert read_tum(stored("0.5 0 0 0 0.0000 0.0000 0.7071 0.7071")).headings[0] == pytest.approx(np.pi / 2)


def test_a_kitti_drive_seen_from_above_goes_ahead_and_turns_left(stored):
    """The camera looks along z, x is to its right and y down: a turn to the left is a negative one about y."""
    ahead = np.column_stack([np.eye(3), [0.0, 0.0, 0.0]])
    left = np.column_stack([rotation(1, -np.radians(30)), [-2.0, 0.1, 10.0]])
    text = "".join(" ".join(f"{value:.6e}" for value in pose.ravel()) + "\n" for pose in (ahead, left))
    positions, headings = read_kitti(stored(text, "poses.txt"))
    np.testing.assert_allclose(positions, [(0.0, 0.0), (10.0, 2.0)], atol=1e-6)
    np.testing.assert_allclose(headings, [0.0, np.radians(30)], atol=1e-6)


def test_a_kitti_heading_is_the_direction_of_a_camera_that_drives_forward(stored, rng):
    poses, position = [], np.zeros(3)
    for turn in np.cumsum(rng.normal(0, 0.1, 50)):
        R = rotation(1, turn) @ rotation(0, 0.02) @ rotation(2, -0.05)
        position = position + R @ [0.0, 0.0, 1.0]
        poses.append(np.column_stack([R, position]))
    text = "".join(" ".join(map(repr, pose.ravel().tolist())) + "\n" for pose in poses)
    positions, headings = read_kitti(stored(text, "poses.txt"))
    travelled = np.diff(positions, axis=0)
    np.testing.assert_allclose(np.arctan2(*travelled.T[::-1]), headings[1:], atol=1e-9)


def test_the_two_formats_differ_in_their_number_of_columns(stored):
    assert count_columns(stored(f"# comment\n1 2 3 4 {LEVEL}\n")) == 8
    assert count_columns(stored(" ".join("1" * 12), "poses.txt")) == 12
    assert count_columns(stored("# nothing")) == 0


REFUSED_TUM = [
    ("", "holds no pose"),
    ("# only comments\n\n", "holds no pose"),
    (f"1 2 3 4 {LEVEL}\n2 3 4 {LEVEL}", "line 2: has 7 cells, there must be 8"),
    (f"1,2,3,4,{LEVEL}", "line 1: has 4 cells, there must be 8"),
    (f"#\n1 nan 3 4 {LEVEL}", "line 2: x is nan; leave"),
    (f"1 2 inf 4 {LEVEL}", "line 1: y is inf; leave"),
    (f"1 2 3 here {LEVEL}", "line 1: z is 'here', not a number"),
    (f"1 2 3 1e300 {LEVEL}", "line 1: z is 1e+300, farther than any place on Earth"),
    (f"1 2 3 4 {LEVEL}\n\n2 2 3 4 0 0 0 0", "line 3: the quaternion's length is 0, it must be 1"),
    ("1 2 3 4 0 0 0.9 0.9", "line 1: the quaternion's length is 1.273, it must be 1"),
    (f"soon 2 3 4 {LEVEL}", "line 1: stamp 'soon' is neither"),
    (f"1.5 2 3 4 {LEVEL}\n{WHEN} 2 3 4 {LEVEL}", "line 2: stamp '1628215174691250698' is in integer nanoseconds"),
    (b"\x89PNG\r\n\x1a\n\0\0", "is not a TUM file in UTF-8"),
]


@pytest.mark.parametrize(("content", "answer"), REFUSED_TUM)
def test_a_mistaken_tum_file_is_refused_with_its_line(content, answer, stored):
    with pytest.raises(InputError) as refusal:
        read_tum(stored(content))
    assert "drive.tum" in str(refusal.value)
    assert answer in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("1 0 0 0 0 1 0 0 0 0 1", "line 1: has 11 cells, there must be 12"),
        ("1 0 0 0 0 1 0 0 0 0 1 0\n2 0 0 0 0 2 0 0 0 0 2 0", "line 2: the first three of its four columns are no rot"),
        ("1 0 0 0 0 1 0 0 0 0 1 nan", "line 1: number 12 is nan"),
    ],
)
def test_a_mistaken_kitti_file_is_refused_with_its_line(text, answer, stored):
    with pytest.raises(InputError, match=rf"poses\.txt, {answer}"):
        read_kitti(stored(text, "poses.txt"))


@pytest.mark.parametrize(
    "text", ["1.5\n2.5\n", "when\n1.5\n2.5", "\ufeff1.5,x\r\n2.5,y\r\n", "id,time\n7,1.5\n8,2.5\n"]
)
def test_stamps_stand_in_the_first_column_or_in_the_one_called_so(text, stored):
    assert read_stamps(stored(text, "times.txt")).tolist() == [1_500_000_000, 2_500_000_000]


def test_no_column_is_taken_for_stamps_by_chance(stored):
    with pytest.raises(InputError, match=r"times\.txt: has the columns frame, seconds; call the one with stamps stamp"):
        read_stamps(stored("frame,seconds\n0,1.5\n1,2.5\n", "times.txt"))


def test_a_damaged_first_stamp_is_not_taken_for_a_header(stored):
    with pytest.raises(InputError, match=r"times\.txt, line 1: stamp 'l\.5' is neither"):
        read_stamps(stored("l.5\n2.5\n", "times.txt"))


@pytest.mark.parametrize("text", ["", "stamp\n", "\n\n"])
def test_a_file_without_stamps_is_refused(text, stored):
    with pytest.raises(InputError, match=r"times\.txt: holds no stamp"):
        read_stamps(stored(text, "times.txt"))


def test_a_table_is_read_as_spreadsheets_write_it(stored):
    table = read_table(
        stored('\ufeffStamp , FILE ,"a\r\nb",,\r\n 1 ," a, b.png ",x,,\r\n\r\n2,c.png,,,\r\n', "frames.csv")
    )
    assert table.columns == {"stamp": ["1", "2"], "file": ["a, b.png", "c.png"], "a b": ["x", ""]}
    assert [table.where(row)[-6:] for row in (0, 1)] == ["line 3", "line 5"]
