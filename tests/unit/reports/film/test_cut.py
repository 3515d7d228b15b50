"""Which frame of the drive each frame of a film shows."""

import numpy as np
import pytest

from tmapr.exceptions import InputError
from tmapr.reports.film.cut import Cut

DRIVE = np.arange(0, 100.01, 0.5)  # two frames a second for 100 s


def test_unasked_a_film_lasts_a_minute_at_most_and_shows_every_frame_once():
    cut = Cut.of(DRIVE, 25.0)
    assert cut.seconds == pytest.approx(60.0, rel=0.01)
    np.testing.assert_array_equal(cut.choose_rows(DRIVE), np.arange(len(DRIVE)))


def test_a_short_drive_is_shown_as_fast_as_it_was():
    cut = Cut.of(DRIVE[:40], 25.0)
    assert (cut.speed, cut.rate) == (1.0, 2.0)


def test_a_fast_camera_gives_no_more_frames_than_the_format_takes():
    cut = Cut.of(np.arange(0, 10, 0.01), 25.0)
    assert cut.rate == 25.0
    np.testing.assert_array_equal(np.diff(cut.choose_rows(np.arange(0, 10, 0.01))), 4)


@pytest.mark.parametrize(("speed", "rate"), [(1.0, 5.0), (4.0, 2.0), (0.5, 3.0), (7.0, 10.0)])
def test_each_frame_is_the_latest_until_then(speed, rate):
    cut = Cut.of(DRIVE, 25.0, start=20.0, stop=60.0, speed=speed, rate=rate)
    rows = cut.choose_rows(DRIVE)
    assert len(rows) == cut.count == int(40.0 / speed * rate + 1e-9) + 1
    for number, row in enumerate(rows.tolist()):
        moment = 20.0 + number / rate * speed
        assert DRIVE[row] <= moment + 1e-6
        assert DRIVE[row + 1] > moment


def test_a_stop_beyond_the_drive_is_its_end():
    assert Cut.of(DRIVE, 25.0, stop=1e6).stop == 100.0


def test_a_single_frame_makes_a_film_of_one():
    cut = Cut.of(np.zeros(1), 25.0)
    assert (cut.count, cut.choose_rows(np.zeros(1)).tolist()) == (1, [0])


def test_what_begins_after_the_end_is_refused():
    with pytest.raises(InputError, match=r"--from 200: the drive lasts 100.0 s"):
        Cut.of(DRIVE, 25.0, start=200.0)
