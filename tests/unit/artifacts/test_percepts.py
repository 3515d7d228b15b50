"""Percept caches: a recording survives being written and read back; a bad one is refused by its row."""

from dataclasses import replace

import numpy as np
import pytest

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays
from tmapr.artifacts.percepts import KIND, VERSION, Origin, Recording
from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame, Fault, Odometry

FRAMES, DIM = 6, 16
STAMP = 1_628_847_484_123_456_789
NOTHING = [np.nan, np.nan]
ARRAYS = ("stamps", "descriptors", "positions", "headings", "faults", "truth", "motion", "truth_headings", "shifts")
SHIFTS = [np.nan, 0.125, -1.0, np.nan, np.nan, 1 / 3]


@pytest.fixture
def recording(rng):
    """Frame 1 has no position, frame 2 no heading, frame 3 is frozen, frame 4 empty, frame 5 without truth."""
    positions, truth, headings = rng.normal(size=(FRAMES, 2)), rng.normal(size=(FRAMES, 2)), rng.normal(size=FRAMES)
    positions[1], headings[2], truth[5] = NOTHING, np.nan, NOTHING
    descriptors = rng.normal(size=(FRAMES, DIM))
    descriptors[4] = 0.0
    return Recording.from_arrays(
        "night/left",
        STAMP + np.arange(FRAMES),
        descriptors,
        truth=truth,
        positions=positions,
        headings=headings,
        faults=["", "", "", "frozen", "empty", ""],
        shifts=np.array(SHIFTS),
        frame=CoordinateFrame("utm", "52N", (354_000.5, 4_026_000.25)),
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "night__left.npz"


@pytest.fixture
def again(recording, path):
    recording.save(path)
    return Recording.load(path)


def test_all_that_is_known_reads_back_bit_for_bit_and_none_as_none(recording, again):
    np.testing.assert_array_equal(again.stamps, STAMP + np.arange(FRAMES))
    np.testing.assert_array_equal(again.truth, recording.truth)
    np.testing.assert_array_equal(again.known, [True] * 5 + [False])
    assert (again.sequence, again.frame, again.origin) == ("night/left", recording.frame, Origin())
    for before, after in zip(recording.percepts, again.percepts, strict=True):
        np.testing.assert_array_equal(after.position, before.position)
        np.testing.assert_allclose(after.descriptor, before.descriptor, atol=1e-7)
        assert (after.heading, after.shift, after.fault) == (before.heading, before.shift, before.fault)
    assert (again.percepts[1].position, again.percepts[2].heading, again.headings) == (None, None, None)
    assert [percept.fault for percept in again.percepts] == [None, None, None, Fault.FROZEN, Fault.EMPTY, None]
    assert [percept.shift for percept in again.percepts] == [None, 0.125, -1.0, None, None, 1 / 3]


def test_descriptors_come_back_with_length_one_in_double_precision(again):
    descriptors = np.array([percept.descriptor for percept in again.percepts])
    assert descriptors.dtype == np.float64
    # A sum of 16 squares and a division: a few roundings of 1.1e-16.
    np.testing.assert_allclose(np.linalg.norm(np.delete(descriptors, 4, axis=0), axis=1), 1.0, rtol=1e-15)


def test_a_descriptor_may_have_any_length_when_it_comes(rng):
    rows = rng.normal(size=(3, DIM))
    short, long = (Recording.from_arrays("a", np.arange(3), scale * rows) for scale in (1e-5, 1e5))
    for one, other in zip(short.percepts, long.percepts, strict=True):
        np.testing.assert_allclose(one.descriptor, other.descriptor, rtol=1e-14)


def test_a_faulty_frame_may_have_no_direction():
    recording = Recording.from_arrays("a", np.arange(1), np.full((1, DIM), np.nan), faults=["saturated"])
    np.testing.assert_array_equal(recording.percepts[0].descriptor, np.zeros(DIM))


def test_a_recording_may_hold_descriptors_alone(rng):
    recording = Recording.from_arrays("a", np.arange(2), rng.normal(size=(2, DIM)))
    assert not recording.known.any()
    assert all(percept.position is None and percept.heading is None for percept in recording.percepts)


def test_the_origin_reads_back(recording, path):
    origin = Origin({"encoder": "a.pth", "size": [224, 224]}, {"encoder": "5e77"})
    replace(recording, origin=origin).save(path)
    assert Recording.load(path).origin == origin


@pytest.fixture
def tampered(again, path):
    """The refusal of the file with some arrays changed, or removed where None is given."""

    def refusal(**changes):
        header, arrays = load_arrays(path, KIND, VERSION)
        arrays = {name: array for name, array in (arrays | changes).items() if array is not None}
        save_arrays(path, Header(KIND, VERSION, header.settings, header.notes), arrays)
        with pytest.raises(InputError) as refused:
            Recording.load(path)
        assert "\n" not in str(refused.value)
        return str(refused.value)

    return refusal


def test_motion_reads_back_bit_for_bit_and_none_as_none(recording, path, rng):
    motion = rng.normal(size=(FRAMES, 2))
    motion[0], motion[1, 0], motion[2, 1] = np.nan, np.nan, np.nan
    recording.with_motion(motion).save(path)
    found = [percept.motion for percept in Recording.load(path).percepts]
    assert found[:3] == [None, Odometry(None, motion[1, 1]), Odometry(motion[2, 0], None)]
    assert [each.numbers for each in found[3:]] == [tuple(row) for row in motion[3:].tolist()]


@pytest.mark.parametrize("shift", [-1.01, 1.01, 2.0, np.inf])
def test_a_shift_by_more_than_a_picture_is_refused_with_its_row(shift, tampered):
    assert f"night__left.npz: shifts, row 1: {shift} is " in tampered(shifts=np.array([0.0, shift, *SHIFTS[2:]]))


def test_shifts_are_part_of_what_is_said_of_the_images(recording):
    other = replace(recording, percepts=tuple(replace(percept, shift=0.25) for percept in recording.percepts))
    assert other.marks.percepts != recording.marks.percepts
    assert other.marks.truth == recording.marks.truth


def test_recorded_headings_read_back_bit_for_bit_beside_those_of_the_pose_head(recording, path, rng):
    recorded = np.where(np.arange(FRAMES) == 3, np.nan, rng.normal(size=FRAMES))
    replace(recording, headings=recorded).save(path)
    again = Recording.load(path)
    assert again.headings.tobytes() == recorded.tobytes()
    assert [percept.heading for percept in again.percepts] == [percept.heading for percept in recording.percepts]


@pytest.mark.parametrize("name", ARRAYS)
def test_a_missing_array_is_refused_by_name(name, tampered):
    assert f"night__left.npz: has no array '{name}'" in tampered(**{name: None})


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("descriptors", np.ones((5, DIM), dtype=np.float32)),
        ("positions", np.ones((7, 2))),
        ("headings", np.ones(5)),
        ("faults", np.array([""])),
        ("truth", np.ones((7, 2))),
        ("shifts", np.zeros(5)),
    ],
)
def test_arrays_of_different_lengths_are_refused_with_both(name, rows, tampered):
    assert f"night__left.npz: {name} has {len(rows)} rows, stamps has {FRAMES}" in tampered(**{name: rows})


