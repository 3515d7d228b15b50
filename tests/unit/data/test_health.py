"""Health: each planted defect is found at its row, and what is sound raises no alarm."""

import cv2
import numpy as np
import pytest

from repository import SHARED
from tmapr.artifacts.images import read_image, write_png
from tmapr.artifacts.probe import ImageHeader
from tmapr.data.examination import DefectKind, examine
from tmapr.data.health import Detector, Health
from tmapr.data.sequence import from_arrays
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, CoordinateFrame, Fault

SHAPE = HEIGHT, WIDTH = 48, 64
START = 1_628_215_174_691_250_698
PERIOD = NANOSECONDS // 10
REAL = sorted((SHARED / "fieldscale_14bit").glob("*.png"))
real = pytest.mark.skipif(not REAL, reason="the real frames lie beside the repository, and are not there")


def stream(count, depth=np.uint16):
    """A camera that drives past a wall, with the noise of its sensor."""
    rng = np.random.default_rng(11)
    level, contrast = (3000, 200) if depth is np.uint16 else (120, 30)
    wall = cv2.resize(rng.normal(size=(6, 8 + count)), (WIDTH + 4 * count, HEIGHT))
    views = [level + contrast * wall[:, 4 * row : 4 * row + WIDTH] for row in range(count)]
    return [(view + rng.normal(0, 3, SHAPE)).clip(1, 0.99 * np.iinfo(depth).max).astype(depth) for view in views]


def recorded(images, *, stamps=None, positions=None, files=None, image=None):
    """A sequence of these images, ten a second and a metre apart unless told otherwise."""
    count = len(images)
    stamps = START + PERIOD * np.arange(count) if stamps is None else stamps
    positions = track(count, {}) if positions is None else positions
    image = image or images.__getitem__
    return from_arrays("walk", CoordinateFrame(), stamps, image, positions, np.full(count, np.nan), files)


def track(count, jumps):
    """A metre a frame, and further by so much from a row on."""
    ahead = [row + sum(by for at, by in jumps.items() if row >= at) for row in range(count)]
    return np.stack([ahead, np.zeros(count)], axis=1).astype(float)


def found(sequence, health=None):
    """The kinds and rows of what is found, with the images of all frames read."""
    return [(defect.kind, defect.row) for defect in examine(sequence, health, sample=None).defects]


def verdicts(images, health=None):
    detector = Detector(health)
    return [detector.inspect(image) for image in images]


@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
def test_a_live_camera_raises_no_alarm(depth):
    images = stream(40, depth)
    assert verdicts(images) == [None] * 40
    assert found(recorded(images)) == []


def test_a_camera_that_stands_still_raises_no_alarm(rng):
    scene = stream(1)[0].astype(float)
    images = [(scene + rng.normal(0, 1, SHAPE)).astype(np.uint16) for _ in range(40)]
    assert verdicts(images) == [None] * 40
    assert found(recorded(images, positions=np.zeros((40, 2)))) == []


@real
def test_real_consecutive_frames_raise_no_alarm():
    images = [read_image(path) for path in REAL]
    assert verdicts(images) == [None] * len(REAL)
    examination = examine(recorded(images, files=REAL))
    assert examination.defects == ()
    assert (tuple(examination.headers), examination.counts) == (
        (ImageHeader(512, 640, 16),),
        (np.min(images), np.max(images)),
    )


def frozen(images, first, count):
    """The shutter closes: the image before `first` stays for so many frames, as new arrays."""
    return [*images[:first], *(images[first - 1].copy() for _ in range(count)), *images[first + count :]]


def test_the_frames_of_a_two_second_shutter_freeze_are_frozen_and_no_others():
    faults = verdicts(frozen(stream(60), 25, 20))
    assert faults == [None] * 25 + [Fault.FROZEN] * 20 + [None] * 15


@pytest.mark.parametrize("pixel", [(0, 0), (5, 7), (47, 63)])
def test_one_count_of_one_pixel_shows_that_the_camera_is_alive(pixel):
    first = stream(1)[0]
    second = first.copy()
    second[pixel] += 1
    assert verdicts([first, second]) == [None, None]


