"""The files of a journal: what a kill or a power cut tears off, what is damaged, and what is hostile."""

import os
import struct
import tracemalloc
import zlib

import numpy as np
import pytest

from journals import HEADER, WIDTH, names
from tmapr.exceptions import InputError
from tmapr.journal.appending import Appender
from tmapr.journal.journal import Journal, name_segment
from tmapr.journal.records import Kind, LessonRecord, Mark
from tmapr.journal.segments import HEAD_BYTES, pack_header
from tmapr.places.lessons import Kept


def lesson(number, kind=Kind.OWN):
    """A lesson of no classifier: files do not ask."""
    numbers = np.random.default_rng(number).normal(size=WIDTH)
    before = (number - 1).to_bytes(8, "little") if number else bytes(8)
    return LessonRecord(kind, number, 100 * number, Kept(np.ones(3), 2, (1, -1), number, before, numbers, numbers))


def write(folder, records, most=1000):
    folder.mkdir(exist_ok=True)
    appender = Appender(folder, HEADER, most)
    for record in records:
        appender.append([record])
    appender.close()
    return folder / name_segment(appender.newest)


def test_a_folder_that_is_not_there_is_an_empty_journal(tmp_path):
    journal = Journal.open(tmp_path / "nowhere")
    assert (journal.entries, journal.header, journal.last, journal.size) == ((), None, None, 0)


def test_what_is_written_is_read(tmp_path):
    write(tmp_path, [lesson(1), lesson(2, Kind.LABEL), Mark(Kind.UNLEARNED, bytes(8), 1, names=(1,)), lesson(3)])
    journal = Journal.open(tmp_path)
    assert [entry.kind for entry in journal.entries] == [Kind.OWN, Kind.LABEL, Kind.UNLEARNED, Kind.OWN]
    assert names(tmp_path) == [1, 2, 3]
    found = journal.read_lesson(journal.find(2))
    np.testing.assert_array_equal(found.kept.descriptor, lesson(2).kept.descriptor)
    np.testing.assert_array_equal(found.kept.step, lesson(2).kept.step)
    assert (found.stamp, found.kept.cell) == (200, (1, -1))


def test_a_tail_torn_at_any_byte_loses_the_last_record_and_no_other(tmp_path):
    path = write(tmp_path, [lesson(1), lesson(2)])
    two = path.read_bytes()
    write(tmp_path, [lesson(3)])
    whole = path.read_bytes()
    for size in range(len(two), len(whole), 3):
        path.write_bytes(whole[:size])
        assert names(tmp_path) == [1, 2]
        assert Journal.open(tmp_path).torn == size - len(two)
        write(tmp_path, [lesson(4)])  # the next writer cuts it off
        assert names(tmp_path) == [1, 2, 4]
        assert Journal.open(tmp_path).torn == 0


@pytest.mark.parametrize("zeros", [1, HEAD_BYTES, 100, 100_000])
def test_zeros_that_a_power_cut_left_are_a_torn_tail(zeros, tmp_path):
    path = write(tmp_path, [lesson(1), lesson(2)])
    path.write_bytes(path.read_bytes() + bytes(zeros))
    assert names(tmp_path) == [1, 2]


def test_a_bit_that_flipped_anywhere_but_in_the_last_record_is_refused(tmp_path):
    path = write(tmp_path, [lesson(1)])
    middle = path.stat().st_size
    write(tmp_path, [lesson(2), lesson(3)])
    whole = path.read_bytes()
    for byte in range(middle):
        path.write_bytes(whole[:byte] + bytes([whole[byte] ^ 16]) + whole[byte + 1 :])
        with pytest.raises(InputError, match=str(path)) as refused:
            Journal.open(tmp_path)
        assert "\n" not in str(refused.value)


def test_a_segment_that_is_missing_in_the_middle_is_noticed(tmp_path):
    write(tmp_path, [lesson(number) for number in range(1, 9)], most=40)
    assert names(tmp_path) == list(range(1, 9))
    (tmp_path / name_segment(2)).unlink()
    with pytest.raises(InputError, match="does not go on where"):
        Journal.open(tmp_path)


