"""The rivals of the route filter follow a drive too, on the same evidence: made-up percepts of a block."""

import numpy as np
import pytest

from proving_block import ground, make_block
from rival_filters import DRIVES, OURS, RIVALS, decide, judge_world, show_families, show_sums
from rivals import ParticleFilter, SequenceSearch
from tmapr.simulation.percepts import CONDITIONS, DescriptorField
from tmapr.tracking.route import lay_route
from tmapr.tracking.speeds import Step

GROUND = ground(1)


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    return make_block(tmp_path_factory.mktemp("block"), 1, dict.fromkeys(("day", "other", "night", "away"), "noon"))


def test_all_of_them_follow_a_drive_and_one_run_compares_them(ready, capsys):
    judged = judge_world(ready, RIVALS)
    assert judged.keys() == {*RIVALS, OURS}
    for drives in judged.values():
        assert drives.keys() == set(DRIVES)
        assert drives["night"].localized > 0.5
        assert drives["night"].wrong < 0.2 * drives["night"].frames
    show_sums([(GROUND, judged)])
    show_families([(GROUND, judged)])
    printed = capsys.readouterr().out
    assert printed.count("| route filter |") == printed.count("| particle filter |") == 4
    assert "| | localized | wrong |" in printed


def test_without_a_rival_the_product_decides(ready):
    drive = ready.recognise("night")
    ours = decide(drive, ready.system, None)
    replayed = drive.replay(ready.system.tracking, ready.system.fusion)
    assert [each.position.tolist() for each in ours] == [each.position.tolist() for each in replayed]


def street(count=100):
    """A straight route with a reference every two metres."""
    positions = np.column_stack([2.0 * np.arange(count), np.zeros(count)])
    rng, rows = np.random.default_rng(1), np.arange(count)
    descriptors = DescriptorField.from_seed(1, 32).descriptors(positions, CONDITIONS["noon"], rng)
    return lay_route([rows], positions, rows * 250_000_000, rows // 8, descriptors)


@pytest.mark.parametrize("make", [SequenceSearch, ParticleFilter])
def test_a_peak_that_moves_along_is_found(make):
    route = street()
    rival, step = make(route), Step(0.5, 1.5)
    for view in range(15):
        if view:
            rival.predict(step)
        evidence = np.full(len(route), np.log(0.05))
        evidence[2 * view : 2 * view + 2] = 3.0
        rival.update(evidence, np.zeros(len(route)))
    peak, probability = rival.find_peak(10.0)
    assert abs(peak - 28) <= 4
    assert probability > 0.9
    assert rival.where.sum() + rival.p_off == pytest.approx(1.0)