def test_an_image_is_compared_with_the_last_one_only():
    first, second = stream(2)
    assert verdicts([first, second, first, first]) == [None, None, None, Fault.FROZEN]


def test_a_driver_may_reuse_its_memory():
    detector, memory = Detector(), np.zeros(SHAPE, np.uint16)
    faults = []
    for image in frozen(stream(6), 3, 2):
        memory[:] = image
        faults.append(detector.inspect(memory))
    assert faults == [None, None, None, Fault.FROZEN, Fault.FROZEN, None]


def test_another_size_or_depth_is_another_image():
    image = stream(1, np.uint8)[0]
    assert verdicts([image, image.astype(np.uint16), image[:, ::2], image[:, ::2].T]) == [None] * 4


def test_a_source_without_noise_may_be_allowed_to_repeat_itself():
    images = frozen(stream(12), 4, 5)
    assert verdicts(images, Health(repeats=3)) == [None] * 6 + [Fault.FROZEN] * 3 + [None] * 3


def clipped(share, top, depth):
    image = stream(1, depth)[0]
    image.reshape(-1)[: round(share * image.size)] = top
    return image


@pytest.mark.parametrize(("depth", "top"), [(np.uint8, 255), (np.uint16, 16383), (np.uint16, 65535)])
@pytest.mark.parametrize(("share", "fault"), [(0.499, None), (0.5, Fault.SATURATED), (1.0, Fault.SATURATED)])
def test_an_image_is_saturated_from_half_of_its_pixels_on(depth, top, share, fault):
    assert verdicts([clipped(share, top, depth)]) == [fault]


@pytest.mark.parametrize(("depth", "count"), [(np.uint8, 254), (np.uint16, 255), (np.uint16, 4095), (np.uint16, 16384)])
def test_a_count_that_is_not_the_highest_of_its_depth_is_a_scene(depth, count):
    assert verdicts([clipped(0.8, count, depth)]) == [None]


def test_14_bits_are_not_the_top_of_an_image_that_goes_beyond():
    image = clipped(0.8, 16383, np.uint16)
    image[-1, -1] = 16500
    assert verdicts([image]) == [None]


@pytest.mark.parametrize(
    ("contrast", "span", "fault"), [(1, 0, Fault.EMPTY), (1, 1, None), (8, 7, Fault.EMPTY), (8, 8, None)]
)
def test_an_image_without_contrast_is_empty(contrast, span, fault):
    image = np.full(SHAPE, 3000, np.uint16)
    image[0, 0] += span
    assert verdicts([image], Health(contrast=contrast)) == [fault]


@pytest.mark.parametrize(("count", "fault"), [(0, Fault.EMPTY), (3000, Fault.EMPTY), (65535, Fault.SATURATED)])
def test_what_shows_no_noise_may_repeat_itself_and_is_not_called_frozen(count, fault):
    assert verdicts([np.full(SHAPE, count, np.uint16)] * 3) == [fault] * 3


@pytest.mark.parametrize("image", [np.zeros(SHAPE), np.zeros((*SHAPE, 3), np.uint8), np.zeros((0, 4), np.uint8)])
def test_what_are_no_counts_is_refused(image):
    with pytest.raises(InputError, match=r"must be uint8 or uint16 counts, got .* of shape \("):
        Detector().inspect(image)


@pytest.mark.parametrize(("fault", "count"), [(DefectKind.SATURATED, 65535), (DefectKind.EMPTY, 700)])
def test_unusable_images_are_reported_by_runs(fault, count):
    images = stream(30)
    for row in (4, 5, 6, 20):
        images[row] = np.full(SHAPE, count, np.uint16)
    defects = examine(recorded(images)).defects
    assert [(defect.kind, defect.row, defect.detail) for defect in defects] == [
        (fault, 4, "3 images, 0.2 s"),
        (fault, 20, "1 images, 0.0 s"),
    ]


def later(stamps, row, seconds):
    """From a row on everything comes so much later."""
    return stamps + np.where(np.arange(len(stamps)) >= row, round(seconds * NANOSECONDS), 0)


