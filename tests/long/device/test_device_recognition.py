"""Recognition on the device against the CPU's: candidates, their order, and what the route filter is given.

Descriptors of ±1/8 are of length 1, and their products are exact in float32 in whatever order they are summed: there
both must agree to rounding in float64, ties included. Those of a made-up drive are rounded to float32 on both sides.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dense_ridge import DenseRidge
from taught import SMALL, environment, traverse
from tmapr.device.condition import DeviceCondition
from tmapr.device.memory import DeviceMemory
from tmapr.device.places import DevicePlaces
from tmapr.device.recognition import Recogniser
from tmapr.fusion.capf import Fusion
from tmapr.places.classifier import Classifier, Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.recognising import recognise
from tmapr.retrieval.condition import Condition
from tmapr.retrieval.memory import Memory, remember
from tmapr.retrieval.search import SHARPNESS, Retrieval
from tmapr.stages import Stages
from tmapr.system import System, build
from tmapr.tracking import Tracking
from tmapr.types import Comparison, Estimate, Percept

DIM, REFS, SPACING = 64, 240, 3.0
CPU = torch.device("cpu")
PLACES = Places(cell=15.0, projection=Projection(dimension=48), mixture=Mixture(dimension=8))
VIEWS = 15
EXACT, HALF = torch.float64, torch.float16


def flip(rng, signs, share):
    return np.where(rng.random(signs.shape) < share, -signs, signs)


@dataclass
class World:
    """A map of signs, and views of it."""

    memory: Memory
    classifier: Classifier
    views: np.ndarray
    rows: np.ndarray


@pytest.fixture(scope="module")
def world():
    """A drive along a street that bends back; neighbours share most signs, and the second half repeats facades."""
    rng = np.random.default_rng(3)
    facades = np.sign(rng.normal(size=(12, DIM)))
    signs = flip(rng, np.repeat(facades[np.arange(24) % 12], REFS // 24, axis=0), 0.12)
    along = SPACING * np.arange(REFS)
    positions = np.column_stack([np.minimum(along, 360.0), np.maximum(along - 360.0, 0.0)])
    descriptors = signs / np.sqrt(DIM)
    classifier = Classifier.fit(PLACES, descriptors, positions)
    lessons = [classifier.learn(*pair) for pair in zip(descriptors, positions, strict=True)]
    places = np.array([lesson.place for lesson in lessons])
    memory = remember(descriptors, positions, places, np.arange(REFS), frames=np.arange(REFS), probes=64)
    rows = rng.integers(REFS, size=120)
    return World(memory, classifier, flip(rng, np.sign(memory.descriptors[rows]), 0.2) / np.sqrt(DIM), rows)


@dataclass
class Pair:
    """The same recognition twice."""

    stages: Stages
    memory: Memory
    classifier: Classifier
    recogniser: Recogniser
    condition: DeviceCondition
    drive: Condition

    def compare(self, percept):
        """What the CPU says of a frame, and the device."""
        expected = recognise(self.stages, self.memory, self.classifier, percept, self.drive.recall(percept.stamp))
        self.condition.turn_to(percept.stamp)
        found = self.recogniser.recognise(torch.as_tensor(percept.descriptor))
        compared = Comparison(found.similarity.numpy(), found.place.numpy(), found.cosine.numpy())
        unpack = self.recogniser.packing.unpack
        return expected, unpack(found.packed.numpy(), self.memory, compared, found.view.numpy())

    def note(self, descriptor, stamp, share):
        self.drive.note(descriptor, stamp, share)
        self.condition.note(torch.as_tensor(descriptor), torch.tensor(share, dtype=torch.float64))
        self.condition.keep(stamp)


def make_pair(retrieval, places, memory, classifier, dtype=EXACT, count=None):
    scorer = (
        DevicePlaces(places, classifier, DenseRidge.copy(classifier.ridge, CPU), CPU)
        if retrieval.mode == "places"
        else None
    )
    condition = DeviceCondition(classifier.dimension, CPU)
    kept = DeviceMemory(memory, CPU, dtype)
    recogniser = Recogniser(retrieval, kept, scorer, condition, memory.reference.place, count)
    return Pair(Stages(retrieval, Tracking(), Fusion(), "", ""), memory, classifier, recogniser, condition, Condition())


def assert_same(expected, found, tolerance):
    """Every number that travels on."""
    close = {"rtol": tolerance, "atol": tolerance}
    assert [each.reference for each in found.candidates] == [each.reference for each in expected.candidates]
    for mine, theirs in zip(found.candidates, expected.candidates, strict=True):
        for number in ("similarity", "score", "support", "margin"):
            np.testing.assert_allclose(getattr(mine, number), getattr(theirs, number), **close)
        assert (mine.place, mine.sequence, mine.heading) == (theirs.place, theirs.sequence, theirs.heading)
    assert found.constrained == expected.constrained
    assert (found.leverage is None) == (expected.leverage is None)
    if expected.leverage is not None:
        np.testing.assert_allclose(found.leverage, expected.leverage, **close)
    for name in ("similarity", "place", "cosine"):
        np.testing.assert_allclose(getattr(found.comparison, name), getattr(expected.comparison, name), **close)
    np.testing.assert_allclose(found.view, expected.view, **close)
    assert (found.familiar is None) == (expected.familiar is None)
    if expected.familiar is not None:
        np.testing.assert_allclose(found.familiar, expected.familiar, **close)


KINDS = {
    "default": {},
    "eight candidates": {"candidates": 8},
    "all places": {"best_places": 0},
    "one place": {"best_places": 1, "candidates": 8},
    "trusting": {"trusted_leverage": 10.0},
    "doubting": {"trusted_leverage": 1e-3},
    "global": {"mode": "global", "candidates": 8},
    "as they are": {"centred": False},
    "grouped": {"grouped": True, "candidates": 8},
    "wide": {"support_radius": 1e4, "support_matches": 30},
    "sharp": {"class_weight": 2.0, "likelihood_weight": 3.0, "clip": 0.5, "steepness": 1.5},
}


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS.keys())
def test_every_view_is_recognised_as_on_the_cpu(changes, world):
    pair = make_pair(Retrieval(**{"trusted_leverage": 0.018} | changes), PLACES, world.memory, world.classifier)
    constrained = set()
    for stamp, view in enumerate(world.views[:VIEWS]):
        expected, found = pair.compare(Percept(stamp, view))
        assert_same(expected, found, 1e-9)
        constrained.add(found.constrained)
    if changes == {}:
        assert constrained == {True, False}


@pytest.mark.parametrize("changes", [{}, {"candidates": 8}], ids=["one", "eight"])
def test_what_a_drive_shares_is_removed_as_on_the_cpu(changes, world):
    pair = make_pair(Retrieval(trusted_leverage=0.3, **changes), PLACES, world.memory, world.classifier)
    # A share of 20 views, then none: the mean stays a view of eighths and its weight 0.4, so products stay near exact.
    pair.note(world.views[0], 0, 20.0)
    for stamp, view in enumerate(world.views[1:VIEWS]):
        assert_same(*pair.compare(Percept(stamp, view)), 2e-5)


def test_more_are_found_when_more_are_wanted(world):
    pair = make_pair(Retrieval(), PLACES, world.memory, world.classifier, count=25)
    for view in world.views[:20]:
        expected = recognise(pair.stages, world.memory, world.classifier, Percept(0, view), None, 25)
        _, found = pair.compare(Percept(0, view))
        assert_same(expected, found, 1e-9)


@pytest.mark.parametrize("changes", [{"best_places": 0}, {"best_places": 0, "grouped": True}], ids=["near", "grouped"])
def test_what_verification_asks_for_is_told(changes, world):
    """The best ten of all, and how much of what is likely is around the first."""
    pair = make_pair(Retrieval(support_radius=8.0, **changes), PLACES, world.memory, world.classifier)
    for view in world.views[:VIEWS]:
        expected, found = pair.compare(Percept(0, view))
        packed = pair.recogniser.recognise(torch.as_tensor(view)).packed.numpy()
        likely = pair.recogniser.packing.list_likely(packed)
        total = expected.comparison.similarity + expected.comparison.place
        order = np.argsort(-total, kind="stable")[:10]
        assert likely.rows.tolist() == order.tolist()
        np.testing.assert_allclose(likely.scores, total[order], rtol=1e-9)
        chance = np.exp(SHARPNESS * (total - total.max()))
        near = np.hypot(*(world.memory.positions - found.first.position).T) <= 8.0
        assert likely.share == pytest.approx(chance[near].sum() / chance.sum(), rel=1e-9)


def test_places_without_references_leave_nothing_to_find(world):
    """A robot that learned a place off the map, and is there again."""
    classifier = world.classifier.continue_from(world.classifier.arrays())
    view = -world.views[0]
    for step in range(12):
        classifier.learn(view, np.array([-200.0, 40.0 * step]))
    pair = make_pair(Retrieval(best_places=1, trusted_leverage=10.0), PLACES, world.memory, classifier)
    expected, found = pair.compare(Percept(0, view))
    assert expected.candidates == ()
    assert_same(expected, found, 1e-9)


@pytest.fixture(scope="module")
def dusk():
    """A drive at dusk through a street mapped at noon, as a localizer on the CPU saw it; and the localizer."""
    localizer = build(System(places=SMALL), environment())
    return localizer, [localizer.observe(percept) for percept in traverse(2, "dusk").percepts]


def follow(localizer, estimates, dtype):
    """Each usable frame's recognition on the CPU and on the device, which follows the drive's condition itself."""
    places, memory, classifier = SMALL, localizer.memory, localizer.classifier
    pair = make_pair(localizer.stages.retrieval, places, memory, classifier, dtype)
    for estimate in estimates:
        if estimate.recognition is None:
            continue
        percept = estimate.percept
        pair.condition.turn_to(percept.stamp)
        found = pair.recogniser.recognise(torch.as_tensor(percept.descriptor))
        pair.note(percept.descriptor, percept.stamp, measure_share(estimate))
        yield estimate, found, pair


def measure_share(estimate: Estimate):
    return (1.0 - estimate.route.p_off_map) if estimate.route.new_view else 0.0


@pytest.fixture(scope="module")
def followed(dusk):
    return list(follow(*dusk, torch.float32))


def test_a_whole_drive_is_recognised_as_by_the_localizer(followed):
    """The drive's condition is followed on the device: float32 products differ by their order alone."""
    frames = familiar = 0
    for estimate, found, pair in followed:
        expected, memory = estimate.recognition, pair.memory
        unpacked = pair.recogniser.packing.unpack(found.packed.numpy(), memory)
        assert unpacked.first.reference == expected.first.reference
        np.testing.assert_allclose(found.similarity, expected.comparison.similarity, atol=1e-4)
        np.testing.assert_allclose(found.place, expected.comparison.place, atol=1e-9)
        np.testing.assert_allclose(found.view, expected.view, atol=1e-12)
        if expected.familiar is not None:
            familiar += 1
            np.testing.assert_allclose(unpacked.familiar, expected.familiar, atol=1e-6)
        frames += 1
    assert frames > 250
    assert familiar == frames - 1