@pytest.mark.parametrize("name", ["positions", "truth"])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_infinite_position_is_refused_with_its_row(name, sign, tampered):
    poses = np.zeros((FRAMES, 2))
    poses[3, 1] = sign * np.inf
    assert f"night__left.npz: {name}, row 3: " in tampered(**{name: poses})


def test_an_infinite_heading_is_refused_with_its_row(tampered):
    headings = np.zeros(FRAMES)
    headings[2] = np.inf
    assert "night__left.npz: headings, row 2: inf is infinite" in tampered(headings=headings)


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_a_descriptor_without_direction_is_refused_with_its_row(value, tampered):
    descriptors = np.ones((FRAMES, DIM), dtype=np.float32)
    descriptors[1] = value
    assert "descriptor of frame 1 has length" in tampered(descriptors=descriptors)


def test_a_recording_without_frames_is_refused():
    with pytest.raises(InputError, match="drive: holds no frame"):
        Recording.from_arrays("drive", np.zeros(0, dtype=np.int64), np.zeros((0, DIM)))


@pytest.mark.parametrize(
    ("name", "spoilt", "message"),
    [
        ("truth", np.zeros((6, 3)), r"truth must not be float64 of shape \(6, 3\)"),
        ("positions", np.zeros(6), r"positions must not be float64 of shape \(6,\)"),
        ("descriptors", np.ones((6, 2, 2)), r"descriptors must not be float64 of shape \(6, 2, 2\)"),
        ("descriptors", np.ones(6), r"descriptors must not be float64 of shape \(6,\)"),
        ("stamps", np.arange(6.0), r"stamps must not be float64 of shape \(6,\)"),
        ("stamps", np.array(6), r"stamps must not be int64 of shape \(\)"),
        ("faults", np.zeros(6, dtype=int), r"faults must not be int64 of shape \(6,\)"),
        ("faults", np.array(["foggy"] * 6), r"'foggy' is no fault; known are frozen, empty"),
        ("headings", np.zeros((6, 1)), r"headings must not be float64 of shape \(6, 1\)"),
        ("positions", np.array(["x"] * 12).reshape(6, 2), r"positions must not be <U1 of shape \(6, 2\)"),
    ],
)
def test_an_array_of_another_shape_or_kind_is_refused_by_its_name(name, spoilt, message, path):
    arrays = {
        "stamps": np.arange(6),
        "descriptors": np.ones((6, DIM)),
        "positions": np.zeros((6, 2)),
        "headings": np.zeros(6),
        "faults": np.array([""] * 6),
        "truth": np.zeros((6, 2)),
        "motion": np.zeros((6, 2)),
        "truth_headings": np.zeros(6),
        "shifts": np.zeros(6),
    }
    notes = {"sequence": "drive", "frame": {"kind": "local", "zone": None, "origin": []}}
    save_arrays(path, Header("percepts", 1, "", notes), arrays | {name: spoilt})
    with pytest.raises(InputError, match=message):
        Recording.load(path)
