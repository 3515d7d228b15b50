"""From views to a place: neither a stop, nor the frame rate, nor the clock, nor a restart changes what is believed."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from made_up import record_percepts
from routes import SPEED, lay, look, ring
from tmapr.fusion.capf import Fusion
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.retrieval.memory import remember
from tmapr.simulation.percepts import CONDITIONS, DescriptorField
from tmapr.simulation.route import block_loop, drive
from tmapr.system import Map, System, build, make_map, resume
from tmapr.track import RouteTracker
from tmapr.tracking import Tracking
from tmapr.tracking.place import Placer
from tmapr.types import NANOSECONDS, Comparison, Estimate, Odometry, Percept, Reason, Recognition

WAY = ring(150)
ROUTE = lay(WAY)
MAPPED = look(WAY, np.random.default_rng(1))
RADIUS = 10.0
LAP = float(np.hypot(*(WAY - np.roll(WAY, 1, axis=0)).T).sum())


def place_at(metres):
    """Where a drive is that keeps a metre inside the mapped way."""
    turn = 2 * np.pi * np.asarray(metres) / LAP
    inside = np.hypot(*WAY[0]) - 1.0
    return inside * np.column_stack([np.cos(turn), np.sin(turn)])


def compare(descriptor):
    cosines = MAPPED @ descriptor
    centre = np.median(cosines)
    return Comparison((cosines - centre) / (1.4826 * np.median(np.abs(cosines - centre))), np.zeros(len(MAPPED)))


def film(rate, seconds=40.0, clock=1.0, motion=None):
    """Frames of a drive at the mapped speed; its clock may be wrong by a factor."""
    times = np.arange(0.0, seconds, 1 / rate)
    seen = look(place_at(SPEED * times), np.random.default_rng(2))
    stamps = np.round(1e12 + clock * times * NANOSECONDS).astype(int).tolist()
    return [Percept(stamp, view, motion=motion) for stamp, view in zip(stamps, seen, strict=True)]


def follow(placer, percepts):
    """What is believed after each frame."""
    placings = []
    for percept, before in zip(percepts, [percepts[0], *percepts], strict=False):
        placer.note_motion(percept.motion, (percept.stamp - before.stamp) / NANOSECONDS)
        placings.append(placer.observe(percept, compare(percept.descriptor), percept.position))
    return placings


def each_second(placings, rate):
    return np.array([placing.p_place for placing in placings[::rate]])


def same_arrays(one, other):
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def take_belief(placer):
    """All but the metres since the last view, which nobody measures there."""
    return {name: array.copy() for name, array in placer.arrays().items() if name != "metres"}


def test_a_drive_is_followed():
    placings = follow(Placer(ROUTE, RADIUS), film(4))[40:]
    there = place_at(SPEED * np.arange(40, 160) / 4)
    assert min(placing.p_place for placing in placings) > 0.95
    assert np.hypot(*(np.array([placing.position for placing in placings]) - there).T).max() < 4.0


def test_a_minute_s_stop_changes_nothing():
    placer, percepts = Placer(ROUTE, RADIUS), film(4, seconds=12.0)
    before = follow(placer, percepts)[-1]
    belief = take_belief(placer)
    stopped = [replace(percepts[-1], stamp=percepts[-1].stamp + n * NANOSECONDS // 10) for n in range(1, 601)]
    placings = follow(placer, stopped)
    assert {placing.p_place for placing in placings} == {before.p_place}
    assert {placing.p_off_map for placing in placings} == {before.p_off_map}
    assert {(placing.share, placing.new_view) for placing in placings} == {(0.0, False)}
    same_arrays(belief, take_belief(placer))


def test_one_frame_a_second_and_thirty_come_to_the_same():
    slow, fast = (each_second(follow(Placer(ROUTE, RADIUS), film(rate)), rate) for rate in (1, 30))
    # Lost or certain at the same spots; how certain before that differs by which views were taken.
    assert np.median(np.abs(slow - fast)) < 0.02
    assert np.abs(slow - fast)[8:].max() < 0.1


@pytest.mark.parametrize("clock", [0.25, 4.0])
def test_a_clock_that_is_wrong_by_a_factor_hardly_matters(clock):
    right, wrong = (follow(Placer(ROUTE, RADIUS), film(4, clock=each)) for each in (1.0, clock))
    assert np.median(np.abs(each_second(right, 4) - each_second(wrong, 4))) < 0.02
    assert [placing.peak for placing in right[60:]] == pytest.approx([placing.peak for placing in wrong[60:]], abs=2)
    assert min(placing.p_place for placing in wrong[60:]) > 0.9


def test_with_odometry_the_clock_does_not_matter_at_all():
    right, wrong = (
        follow(Placer(ROUTE, RADIUS), film(4, clock=each, motion=Odometry(speed=SPEED / each))) for each in (1.0, 0.25)
    )
    np.testing.assert_allclose(each_second(right, 4), each_second(wrong, 4), atol=1e-6)


@pytest.mark.parametrize("at", [0, 1, 33, 80])
def test_a_placer_goes_on_where_another_stopped(at):
    percepts = [replace(each, position=place_at(n * SPEED / 4)[0]) for n, each in enumerate(film(4, seconds=25.0))]
    whole, first, second = (Placer(ROUTE, RADIUS) for _ in range(3))
    for placer in (whole, first):
        placer.head.expect(3.0)
        placer.learn(percepts[10], compare(percepts[10].descriptor), WAY[10])
    placings = follow(whole, percepts)
    if at:
        follow(first, percepts[:at])
    second.restore({name: array.copy() for name, array in first.arrays().items()})
    begun = percepts[at - 1] if at else percepts[0]
    for percept, expected in zip(percepts[at:], placings[at:], strict=True):
        second.note_motion(percept.motion, (percept.stamp - begun.stamp) / NANOSECONDS)
        found, begun = second.observe(percept, compare(percept.descriptor), percept.position), percept
        assert (found.p_place, found.p_off_map, found.peak) == (expected.p_place, expected.p_off_map, expected.peak)
        np.testing.assert_array_equal(found.position, expected.position)
    same_arrays(second.arrays(), whole.arrays())


def test_arrays_of_another_map_are_refused():
    with pytest.raises(ValueError, match="on has the shape"):
        Placer(lay(ring(90)), RADIUS).restore(Placer(ROUTE, RADIUS).arrays())


def remembered():
    count = len(WAY)
    stamps = np.arange(count) * round(NANOSECONDS * LAP / count / SPEED)
    return remember(MAPPED, WAY, np.arange(count) // 8, stamps, frames=np.arange(count), probes=256)


def test_a_tracker_goes_on_where_another_stopped():
    memory, percepts = remembered(), film(4, seconds=20.0)
    made = [RouteTracker(Tracking(), Fusion(), memory) for _ in range(3)]
    whole, first, second = made

    def advance(tracker, some):
        return [tracker.advance(each, Recognition(comparison=compare(each.descriptor))) for each in some]

    expected = advance(whole, percepts)[37:]
    advance(first, percepts[:37])
    second.restore({name: array.copy() for name, array in first.arrays().items()})
    for found, wanted in zip(advance(second, percepts[37:]), expected, strict=True):
        same_estimate(found, wanted)
    same_arrays(second.arrays(), whole.arrays())


def same_estimate(found, wanted):
    assert (found.status, found.verdict, found.nis) == (wanted.status, wanted.verdict, wanted.nis)
    np.testing.assert_array_equal(found.belief.mean, wanted.belief.mean)
    np.testing.assert_array_equal(found.belief.covariance, wanted.belief.covariance)
    assert (found.route is None) == (wanted.route is None)
    if found.route is not None and wanted.route is not None:
        assert (found.route.p_place, found.route.p_off_map) == (wanted.route.p_place, wanted.route.p_off_map)
        np.testing.assert_array_equal(found.route.masses, wanted.route.masses)


PLACES = Places(cell=15.0, projection=Projection(dimension=48), mixture=Mixture(dimension=8))
BLOCK = System(places=PLACES, tracking=Tracking(method="route"))
LATE = 40


@dataclass(frozen=True)
class Block:
    """A mapped block, and a drive with a late frame and a frozen shutter that nobody interrupted."""

    environment: Map
    folder: Path
    percepts: list[Percept]
    estimates: list[Estimate]
    end: dict[str, np.ndarray]

    @property
    def frozen(self) -> int:
        return next(row for row, percept in enumerate(self.percepts) if percept.fault)


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    world, corners = DescriptorField.from_seed(3, dimension=32), block_loop(80.0, 40.0)

    def record(seed):
        rng = np.random.default_rng(seed)
        return record_percepts(world, f"noon-{seed}", drive(corners, 8.0, rng), CONDITIONS["noon"], rng)

    environment, folder = make_map(BLOCK, record(1)), tmp_path_factory.mktemp("block")
    environment.save(folder / "map.npz")
    percepts = list(record(2).percepts[::2])
    percepts.insert(LATE, replace(percepts[LATE], stamp=percepts[LATE - 5].stamp))
    localizer = build(BLOCK, environment)
    return Block(environment, folder, percepts, [localizer.observe(each) for each in percepts], localizer.arrays())


@pytest.mark.parametrize("where", ["at the start", "driving", "before a late frame", "before a faulty one"])
def test_stopping_saving_loading_and_going_on_equals_never_stopping(where, block):
    at = {"at the start": 0, "driving": 31, "before a late frame": LATE, "before a faulty one": block.frozen}[where]
    stopped = build(BLOCK, block.environment)
    for each in block.percepts[:at]:
        stopped.observe(each)
    stopped.save(block.folder)
    resumed = resume(BLOCK, block.environment, block.folder / "state.npz")
    for each, wanted in zip(block.percepts[at:], block.estimates[at:], strict=True):
        same_estimate(resumed.observe(each), wanted)
    same_arrays(resumed.arrays(), block.end)


def test_the_drive_of_that_test_has_a_late_and_a_faulty_frame(block):
    reasons = [estimate.verdict.reason for estimate in block.estimates]
    assert (reasons[LATE], reasons[block.frozen]) == (Reason.OLDER_STAMP, Reason.FAULTY_FRAME)
