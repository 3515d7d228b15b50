"""Several readers say what one frame after another says, bit for bit, whatever is wrong in between."""

import threading
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from spoiled import write_spoiled_drive
from tmapr.data.health import Detector
from tmapr.exceptions import InputError
from tmapr.perception.bulk import Readers, Turns
from tmapr.perception.card import CLIP, Card, Input
from tmapr.perception.eyes import Outputs, Seen
from tmapr.perception.glance import Shown
from tmapr.perception.image import Image
from tmapr.perception.perceiver import Perceiver
from tmapr.types import Fault

CARD = Card(input=Input(mean=CLIP[0], std=CLIP[1], size=(42, 56)), dimension=6)
READERS = [Readers(1), Readers(2), Readers(5)]


def shades(pictures):
    """A network whose descriptor is a few sums over the picture, so that every pixel tells."""
    rows = pictures.reshape(len(pictures), 6, -1).astype(np.float32)
    return Outputs(rows.sum(axis=2) + 1)


def perceiver(engine=shades, image=None):
    return Perceiver(CARD, image or Image(), engine).with_inspection(Detector().inspect)


@pytest.fixture
def drive(rng, tmp_path):
    return write_spoiled_drive(tmp_path, rng)


def say(percepts):
    """All that is kept of percepts, exactly."""
    return [(each.stamp, each.fault, each.shift, each.descriptor.tobytes()) for each in percepts]


@pytest.fixture
def expected(drive):
    alone = perceiver()
    return say(map(alone, drive))


@pytest.mark.parametrize("batch", [3, 8, 16, 100])
@pytest.mark.parametrize("readers", READERS)
def test_percepts_are_those_of_one_frame_after_another(readers, batch, drive, expected):
    faults = {fault for _, fault, *_ in expected}
    assert faults == {None, Fault.INVALID, Fault.FROZEN, Fault.EMPTY, Fault.SATURATED}
    assert say(perceiver().stream(drive, batch, readers)) == expected


@pytest.mark.parametrize("readers", READERS)
def test_images_that_are_no_files_are_asked_for_one_after_another(readers, drive, expected):
    asked = []

    def note(frame):
        asked.append(frame.index)
        return frame.image()

    given = [replace(frame, image=lambda frame=frame: note(frame), file=None) for frame in drive]
    assert say(perceiver().stream(given, readers=readers)) == expected
    assert asked == list(range(len(drive)))


@pytest.mark.parametrize("readers", READERS)
def test_frames_that_are_only_shown_give_no_percept_and_are_compared_with(readers, drive, expected):
    wanted = [row for row in range(len(drive)) if row % 11 < 5]
    given = [frame if row in wanted else Shown(frame) for row, frame in enumerate(drive)]
    assert say(perceiver().stream(given, readers=readers)) == [expected[row] for row in wanted]


@pytest.mark.parametrize("readers", READERS)
def test_the_network_is_given_the_same_batches(readers, drive):
    def batches(reading):
        seen = []

        def engine(pictures):
            seen.append(pictures.tobytes())
            return shades(pictures)

        list(perceiver(engine).stream(drive, readers=reading))
        return seen

    assert batches(readers) == batches(Readers(1))


@pytest.mark.parametrize("readers", READERS)
def test_what_is_everybodys_misfortune_is_raised_after_the_percepts_before_it(readers, drive):
    threads, found = threading.enumerate(), []
    given = [*drive[:16], replace(drive[16], image=lambda: np.zeros((96, 128), np.float32)), *drive[17:]]
    with pytest.raises(InputError, match="must be uint8 or uint16 counts, got float32"):
        found.extend(perceiver().stream(given, readers=readers))
    assert (len(found), threading.enumerate()) == (16, threads)


@pytest.mark.parametrize("batch", [8, 16])
def test_a_network_that_fails_ends_the_stream_after_the_percepts_before_it(batch, drive):
    asked, found = [], []

    def engine(pictures):
        asked.append(len(pictures))
        if len(asked) == 3:
            raise RuntimeError("out of memory")
        return shades(pictures)

    threads = threading.enumerate()
    with pytest.raises(RuntimeError, match="out of memory"):
        found.extend(perceiver(engine).stream(drive, batch, Readers(2)))
    assert (len(found), threading.enumerate()) == (2 * batch, threads)


class Working:
    """A backend that is at work between being begun and being asked, and notes which of the two happens."""

    takes_counts = False

    def __init__(self):
        self.noted = []

    def begin(self, prepared):
        self.noted.append("begun")

        def finish():
            self.noted.append("asked")
            return Seen(shades(np.stack(prepared)), (None,) * len(prepared))

        return finish


def test_the_next_batch_is_begun_before_the_last_one_is_asked_for_and_percepts_keep_their_order(drive, expected):
    usable = [frame for frame, (_, fault, *_) in zip(drive, expected, strict=True) if fault is None][:36]
    alone, backend = perceiver(), Working()
    stream = Perceiver(CARD, Image(), backend).with_inspection(Detector().inspect).stream(usable, 9, Readers(2))
    assert say(stream) == say(map(alone, usable))
    assert backend.noted == ["begun", *["begun", "asked"] * 3, "asked"]


@pytest.mark.parametrize("readers", READERS)
def test_recordings_end_with_their_own_exception(readers, drive):
    def torn():
        yield from drive[:20]
        raise OSError("the disk is gone")

    threads, found = threading.enumerate(), []
    with pytest.raises(OSError, match="the disk is gone"):
        found.extend(perceiver().stream(torn(), readers=readers))
    assert (len(found), threading.enumerate()) == (16, threads)


@pytest.mark.parametrize("readers", READERS)
def test_what_waits_is_bounded_and_a_stream_that_is_left_leaves_no_thread(readers, drive):
    threads, taken = threading.enumerate(), []

    def noted():
        for frame in drive:
            taken.append(frame.index)
            yield frame

    stream = perceiver().stream(noted(), 4, readers)
    list(islice(stream, 4))
    assert len(taken) <= 4 * (readers.ahead + 1)
    stream.close()
    assert threading.enumerate() == threads


def test_turns_come_in_order_and_a_failure_passes_its_turn_on():
    turns, passed = Turns(), []

    def take(number):
        try:
            with turns.hold(number) as wait:
                wait()
                passed.append(number)
                if number == 3:
                    raise ValueError
        except ValueError:
            passed.append("failed")

    threads = [threading.Thread(target=take, args=(number,)) for number in reversed(range(8))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    passed.remove("failed")
    assert passed == list(range(8))
