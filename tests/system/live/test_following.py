"""A live drive in a program's own loop."""

import itertools
import time

import numpy as np
import pytest

import tmapr


@pytest.fixture(scope="module")
def night(scene):
    return list(tmapr.open_sequence(tmapr.locate_sample() / "night", frame=scene.localizer.frame))


def give_slowly(frames, asked):
    """A camera that is slow enough for any machine: the next frame comes when the last one is answered."""
    for number, frame in enumerate(frames):
        while asked[0] < number:
            time.sleep(0.001)
        yield frame.image(), frame.stamp


def test_a_loop_over_images(scene, tmp_path, night):
    asked, errors = [0], []
    for answer in tmapr.follow(scene.map_folder, give_slowly(night, asked), folder=tmp_path / "live"):
        errors.append(np.hypot(*(answer.estimate.position - night[answer.number].position)))
        assert answer.stamp == night[answer.number].stamp
        asked[0] += 1
    assert len(errors) == 70
    assert np.median(errors) < 2


def test_who_leaves_the_loop_finds_the_state_saved_and_goes_on(scene, tmp_path, night):
    asked = [0]
    for answer in tmapr.follow(scene.map_folder, give_slowly(night, asked), folder=tmp_path / "live"):
        asked[0] += 1
        if answer.number == 20:
            break
    there = tmapr.load(tmp_path / "live").observe(answer.estimate.percept)
    assert there.verdict.reason in ("repeated stamp", "older stamp")
    assert np.hypot(*(there.position - night[20].position)) < 5


def test_a_camera_that_never_ends_is_left_without_waiting(scene, tmp_path, night):
    def give():
        for number in itertools.count():
            time.sleep(0.01)
            yield night[number % 70].image(), night[0].stamp + number * 10**8

    taken = list(itertools.islice(tmapr.follow(scene.map_folder, give(), folder=tmp_path / "live"), 5))
    assert [answer.number for answer in taken] == sorted(answer.number for answer in taken)


def test_what_is_no_frame_ends_the_loop_with_a_refusal(scene, tmp_path, night):
    given = iter([night[0], ("image", 0)])
    with pytest.raises(tmapr.InputError, match="`step` takes a Frame"):
        list(tmapr.follow(scene.map_folder, given, folder=tmp_path / "live"))
    assert (tmp_path / "live/state.npz").exists()