def test_the_condition_on_the_device_is_saved_as_that_of_the_cpu(followed):
    _, _, pair = followed[-1]
    expected, found = pair.drive.arrays(), pair.condition.arrays()
    assert found["stamp"] == expected["stamp"]
    for name in ("mean", "views"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, atol=1e-15)
    again = DeviceCondition(len(found["mean"]), CPU)
    again.restore(expected)
    assert again.arrays().keys() == expected.keys()
    assert again.turn_to(int(found["stamp"]) + 1)
    np.testing.assert_allclose(again.recall().weight, pair.drive.recall(int(found["stamp"]) + 1).weight, rtol=1e-12)


def test_half_precision_references_keep_the_first_candidate_and_its_place(dusk):
    localizer, estimates = dusk
    same, frames, right = 0, 0, np.zeros(2)
    recording = traverse(2, "dusk")
    truth = dict(zip((percept.stamp for percept in recording.percepts), recording.truth, strict=True))
    for estimate, found, pair in follow(localizer, estimates, HALF):
        expected = estimate.recognition
        unpacked = pair.recogniser.packing.unpack(found.packed.numpy(), pair.memory)
        # Two references that differ by less than the rounding of either are as good.
        tied = abs(unpacked.first.score - expected.first.score) < 1e-2 and unpacked.first.place == expected.first.place
        same += unpacked.first.reference == expected.first.reference or tied
        spot = truth[estimate.percept.stamp]
        right += [np.hypot(*(each.first.position - spot)) < 10.0 for each in (unpacked, expected)]
        frames += 1
    assert same >= 0.999 * frames
    assert abs(right[0] - right[1]) <= 0.005 * frames


class Watch(TorchDispatchMode):
    """Counts what a GPU would launch, and names what would make the host wait or a shape depend on what is found."""

    WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "bincount", "equal", "is_nonzero")
    VIEWS = (
        "view",
        "select",
        "slice",
        "expand",
        "unsqueeze",
        "squeeze",
        "t",
        "transpose",
        "permute",
        "detach",
        "alias",
    )

    def __init__(self):
        super().__init__()
        self.launched, self.waited = [], []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        name = operation.overloadpacket.__name__
        if name.startswith(self.WAITING):
            self.waited.append(name)
        if name not in self.VIEWS and not name.startswith("_unsafe_view"):
            self.launched.append(name)
        return operation(*args, **(kwargs or {}))


def test_a_frame_waits_for_nothing_and_has_the_shapes_of_every_other(world):
    pair = make_pair(Retrieval(), PLACES, world.memory, world.classifier)
    pair.note(world.views[0], 0, 20.0)
    seen = set()
    for view in (world.views[1], -world.views[2], np.zeros(DIM)):
        with Watch() as watch:
            found = pair.recogniser.recognise(torch.as_tensor(view))
        assert watch.waited == []
        seen.add((tuple(watch.launched), found.packed.shape))
    assert len(seen) == 1