STAMPS = START + PERIOD * np.arange(30)


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.19, []), (0.21, [(DefectKind.PAUSE, 12)]), (60.0, [(DefectKind.PAUSE, 12)])]
)
def test_a_pause_is_longer_than_three_usual_intervals(seconds, expected):
    assert found(recorded(stream(30), stamps=later(STAMPS, 12, seconds), positions=np.zeros((30, 2)))) == expected


def test_dropped_frames_as_ms2_has_them_are_no_pauses():
    stamps = START + np.cumsum(np.where(np.arange(30) % 4, 66_000_000, 132_000_000))
    assert found(recorded(stream(30), stamps=stamps)) == []


def test_older_and_repeated_stamps_are_found_at_their_rows():
    stamps = STAMPS.copy()
    stamps[7] = stamps[6]
    stamps[20] = stamps[18]
    assert found(recorded(stream(30), stamps=stamps)) == [(DefectKind.REPEATED, 7), (DefectKind.OLDER, 20)]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_shortest_sequences_are_examined_too(count):
    examination = examine(recorded(stream(count)))
    assert (examination.frames, examination.defects) == (count, ())
    assert examination.rate == (pytest.approx(10.0) if count == 2 else None)


def test_a_step_of_the_level_after_a_shutter_is_a_flash():
    images = frozen(stream(40), 18, 3)
    images[21:] = [image + np.uint16(250) for image in images[21:]]
    assert found(recorded(images)) == [(DefectKind.FROZEN, 18), (DefectKind.FLASH, 21)]


@pytest.mark.parametrize("rise", [90, 400])
def test_a_level_that_rises_all_the_time_is_no_flash(rise):
    assert found(recorded([image + np.uint16(rise * row) for row, image in enumerate(stream(40))])) == []


def test_another_level_after_a_pause_is_no_flash():
    images = [image + np.uint16(500 * (row >= 12)) for row, image in enumerate(stream(30))]
    assert found(recorded(images)) == [(DefectKind.FLASH, 12)]
    assert found(recorded(images, stamps=later(STAMPS, 12, 60.0))) == [(DefectKind.PAUSE, 12)]


def stuck(images, first, lines):
    """From a frame on these pixels show what they showed then."""
    held = images[first][lines].copy()
    for image in images[first:]:
        image[lines] = held
    return images


def levelled(images, first, lines):
    """From a frame on each of these lines has a single count, another in every frame."""
    for row, image in enumerate(images[first:]):
        image[lines] = 2900 + row
    return images


@pytest.mark.parametrize("broken", [stuck, levelled])
@pytest.mark.parametrize(
    ("first", "lines", "name"),
    [
        (0, np.s_[:, 12], "column 12"),
        (7, np.s_[:, [5, 6, 63]], "column 5, 6, 63"),
        (3, np.s_[47], "row 47"),
        (30, np.s_[:2], "row 0, 1"),
    ],
)
def test_dead_columns_and_rows_are_named_with_the_frame_they_died_at(broken, first, lines, name):
    (defect,) = examine(recorded(broken(stream(40), first, lines))).defects
    assert (defect.kind, defect.row) == (DefectKind.DEAD, first)
    assert defect.detail.startswith(f"{name}: ")


@pytest.mark.parametrize("broken", [stuck, levelled])
def test_a_line_is_not_dead_before_ten_frames(broken):
    assert found(recorded(broken(stream(40), 31, np.s_[:, 12]))) == []


def test_a_line_that_changes_once_in_nine_frames_is_alive():
    images = stuck(stream(40), 0, np.s_[:, 12])
    for row in range(0, 40, 9):
        images[row][20, 12] += 1
    assert found(recorded(images)) == []


def test_a_freeze_kills_no_column():
    assert found(recorded(frozen(stream(60), 10, 40))) == [(DefectKind.FROZEN, 10)]
    assert found(recorded(frozen(stream(60), 10, 40)), Health(repeats=50)) == []


def test_images_unlike_most_are_mixed():
    images = stream(30)
    for row in (8, 9):
        images[row] = images[row][::2, ::2].copy()
    examination = examine(recorded(images))
    (defect,) = examination.defects
    assert (defect.kind, defect.row) == (DefectKind.MIXED, 8)
    assert defect.detail == "2 images are 32x24, 16 bit; the first"
    assert examination.headers == {ImageHeader(48, 64, 16): 28, ImageHeader(24, 32, 16): 2}


