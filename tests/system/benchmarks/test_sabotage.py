"""What is done to a drive is that and nothing else: on made-up percepts of a block, mapped and adapted to."""

import numpy as np
import pytest

from proving_block import make_block
from sabotage import judge
from sabotages import SABOTAGES, Scene
from tmapr.running.progressive import localize

WEATHERS = {"day": "noon", "other": "dusk", "night": "night", "away": "night", "turn": "night"}


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    home = tmp_path_factory.mktemp("blocks")
    return Scene(*(make_block(home, seed, WEATHERS) for seed in (1, 2, 3)))


def done(scene, name):
    return SABOTAGES[name](scene)


def poses(sabotaged):
    return np.array([percept.position for percept in sabotaged.drive.recording.percepts])


def stamps(sabotaged):
    return sabotaged.drive.recording.stamps


@pytest.mark.parametrize("name", SABOTAGES)
def test_every_sabotage_can_be_judged(scene, name):
    sabotaged = done(scene, name)
    found = judge(scene, sabotaged)
    assert found.frames == len(sabotaged.drive.recording) == len(sabotaged.drive.recognitions)
    assert (np.diff(stamps(sabotaged)) > 0).all()


def test_a_drive_that_is_left_alone_is_what_the_localizer_says(scene):
    recording = scene.ready.recording("night")
    streamed = localize(scene.ready.localizer(), recording, range(len(recording))).estimates
    replayed = done(scene, "nothing").drive.replay(scene.ready.system.tracking, scene.ready.system.fusion)
    for said, again in zip(streamed, replayed, strict=True):
        assert np.array_equal(said.belief.mean, again.belief.mean)
        assert said.status is again.status


def test_pose_heads_lie_as_they_are_told_to(scene):
    night, middle = poses(done(scene, "nothing")), scene.night.mapped.mean(axis=0)

    def always(point):
        return np.tile(point, (len(night), 1))

    np.testing.assert_allclose(poses(done(scene, "pose head mirrored")) + night, always(2 * middle))
    np.testing.assert_allclose(poses(done(scene, "pose head 100 m off")) - night, always([100.0, 0.0]))
    np.testing.assert_array_equal(poses(done(scene, "pose head constant")), always(middle))
    np.testing.assert_array_equal(poses(done(scene, "pose head frozen")), always(night[0]))
    other = [percept.position for percept in scene.other.recording("night").percepts]
    np.testing.assert_array_equal(poses(done(scene, "pose head of another world"))[: len(other)], other[: len(night)])
    assert all(percept.position is None for percept in done(scene, "no pose head").drive.recording.percepts)


def test_a_teleport_skips_the_stretch_in_no_time(scene):
    sabotaged, (start, stop) = done(scene, "teleport"), scene.stretch
    night = scene.night.recording.truth
    np.testing.assert_array_equal(sabotaged.drive.recording.truth, np.concatenate([night[:start], night[stop:]]))
    assert stamps(sabotaged)[sabotaged.since] - stamps(sabotaged)[sabotaged.since - 1] == scene.interval


def test_reversing_goes_back_over_the_stretch_and_on(scene):
    sabotaged, (start, stop) = done(scene, "reversing"), scene.stretch
    truth, night = sabotaged.drive.recording.truth, scene.night.recording.truth
    np.testing.assert_array_equal(truth[:stop], night[:stop])
    np.testing.assert_array_equal(truth[stop - 1 : sabotaged.since], night[stop - 1 : start : -1])
    np.testing.assert_array_equal(truth[sabotaged.since :], night[start:])


@pytest.mark.parametrize("name", ["descriptors of noise", "descriptors of an unmapped world"])
def test_only_the_stretch_shows_something_else(scene, name):
    sabotaged, (start, stop) = done(scene, name), scene.stretch
    assert sabotaged.since == stop
    pairs = zip(sabotaged.drive.recording.percepts, scene.night.recording.percepts, strict=True)
    for row, (percept, said) in enumerate(pairs):
        inside = start <= row < stop
        assert np.array_equal(percept.descriptor, said.descriptor) is not inside
        assert percept.position is said.position
        if not inside:
            assert sabotaged.drive.recognitions[row] is scene.night.recognitions[row]


def test_a_thinned_map_has_a_reference_every_five_metres(scene):
    memory = done(scene, "map thinned to 5 m").memory
    steps = np.hypot(*np.diff(memory.positions[memory.order], axis=0).T)
    assert steps.min() >= 5.0
    assert np.median(steps) < 6.5
