"""Faults on a live drive along the packaged street: it goes on, says nothing wrong for them, and is soon back."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import tmapr
from fault_drives import drive_through
from fault_judging import Judge, Said, Stretch, Way
from injections import FULL, HANGS, KINDS, REPLACED, Fault, deliver
from tmapr.evaluation.decisions import Mapped
from tmapr.types import NANOSECONDS, Percept, Status
from tmapr.words import Fault as ImageFault


@pytest.fixture(scope="module")
def night(scene):
    return list(tmapr.open_sequence(tmapr.locate_sample() / "night", frame=scene.localizer.frame))


def test_a_camera_that_shows_nothing_any_more_is_not_localized_and_is_lost_in_the_end(scene, night):
    """A robot that stood before is believed to stand; after a while it may be at another place all the same."""
    localizer = scene.localizer.fork()
    seen = [localizer.step(frame) for frame in night[:40]]
    blind = [
        localizer.observe(
            Percept(night[39].stamp + count * NANOSECONDS // 4, np.zeros_like(seen[0].percept.descriptor), fault=fault)
        )
        for count, fault in enumerate([ImageFault.INVALID] * 20, start=1)
    ]
    radius = localizer.tracker.radius
    assert [seen[-1].status, blind[0].status, blind[-1].status] == [Status.LOCALIZED, Status.PREDICTING, Status.LOST]
    lost = [each.status is Status.LOST for each in blind]
    assert lost == [each.belief.semi_axis > radius for each in blind]


@pytest.fixture(scope="module")
def way(night, scene):
    memory = scene.localizer.memory
    return Way.along(night, Mapped(memory.positions[memory.order]).tolerance)


@pytest.fixture(scope="module")
def without(scene, night, way):
    """The drives without faults, by the mode of learning."""
    return {
        learn: Judge(way, Said.of(drive_through(scene.map_folder, deliver(night, 1), learn=learn), way))
        for learn in ("off", "fused")
    }


def drive_with(faults, scene, night, judge, learn="off"):
    stretches = [Stretch([fault]) for fault in faults]
    driven = drive_through(scene.map_folder, deliver(night, 1), faults, learn)
    return driven, judge.judge(Said.of(driven, judge.way), stretches)


@pytest.mark.parametrize("first", range(5))
def test_after_faults_it_goes_on_and_is_right(scene, night, without, first):
    """Three kinds a drive, each twice; every second drive learns."""
    kinds, learn = list(KINDS)[first::5] * 2, ("off", "fused")[first % 2]
    faults = [Fault(kind, 12 + 9 * number, 14 + 9 * number, number) for number, kind in enumerate(kinds)]
    _, outcome = drive_with(faults, scene, night, without[learn], learn)
    assert outcome.violations == ()
    assert (outcome.whole.faults, outcome.not_finite) == (6, 0)
    assert outcome.answered + outcome.dropped == outcome.taken


@pytest.mark.parametrize("learn", ["off", "fused"])
@pytest.mark.parametrize("kind", KINDS)
def test_after_a_fault_it_goes_on_and_is_right(scene, night, without, kind, learn):
    faults = [Fault(kind, 18, 20, 1), Fault(kind, 33, 37, 2), Fault(kind, 52, 53, 3)]
    _, outcome = drive_with(faults, scene, night, without[learn], learn)
    assert outcome.violations == ()
    assert outcome.not_finite == 0
    assert outcome.whole.faults == 3
    assert outcome.answered + outcome.dropped == outcome.taken


@pytest.mark.parametrize("kind", [HANGS, FULL, REPLACED])
def test_what_goes_wrong_beside_the_drive_changes_no_bit_of_it(scene, night, without, kind):
    driven, _ = drive_with([Fault(kind, 10, 60, 1)], scene, night, without["off"])
    said = np.array([answer.estimate.position for answer in driven.answers])
    np.testing.assert_array_equal(said, without["off"].without.positions)


def test_a_viewer_that_hung_sees_again_and_a_disk_that_was_full_is_written_again(scene, night, without):
    faults = [Fault(HANGS, 10, 60, 1), Fault(FULL, 20, 40, 2)]
    driven, _ = drive_with(faults, scene, night, without["off"])
    assert 0 < driven.viewed < len(night)
    assert driven.written == [*range(20), *range(40, len(night))]


def test_a_clock_that_is_set_is_found_set(scene, night, without):
    faults = [Fault("clock back", 20, 21, 1), Fault("clock forward", 50, 51, 2)]
    driven, _ = drive_with(faults, scene, night, without["off"])
    assert driven.steps == 2


def test_the_judge_finds_what_must_not_be(scene, night, way, without):
    """A drive whose robot was carried elsewhere is localized where it is not, and a claim too late is not back."""
    drive = deliver(night, 1)
    elsewhere = [replace(each, frame=night[(each.now + 35) % 70]) if each.now >= 20 else each for each in drive]
    carried = [replace(each, frame=replace(each.frame, stamp=night[each.now].stamp)) for each in elsewhere]
    said = Said.of(drive_through(scene.map_folder, carried), way)
    outcome = without["off"].judge(said, [Stretch([Fault("silence", 20, 21, 1)])])
    assert outcome.whole.wrong > 10
    assert any("wrong" in violation for violation in outcome.violations)


def test_killed_again_and_again_it_goes_on(scene, tmp_path):
    """At any moment, while the folder is made, the network opened, something learned or written: the state is whole."""
    begin = [sys.executable, "-m", "tmapr", "live", scene.map_folder, "--source", tmapr.locate_sample() / "night"]
    begin += ["--rate", "0", "--learn", "fused", "--run", tmp_path / "live", "--device", "cpu", "--quiet"]
    rng, killed = np.random.default_rng(21), 0
    while killed < 24:
        process = subprocess.Popen(begin, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            _, complaint = process.communicate(timeout=rng.uniform(0.5, 12.0))
            assert process.returncode == 0, complaint
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            killed += 1
        if (tmp_path / "live" / "map.npz").exists():
            tmapr.load(tmp_path / "live", "cpu")
    last = subprocess.run(begin, capture_output=True, text=True, check=False)
    assert last.returncode == 0, last.stderr
    assert not list((tmp_path / "live").glob(".*.partial"))
    assert len(tmapr.load(tmp_path / "live", "cpu").classifier.ledger.names) > 0
