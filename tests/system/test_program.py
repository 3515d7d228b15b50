"""What a program gives a localizer, and from how many threads: a bad value is named and changes nothing."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain

import jaxtyping
import numpy as np
import pytest

from descriptor_field import CONDITIONS, DescriptorField
from made_up import car_fusion, paper_tracking, record_percepts
from tmapr.artifacts.arrays import digest
from tmapr.exceptions import InputError
from tmapr.labels import Labels
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.simulation.route import block_loop, drive
from tmapr.system import Map, System, build, make_map, resume
from tmapr.types import LATEST, Estimate, Fault, Frame, Odometry, Percept, Reason

DIM = 32
SMALL = Places(cell=15.0, projection=Projection(dimension=64), mixture=Mixture(dimension=8))
ROUTE = System(places=SMALL, labels=Labels(mode="truth", delay=3))
PAPER = System(places=SMALL, tracking=paper_tracking(min_similarity=0.82), fusion=car_fusion())
WORLD = DescriptorField.from_seed(3, dimension=DIM)
HERE = np.array([10.0, 0.0])
COUNTS = np.zeros((4, 4), np.uint16)
HIDDEN = np.ma.masked_array([10.0, 0.0], [True, False])


@pytest.fixture(autouse=True)
def unchecked():
    """A program is not type-checked as these tests are: what is not refused comes in. Every test sets this anew."""
    jaxtyping.config.update("jaxtyping_disable", True)


def traverse(seed, laps=1):
    rng = np.random.default_rng(seed)
    street = block_loop(120.0, 60.0)
    route = drive(street if laps == 1 else np.concatenate([street] * laps), 8.0, rng)
    return record_percepts(WORLD, f"noon-{seed}", route, CONDITIONS["noon"], rng)


@pytest.fixture(scope="module")
def environment():
    return make_map(ROUTE, traverse(1))


@pytest.fixture(scope="module")
def stream():
    return traverse(2)


@pytest.fixture
def localizer(environment, stream):
    """One in the middle of a drive, with labels waiting and a lesson learned."""
    found = build(ROUTE, environment, begin_stream=lambda: lambda frame: Percept(frame.stamp, frame.image()))
    for row in range(20):
        found.teach(found.observe(stream.percepts[row]), stream.truth[row])
    return found


@pytest.fixture
def percept(stream):
    return stream.percepts[20]


def observing(**spoilt):
    return lambda localizer, p: localizer.observe(replace(p, **spoilt))


def labelled(position):
    return lambda localizer, p: localizer.learn(p, position)


def started(stamp=None, position=HERE, deviation=5.0):
    return lambda localizer, p: localizer.start_at(p.stamp if stamp is None else stamp, position, deviation)


def taught(truth):
    return lambda localizer, p: localizer.teach(localizer.observe(replace(p, stamp=localizer.clock.stamp)), truth)


def moving(*numbers):
    return lambda localizer, p: localizer.observe(replace(p, motion=Odometry(*numbers)))


STAMP, SHAPE = "must be nanoseconds since the epoch in 63 bits, an integer, got", "must be 2 numbers, got"
MISTAKEN = {
    "observe nothing": (lambda localizer, p: localizer.observe(None), "a Percept is needed, got None"),
    "observe an array": (lambda localizer, p: localizer.observe(p.descriptor), "a Percept is needed, got an array of"),
    "observe a float stamp": (observing(stamp=1.5e9), f"percept at 1500000000.0: the stamp {STAMP} 1500000000.0"),
    "observe a stamp that is true": (observing(stamp=True), f"{STAMP} True"),
    "observe a stamp of 65 bits": (observing(stamp=2**64), f"{STAMP} 18446744073709551616"),
    "observe an unsigned stamp": (observing(stamp=np.uint64(2**63)), STAMP),
    "observe one coordinate": (observing(position=np.array([1.0])), f"its position {SHAPE} [1.0]"),
    "observe a position in a row": (observing(position=np.zeros((1, 2))), f"{SHAPE} an array of float64 with shape"),
    "observe a position of text": (observing(position=["1", "2"]), f"{SHAPE} ['1', '2']"),
    "observe a ragged position": (observing(position=[[1.0], [1.0, 2.0]]), SHAPE),
    "observe half a position": (observing(position=HIDDEN), f"{SHAPE} an array with masked values and shape (2,)"),
    "observe a heading of text": (observing(heading="north"), "its heading must be a number, got 'north'"),
    "observe a row of headings": (observing(heading=np.zeros(2)), "its heading must be a number, got [0.0, 0.0]"),
    "observe an unknown fault": (observing(fault="dusty"), "'dusty' is no fault; known are frozen, empty, saturated"),
    "observe a motion of numbers": (observing(motion=(8.0, 0.1)), "must be Odometry or None, got (8.0, 0.1)"),
    "observe a speed of text": (moving("8"), "its speed must be a number, got '8'"),
    "observe a shift of text": (observing(shift="left"), "its shift must be a number, got 'left'"),
    "observe no descriptor": (observing(descriptor=None), "its descriptor must be one row of numbers, got None"),
    "observe a short descriptor": (observing(descriptor=np.ones(1)), "its descriptor has 1 dimensions"),
    "observe a descriptor in a row": (observing(descriptor=np.ones((1, DIM))), "one row of numbers, got an array of"),
    "observe a descriptor of text": (observing(descriptor=np.array(["a"] * DIM)), "an array of <U1 with shape (32,)"),
    "observe a long descriptor": (observing(descriptor=np.full(DIM, 1.0)), "has length 5.65685, it must be 1"),
    "step nothing": (lambda localizer, p: localizer.step(None), "an image as an array and its stamp, got None"),
    "step an image alone": (lambda localizer, p: localizer.step(COUNTS), "an array has no stamp; give it when it was"),
    "step a float stamp of an image": (lambda localizer, p: localizer.step(COUNTS, 1.5), f"`step`: the stamp {STAMP}"),
    "step degrees Celsius": (lambda localizer, p: localizer.step(COUNTS * 0.1, 7), "uint16, as the camera counts, got"),
    "step a colour image": (lambda localizer, p: localizer.step(np.zeros((4, 4, 3), np.uint8), 7), "(4, 4, 3)"),
    "step an empty image": (lambda localizer, p: localizer.step(COUNTS[:0], 7), "with shape (0, 4)"),
    "step a hidden image":
        (lambda localizer, p: localizer.step(np.ma.masked_array(COUNTS, COUNTS == 0), 7), "masked values"),
    "step a motion of numbers": (lambda localizer, p: localizer.step(COUNTS, 7, (8.0, 0.1)), "must be Odometry"),
    "step a frame with a stamp": (lambda localizer, p: localizer.step(frame(7), 7), "the Frame has its own"),
    "step a percept": (lambda localizer, p: localizer.step(p), "`observe` takes a Percept"),
    "step a float stamp": (lambda localizer, p: localizer.step(frame(1.5)), f"frame 7: the stamp {STAMP} 1.5"),
    "learn nothing": (lambda localizer, p: localizer.learn(None, HERE), "a Percept is needed, got None"),
    "learn nowhere": (labelled(None), f"its label {SHAPE} None"),
    "learn at one coordinate": (labelled(np.array([1.0])), f"its label {SHAPE} [1.0]"),
    "learn at three": (labelled(np.zeros(3)), f"its label {SHAPE} [0.0, 0.0, 0.0]"),
    "learn at a number": (labelled(3.0), f"its label {SHAPE} 3.0"),
    "learn at a position in a row": (labelled(np.zeros((1, 2))), f"its label {SHAPE} an array of float64"),
    "learn at NaN": (labelled([np.nan, 0.0]), "its label [nan, 0.0] is not finite"),
    "learn at infinity": (labelled([0.0, np.inf]), "its label [0.0, inf] is not finite"),
    "learn too far away": (labelled([1e30, 0.0]), "its label [1e+30, 0.0] is farther than 1e+08 m away"),
    "learn a little too far": (labelled([0.0, -1.1e8]), "is farther than 1e+08 m away; it must be metres on the map"),
    "learn an endless integer": (labelled([10**400, 0]), SHAPE),
    "learn a faulty frame": (lambda localizer, p: localizer.learn(replace(p, fault=Fault.EMPTY), HERE), "faulty frame"),
    "learn a zero descriptor":
        (lambda localizer, p: localizer.learn(replace(p, descriptor=np.zeros(DIM)), HERE), "(invalid) cannot be"),
    "learn a float stamp": (lambda localizer, p: localizer.learn(replace(p, stamp=0.5), HERE), f"{STAMP} 0.5"),
    "unlearn nothing": (lambda localizer, p: localizer.unlearn(None), "only a Lesson that `learn` returned"),
    "unlearn a percept": (lambda localizer, p: localizer.unlearn(p), "can be unlearned, got Percept"),
    "teach no estimate": (lambda localizer, p: localizer.teach(p, HERE), "labels are of an Estimate that"),
    "teach one coordinate": (taught(np.array([1.0])), f"its true position {SHAPE} [1.0]"),
    "teach NaN": (taught([np.nan, 0.0]), "its true position [nan, 0.0] is not finite"),
    "teach too far away": (taught([1e30, 0.0]), "is farther than 1e+08 m away"),
    "start at a float stamp": (started(stamp=1.0), f"start: the stamp {STAMP} 1.0"),
    "start at a stamp of 65 bits": (started(stamp=2**64), f"start: the stamp {STAMP} 18446744073709551616"),
    "start at one coordinate": (started(position=[1.0]), f"start: the position {SHAPE} [1.0]"),
    "start nowhere": (started(position=None), f"start: the position {SHAPE} None"),
    "start at NaN": (started(position=[0.0, np.nan]), "start: the position [0.0, nan] is not finite"),
    "start too far away": (started(position=[0.0, 1e9]), "is farther than 1e+08 m away"),
    "start exactly": (started(deviation=0.0), "start: the deviation must be from 1e-06 to 1e+08 metres, got 0.0"),
    "start with NaN": (started(deviation=np.nan), "metres, got nan"),
    "start with a truth": (started(deviation=True), "start: the deviation must be a number, got True"),
    "start with two deviations": (started(deviation=np.ones(2)), "must be a number, got [1.0, 1.0]"),
    "expect less than nothing": (lambda localizer, p: localizer.expect_head(-0.5), "error must be from 0 to 1e+08"),
    "expect NaN": (lambda localizer, p: localizer.expect_head(np.nan), "the pose head's error must be from 0"),
    "save nowhere": (lambda localizer, p: localizer.save(None), "a folder's path must be text or a Path"),
    "save to a number": (lambda localizer, p: localizer.save(3), "without a zero byte, got 3"),
    "save to a zero byte": (lambda localizer, p: localizer.save("runs\0x"), "without a zero byte, got 'runs\\x00x'"),
    "save to a file": (lambda localizer, p: localizer.save(__file__), "is a file; name a folder"),
    "save beside no map": (lambda localizer, p: localizer.save("nowhere"), "nowhere: holds no map.npz"),
}  # fmt: skip


def frame(stamp):
    return Frame("patrol", 7, stamp, lambda: np.eye(DIM)[0])


@pytest.mark.parametrize(("call", "answer"), MISTAKEN.values(), ids=MISTAKEN)
def test_a_bad_value_is_named_in_one_line_and_changes_nothing(call, answer, localizer, percept):
    before = digest(localizer.arrays())
    with pytest.raises(InputError) as refusal:
        call(localizer, percept)
    assert answer in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 250
    assert digest(localizer.arrays()) == before


FORGED = {
    "another place": {"place": 10**6},
    "a cell nobody entered": {"cell": (10**6, 0)},
    "other features": {"rows": np.zeros((3, 5))},
    "rows of NaN": {"rows": np.full((3, 64), np.nan)},
    "no weight": {"weights": np.zeros(3)},
    "a weight for one row": {"weights": np.ones(1)},
    "another name": {"name": 7},
    "a name of 70 bits": {"name": 2**70},
    "no name": {"name": None},
    "one row alone": {"rows": np.zeros(64)},
    "none of its rows": {"rows": np.zeros((0, 64)), "weights": np.zeros(0)},
    "complex rows": {"rows": np.zeros((3, 64), complex)},
    "rows of another lesson": {"rows": np.ones((3, 64))},
    "no place": {"place": None},
    "no cell": {"cell": None},
    "nothing before it": {"after": b""},
}


@pytest.mark.parametrize("spoilt", FORGED.values(), ids=FORGED)
def test_a_lesson_that_learning_never_gave_is_refused_and_the_right_one_is_not(spoilt, localizer, percept):
    lesson = localizer.learn(percept, HERE)
    before = digest(localizer.arrays())
    with pytest.raises(
        InputError,
        match=r"the lesson (of place .+ holds something else|is of place \d+ with .* so it was not learned here)",
    ):
        localizer.unlearn(replace(lesson, **spoilt))
    assert digest(localizer.arrays()) == before
    localizer.unlearn(lesson)


@pytest.mark.parametrize("position", [[3, 4], (3.0, 4.0), np.array([3, 4], np.int32), np.array([3, 4], np.float32)])
def test_a_position_may_be_any_two_numbers(position, localizer, environment, percept):
    plain = build(ROUTE, environment)
    for found, given in ((localizer, position), (plain, np.array([3.0, 4.0]))):
        found.start_at(np.int64(0), given, 5)
        found.classifier = environment.classifier()
        found.learn(percept, given)
    assert digest(localizer.classifier.arrays()) == digest(plain.classifier.arrays())
    assert localizer.observe(replace(percept, stamp=0)).position.tolist() == [3.0, 4.0]


def test_a_percept_of_lists_and_small_numbers_is_the_same_percept(environment, percept):
    plain = replace(percept, descriptor=percept.descriptor.astype(np.float32))
    listed = replace(plain, stamp=np.int64(plain.stamp), descriptor=plain.descriptor.tolist(), position=[1, 2],
                     heading=np.float32(0.5), motion=Odometry(np.int32(8)), shift=np.float32(0.25))  # fmt: skip
    plain = replace(plain, descriptor=plain.descriptor.astype(float), position=np.array([1.0, 2.0]), heading=0.5,
                    motion=Odometry(8.0), shift=0.25)  # fmt: skip
    found = [build(ROUTE, environment) for _ in range(2)]
    told = [one.observe(given) for one, given in zip(found, (listed, plain), strict=True)]
    assert digest(found[0].arrays()) == digest(found[1].arrays())
    assert told[1].percept is plain
    assert (told[0].heading, told[0].percept.shift) == (0.5, 0.25)


UNUSABLE = {
    "a speed of NaN": {"motion": Odometry(np.nan)},
    "an infinite turn": {"motion": Odometry(8.0, np.inf)},
    "a shift of NaN": {"shift": np.nan},
    "a shift by more than a picture": {"shift": -1.1},
    "a position of NaN": {"position": [np.nan, 0.0]},
    "a position too far away": {"position": [1e30, 0.0]},
    "an infinite heading": {"heading": -np.inf},
    "an endless heading": {"heading": 10**400},
    "a descriptor of NaN": {"descriptor": [np.nan] * DIM},
    "a descriptor of nothing": {"descriptor": np.zeros(DIM, np.float32)},
    "a descriptor beyond all": {"descriptor": np.full(DIM, 1e300)},
}


@pytest.mark.parametrize("system", [ROUTE, PAPER], ids=["route", "paper"])
@pytest.mark.parametrize("spoilt", UNUSABLE.values(), ids=UNUSABLE)
def test_numbers_that_cannot_be_used_make_a_faulty_frame_and_spoil_nothing(spoilt, system, environment, stream):
    """What a camera, a network or a wheel says may be nonsense at any time; a robot's program must go on."""
    found = build(system, environment)
    for row in range(8):
        found.observe(stream.percepts[row])
    estimate = found.observe(replace(stream.percepts[8], **spoilt))
    assert (estimate.verdict.reason, estimate.percept.fault) == (Reason.FAULTY_FRAME, Fault.INVALID)
    assert found.teach(estimate, HERE) == []
    after = found.observe(stream.percepts[9])
    assert np.isfinite(after.position).all()
    assert all(np.isfinite(array).all() for array in found.arrays().values() if array.dtype.kind == "f")