def test_a_torn_record_before_the_last_segment_is_damage(tmp_path):
    write(tmp_path, [lesson(number) for number in range(1, 9)], most=40)
    path = tmp_path / name_segment(2)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(InputError, match="in the middle of a record"):
        Journal.open(tmp_path)


def test_the_oldest_segments_go_once_a_saved_state_contains_them_and_not_before(tmp_path):
    appender = Appender(tmp_path, HEADER, most=40)
    for number in range(1, 101):
        appender.append([lesson(number)])
        appender.drop_oldest()
    assert names(tmp_path) == list(range(1, 101))
    appender.append([Mark(Kind.SAVED, (100).to_bytes(8, "little"), 100)])
    appender.drop_oldest()
    kept = names(tmp_path)
    assert kept == list(range(101 - len(kept), 101))
    assert 38 <= len(kept) <= 40
    for number in range(101, 121):
        appender.append([lesson(number)])
        appender.drop_oldest()
    assert names(tmp_path)[-1] == 120
    appender.close()
    again = Appender(tmp_path, HEADER, most=10)  # what is saved is known after a restart, too
    again.drop_oldest()
    assert len(names(tmp_path)) < 25
    again.close()


def test_a_header_that_promises_the_world_is_refused_without_making_room_for_it(tmp_path):
    path = tmp_path / name_segment(1)
    top = struct.pack("<8sHII", b"TMAPRJNL", 1, 2**32 - 1, 0)
    path.write_bytes(top + bytes(100))
    tracemalloc.start()
    with pytest.raises(InputError, match="header is damaged"):
        Journal.open(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def frame(kind, length, payload):
    head = struct.pack("<2sBxII", b"LR", kind, length, zlib.crc32(payload))
    return head + struct.pack("<I", zlib.crc32(head)) + payload


@pytest.mark.parametrize(
    "tail",
    [
        frame(1, 2**32 - 1, b"x"),
        frame(200, 1, b"x"),
        frame(1, 5, b"short"),
        frame(3, 33, bytes(33)),
        frame(1, 72 + 8 * WIDTH + 8, bytes(72 + 8 * WIDTH + 8)),
    ],
    ids=["too long", "of no kind", "no lesson", "no mark", "without weights"],
)
def test_records_with_right_checksums_and_wrong_content_are_refused(tail, tmp_path):
    path = tmp_path / name_segment(1)
    path.write_bytes(pack_header(HEADER) + tail)
    with pytest.raises(InputError, match="is damaged at byte"):
        Journal.open(tmp_path)


@pytest.mark.parametrize("made", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_regular_file_is_refused_at_once(made, tmp_path):
    made(tmp_path / name_segment(1))
    with pytest.raises(InputError):
        Journal.open(tmp_path)


def test_files_of_other_names_are_left_alone(tmp_path):
    write(tmp_path, [lesson(1)])
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "old.journal").write_text("mine")
    assert names(tmp_path) == [1]


def damage(content, rng):
    for _ in range(int(rng.integers(1, 4))):
        at, kind = int(rng.integers(len(content))), int(rng.integers(4))
        if kind == 0:
            content = content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :]
        elif kind == 1:
            content = content[:at] + content[at + int(rng.integers(1, 64)) :]
        elif kind == 2:
            content = content[:at] + content[max(0, at - 32) : at] + content[at:]
        else:
            content = content[:at] + struct.pack("<I", int(rng.choice([0, 1, 2**31, 2**32 - 1]))) + content[at + 4 :]
    return content


def read_damaged(folder, rng, count):
    """How many files of so many damaged ones were read, at least in part; the others are refused in one line."""
    path = write(folder, [lesson(number) for number in range(1, 6)])
    whole, refusals = path.read_bytes(), []
    for _ in range(count):
        path.write_bytes(damage(whole, rng))
        try:
            found = names(folder)
        except InputError as error:
            refusals.append(str(error))
            continue
        assert found == list(range(1, len(found) + 1))
    assert not [line for line in refusals if "\n" in line]
    return count - len(refusals)


def test_damaged_files_are_read_in_part_or_refused_in_one_line(tmp_path, rng):
    # Most damage is in the middle; some cuts off the end.
    assert 2 < read_damaged(tmp_path, rng, 100) < 50