@pytest.mark.parametrize(
    ("jumps", "rows"),
    [({12: 1.4}, []), ({12: 1.6}, [12]), ({12: -40.0}, [12]), ({12: 500.0, 13: -500.0}, [12, 13]), ({1: 9.0}, [1])],
)
def test_a_recorded_position_jumps_by_the_rule_for_estimates(jumps, rows):
    """10 m/s and ten frames a second: 1 m + 1.5 · 10 m/s · 0.1 s are allowed."""
    examination = examine(recorded(stream(30), positions=track(30, jumps)))
    assert [(defect.kind, defect.row) for defect in examination.defects] == [(DefectKind.JUMP, row) for row in rows]
    assert examination.length == pytest.approx(29 - len(rows) + (1.4 if not rows else 0))
    assert examination.top_speed == pytest.approx(10.0)


@pytest.mark.parametrize(("top_speed", "rows"), [(19.9, []), (6.6, list(range(1, 30))), (None, [])])
def test_jumps_are_measured_by_the_reference_where_there_is_one(top_speed, rows):
    positions = 2.0 * track(30, {})
    examination = examine(recorded(stream(30), positions=positions), top_speed=top_speed)
    assert [defect.row for defect in examination.defects] == rows


def test_positions_held_between_the_fixes_of_a_slow_receiver_are_no_jumps():
    positions = 20.0 * (track(60, {}) // 10)
    assert found(recorded(stream(60), positions=positions)) == []


def test_frames_without_a_position_are_counted():
    positions = track(30, {})
    positions[[4, 5, 20]] = np.nan
    examination = examine(recorded(stream(30), positions=positions))
    assert examination.located == 27
    assert [(defect.kind, defect.row, defect.detail) for defect in examination.defects] == [
        (DefectKind.UNLOCATED, 4, "3 of 30 frames; the first")
    ]
    assert examination.length == pytest.approx(29.0)


@pytest.fixture
def on_disk(tmp_path):
    """A sequence of files, changed after they were written."""

    def write(images, change):
        files = [tmp_path / f"{row:04}.png" for row in range(len(images))]
        for file, image in zip(files, images, strict=True):
            write_png(file, image)
        change(files)
        return recorded(images, files=files, image=lambda row: read_image(files[row]))

    return write


def cut(file, keep):
    file.write_bytes(file.read_bytes()[:keep])


def test_every_file_is_probed_whichever_pixels_are_read(on_disk):
    sequence = on_disk(stream(50), lambda files: [cut(files[33], 900), files[41].unlink()])
    examination = examine(sequence, sample=4)
    assert [(defect.kind, defect.row, defect.file.name) for defect in examination.defects] == [
        (DefectKind.UNREADABLE, 33, "0033.png"),
        (DefectKind.UNREADABLE, 41, "0041.png"),
    ]
    assert examination.defects[0].detail.startswith("is cut off or damaged (900 bytes)")
    assert (examination.read, examination.headers) == (4, {ImageHeader(48, 64, 16): 48})


def test_a_file_damaged_between_its_ends_is_found_where_its_pixels_are_read(on_disk):
    def damage(files):
        content = bytearray(files[3].read_bytes())
        content[len(content) // 2] ^= 1
        files[3].write_bytes(content)

    sequence = on_disk(stream(12), damage)
    assert found(sequence) == [(DefectKind.UNREADABLE, 3)]
    assert examine(sequence, sample=4).defects == ()


def noted(images, read):
    """The sequence of these images, which notes the rows of those that are read."""
    return recorded(images, image=lambda row: read.append(row) or images[row])


@pytest.mark.parametrize(("sample", "rows"), [(10, [0, 1, 24, 25, 49, 50, 73, 74, 98, 99]), (1, [0, 1])])
def test_a_sample_is_of_pairs_of_neighbours_from_the_first_to_the_last(sample, rows):
    read = []
    assert examine(noted(stream(100), read), sample=sample).read == len(rows)
    assert read == rows