def test_a_program_may_fill_its_arrays_with_the_next_frame(environment, stream):
    """As a driver does that has one buffer."""
    buffer, reused, fresh = np.zeros(DIM), build(ROUTE, environment), build(ROUTE, environment)
    place = np.zeros(2)
    for row in range(30):
        buffer[:], place[:] = stream.percepts[row].descriptor, stream.truth[row]
        reused.teach(reused.observe(replace(stream.percepts[row], descriptor=buffer)), place)
        fresh.teach(fresh.observe(stream.percepts[row]), stream.truth[row])
    assert digest(reused.arrays()) == digest(fresh.arrays())


def test_the_farthest_label_still_leaves_a_state_that_is_saved_and_read(localizer, environment, percept, tmp_path):
    localizer.learn(percept, [-1e8, 1e8])
    environment.save(tmp_path / "map.npz")
    localizer.save(tmp_path)
    resumed = resume(ROUTE, Map.load(tmp_path / "map.npz", ROUTE), tmp_path / "state.npz")
    assert digest(resumed.arrays()) == digest(localizer.arrays())


def test_from_the_first_stamp_to_the_last_the_arithmetic_stays_finite(environment, stream):
    for system in (ROUTE, PAPER):
        found = build(system, environment)
        found.observe(replace(stream.percepts[0], stamp=-LATEST))
        estimate = found.observe(replace(stream.percepts[1], stamp=LATEST))
        assert np.isfinite(estimate.covariance).all()
        found.start_at(LATEST, [1e8, -1e8], 1e8)
        found.start_at(-LATEST, [1e8, -1e8], 1e-6)
        assert np.isfinite(found.observe(stream.percepts[2]).covariance).all()


