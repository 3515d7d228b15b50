"""The kernels of recognition against torch's steps: on a GPU where there is one, otherwise interpreted.

Not collected with the others: Triton must be told to interpret before it is loaded, so that a process of its own runs
this file, see test_device_compiled.py. On a machine with a GPU: `pytest tests/device/recognition_checks.py`.

Products are few whole numbers of sixteenths, so that many references are as good as others: their order is part of
what is compared.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from dense_ridge import DenseRidge
from interpreting import DEVICE, numbers_as_numpy_has_them  # noqa: F401 (a fixture)
from tmapr.device.condition import DeviceCondition, DeviceShared
from tmapr.device.fused_recognition import Cut, FusedRecognition
from tmapr.device.memory import DeviceMemory
from tmapr.device.places import DevicePlaces, DeviceScores
from tmapr.device.recognition import Recogniser
from tmapr.places.classifier import Classifier, Places
from tmapr.places.grid import Grid
from tmapr.places.projection import Identity, Projection, Subspace
from tmapr.retrieval.memory import remember
from tmapr.retrieval.search import Retrieval

pytestmark = [
    pytest.mark.usefixtures("numbers_as_numpy_has_them"),
    # Interpreted, NumPy tells of what a GPU does silently: nothing is found, and its margin is no number.
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
]

DIM, CELL, PLACES = 300, 15.0, 21
CUT = Cut(view=256, rivals=128, ranked=64, others=64, standardised=64)
"""Wider than on a GPU, since interpreted each program takes its time; and narrow enough that there are some."""
RADIUS = 8.0
OUTPUTS = ("packed", "view", "similarity", "place", "cosine")


def put(array):
    return torch.tensor(np.asarray(array, dtype=float), device=DEVICE)


def draw_unit(rng, *shape):
    drawn = rng.normal(size=(*shape, DIM))
    return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


@dataclass
class Scene:
    """A street with so many references, and what is said of a view of it."""

    rng: np.random.Generator
    refs: int
    probes: int = 24

    def make(self, changes, count=None):
        """A recogniser of it; its ridge knows nothing, and is not asked."""
        retrieval = Retrieval(**changes)
        along = self.rng.uniform(0.0, CELL * PLACES, self.refs)
        positions = np.column_stack([along, np.zeros(self.refs)])
        numbers = np.arange(self.refs)
        memory = remember(
            draw_unit(self.rng, self.refs),
            positions,
            (along // CELL).astype(int),
            numbers,
            frames=numbers,
            probes=self.probes,
        )
        kept = DeviceMemory(memory, DEVICE, torch.float16)
        places = self._make_places() if retrieval.mode == "places" else None
        made = Recogniser(retrieval, kept, places, DeviceCondition(DIM, DEVICE), RADIUS, count)
        if made.steps is not made.plain:
            radius = retrieval.support_radius or RADIUS
            made.steps = FusedRecognition(retrieval, kept, places, made.packing, radius, CUT)
        return made

    def _make_places(self):
        settings = Places(projection=Projection(kind="identity"), cell=CELL)
        reducer = Subspace(np.zeros(DIM), np.linalg.qr(self.rng.normal(size=(DIM, 4)))[0])
        classifier = Classifier(settings, Grid(np.array([0.0, -CELL / 2]), CELL), Identity(DIM), reducer)
        for place in range(PLACES):
            classifier.grid.enter(np.array([CELL * (place + 0.5), 0.0]))
        return DevicePlaces(settings, classifier, DenseRidge(DIM, 1.0, PLACES, DEVICE), DEVICE)

    def share(self, known):
        """What the views of a drive share."""
        mean = 0.6 * draw_unit(self.rng)
        return DeviceShared(put(mean), put(0.6), put(0.4 * known), put(known))

    def multiply(self, kinds):
        return torch.tensor(self.rng.integers(-6, 7, (kinds, self.refs)) / 16, dtype=torch.float32, device=DEVICE)

    def score(self, leverage, capacity, likelihoods):
        said = [put(self.rng.integers(-4, 5, capacity) / 4) for _ in range(2)]
        return DeviceScores(said[0], put(leverage), said[1] if likelihoods else None)


def ask(recogniser, scene, leverage, known, likelihoods=True):
    """What is given of a view: its descriptor, what its drive shares, products with it and what places say."""
    centred = recogniser.packing.centred
    shared = scene.share(known) if centred else None
    scores = None
    if recogniser.places:
        scores = scene.score(leverage, recogniser.places.capacity, likelihoods)
    return put(draw_unit(scene.rng)), shared, scene.multiply(1 + centred), scores


def find(steps, given):
    view, shared, products, scores = given
    return steps.conclude(steps.prepare(view, shared), products, scores, None)


def assert_same(recogniser, given):
    """All that is given back, by kernels and by torch."""
    assert recogniser.steps is not recogniser.plain
    found, wanted = (find(steps, given) for steps in (recogniser.steps, recogniser.plain))
    for name in OUTPUTS:
        mine, theirs = getattr(found, name), getattr(wanted, name)
        torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12, equal_nan=True)


KINDS = {
    "default": {},
    "eight candidates": {"candidates": 8, "support_radius": 20.0},
    "all places": {"best_places": 0},
    "one place": {"best_places": 1, "candidates": 8},
    "global": {"mode": "global", "candidates": 8},
    "as they are": {"centred": False},
    "many voters": {"support_matches": 60},
    "sharp": {"class_weight": 2.0, "likelihood_weight": 3.0, "clip": 0.5, "steepness": 1.5},
}


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS.keys())
def test_they_find_what_torch_finds(changes, rng):
    scene = Scene(rng, 300)
    recogniser = scene.make(changes)
    # Places are believed, at the edge of it, and not; of the drive nothing is known at first.
    for known, leverage in enumerate((0.0, 0.15, 0.4)):
        assert_same(recogniser, ask(recogniser, scene, leverage, min(known, 1)))


@pytest.mark.parametrize(("refs", "probes"), [(300, 1), (7, 24), (1, 1)], ids=["one probe", "few", "one"])
def test_few_are_enough(refs, probes, rng):
    scene = Scene(rng, refs, probes)
    recogniser = scene.make({"best_places": 1, "candidates": 8})
    for leverage in (0.0, 0.4):
        assert_same(recogniser, ask(recogniser, scene, leverage, 1))


def test_likelihoods_may_be_missing_and_more_may_be_wanted(rng):
    scene = Scene(rng, 150)
    recogniser = scene.make({}, count=25)
    assert_same(recogniser, ask(recogniser, scene, 0.1, 1, likelihoods=False))


def test_more_probes_than_are_compared_at_once(rng):
    scene = Scene(rng, 200, 100)
    recogniser = scene.make({})
    assert_same(recogniser, ask(recogniser, scene, 0.1, 1))


def test_the_same_is_found_again_to_the_last_bit(rng):
    scene = Scene(rng, 300)
    recogniser = scene.make({})
    given = ask(recogniser, scene, 0.1, 1)
    first, second = (find(recogniser.steps, given) for _ in range(2))
    assert all(torch.equal(getattr(first, name), getattr(second, name)) for name in OUTPUTS)


def test_a_view_that_is_nothing_but_shared_is_left_as_it_is(rng):
    scene = Scene(rng, 20)
    recogniser, shared = scene.make({}), scene.share(1)
    view = shared.weight * (shared.mean - recogniser.memory.mean)
    found, wanted = (steps.prepare(view, shared) for steps in (recogniser.steps, recogniser.plain))
    assert torch.equal(found.view, view)
    torch.testing.assert_close(found.queries, wanted.queries)


@pytest.mark.parametrize("changes", [{"grouped": True}, {"support_matches": 200}], ids=["grouped", "too many voters"])
def test_what_they_leave_out_is_done_by_torch(changes, rng):
    recogniser = Scene(rng, 20).make(changes)
    assert recogniser.steps is recogniser.plain
