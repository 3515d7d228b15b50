"""Lines between parts: what is put in is taken, or counted as gone; order stays; nobody waits for ever."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmapr.live.queueing import ClosedError, Line


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 5))
def test_everything_is_taken_or_dropped_oldest_first(steps, capacity):
    """Against a plain list; True puts one in, False takes one."""
    line, plain, taken, gone, number = Line[int](capacity), [], [], [], 0
    for puts in steps:
        if puts:
            line.put(number)
            plain.append(number)
            if len(plain) > capacity:
                gone.append(plain.pop(0))
            number += 1
        elif plain:
            taken.append(line.take())
            assert taken[-1] == plain.pop(0)
    assert (line.dropped, len(line)) == (len(gone), len(plain))
    assert sorted([*taken, *gone, *plain]) == list(range(number))


def test_who_waits_for_room_loses_nothing():
    line, taken = Line[int](2), []

    def take_all():
        while True:
            try:
                taken.append(line.take())
            except ClosedError:
                return

    thread = threading.Thread(target=take_all)
    thread.start()
    for number in range(1000):
        line.put(number, wait=True)
    line.close()
    thread.join()
    assert taken == list(range(1000))
    assert line.dropped == 0


def test_room_that_does_not_come_is_not_waited_for():
    line = Line[int](1)
    assert line.put_within(1, 0.01)
    assert not line.put_within(2, 0.01)
    assert line.take() == 1


def test_an_end_wakes_everybody():
    line, ended = Line[int](1), []

    def wait(work):
        with pytest.raises(ClosedError):
            work()
        ended.append(work)

    line.put(1)
    putting = threading.Thread(target=wait, args=[lambda: line.put(2, wait=True)])
    putting.start()
    assert line.abandon() == 1
    putting.join()
    taking = threading.Thread(target=wait, args=[line.take])
    taking.start()
    taking.join()
    assert len(ended) == 2