class Noted:
    """A tracker that notes which call came when, as it happens: inside the localizer's lock, if there is one."""

    def __init__(self, localizer):
        self._tracker, self._localizer, self.calls = localizer.tracker, localizer, []

    def __getattr__(self, name):
        return getattr(self._tracker, name)

    def answer_late(self, percept):
        # A tracker knows the drive's clock, a frame has its camera's stamp.
        self.calls.append(("observe", replace(percept, stamp=percept.stamp - self._localizer.clock.offset)))
        return self._tracker.answer_late(percept)

    def score_label(self, percept, recognition, truth):
        self.calls.append(("learn", percept, truth))
        return self._tracker.score_label(percept, recognition, truth)

    def start_at(self, *start):
        self.calls.append(("start_at", *start))
        self._tracker.start_at(*start)


def share(localizer, stream, frames, threads=8):
    """Each thread takes the next frame; now and then one learns it, starts anew, or copies the state."""
    rows = iter(range(frames))
    length = len(stream.percepts)

    def work():
        said = []
        for row in rows:
            percept = replace(stream.percepts[row % length], stamp=row * 10**8)
            said.append(localizer.observe(percept))
            if row % 5 == 0 and not percept.fault:
                localizer.learn(percept, stream.truth[row % length])
            if row % 97 == 0:
                localizer.arrays()
            if row % 211 == 210:
                localizer.start_at(row * 10**8, stream.truth[row % length], 5.0)
        return said

    with ThreadPoolExecutor(threads) as pool:
        return list(chain.from_iterable(future.result() for future in [pool.submit(work) for _ in range(threads)]))


@pytest.fixture
def hasty():
    """Threads take turns a thousand times as often."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("system", [ROUTE, PAPER], ids=["route", "paper"])
def test_eight_threads_give_what_some_order_of_their_calls_gives(system, environment, stream):
    frames = 400
    shared, alone = build(system, environment), build(system, environment)
    shared.tracker = Noted(shared)
    said = share(shared, stream, frames)
    assert len(said) == frames
    replayed = [getattr(alone, verb)(*given) for verb, *given in shared.tracker.calls]
    assert digest(alone.arrays()) == digest(shared.arrays())
    expected = {estimate.percept.stamp: estimate for estimate in replayed if isinstance(estimate, Estimate)}
    for estimate in said:
        other = expected[estimate.percept.stamp]
        assert (estimate.stamp, estimate.verdict) == (other.stamp, other.verdict)
        np.testing.assert_array_equal(estimate.belief.mean, other.belief.mean)
        np.testing.assert_array_equal(estimate.covariance, other.covariance)


def test_frames_of_several_threads_are_tracked_in_the_order_in_which_they_were_perceived(environment, stream):
    """The inspection remembers the last image: another order could call a frame frozen that is not."""
    perceived, rows = [], iter(range(100))

    def perceive(frame):
        perceived.append(frame.stamp)
        return Percept(frame.stamp, frame.image())

    found = build(ROUTE, environment, begin_stream=lambda: perceive)
    found.tracker = Noted(found)

    def work():
        for row in rows:
            found.step(Frame("patrol", row, row * 10**8, lambda row=row: stream.percepts[row].descriptor))

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(work) for _ in range(8)]:
            future.result()
    assert [percept.stamp for _, percept in found.tracker.calls] == perceived
    assert len(perceived) == 100
