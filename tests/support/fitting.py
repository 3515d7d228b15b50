"""A small training of a pose head on made-up tokens, and what it leaves."""

import numpy as np
import torch

from tmapr.artifacts.run import RunFolder, file_digest
from tmapr.experiment import Data, Experiment
from tmapr.perception.card import AprShape, Card
from tmapr.perception.recipes import Training
from tmapr.training.checkpoints import Checkpoints
from tmapr.training.examples import Examples
from tmapr.training.feeds import TokenFeed
from tmapr.training.fit import Learner, fit
from tmapr.training.models import AprModel
from tmapr.training.plan import TrainingPlan
from tmapr.training.store import Store

GRID, CHANNELS, SCALE = (2, 3), 8, 40.0
SHAPE = AprShape(channels=CHANNELS, layers=1, heads=2, hidden=32, center=(500.0, -20.0), scale=SCALE)
SETTINGS = Training(epochs=4, batch=8, learning_rate=1e-3)
QUICK = Training(learning_rate=1e-2, dropout=0.0, decay_every=40)


FEED = TokenFeed(GRID, 1, torch.device("cpu"))


def examples(count, seed=1, headings=None):
    rng = np.random.default_rng(seed)
    tokens = rng.normal(size=(count, GRID[0] * GRID[1], CHANNELS)).astype(np.float16)
    positions = np.array(SHAPE.center) + rng.uniform(-SCALE, SCALE, (count, 2))
    drawn = rng.uniform(-np.pi, np.pi, count)
    numbers = np.arange(count)
    given = drawn if headings is None else headings
    return Examples(Store([tokens]), numbers, numbers, np.zeros(count, dtype=int), positions, given)


def plan(settings=SETTINGS, count=16, shape=SHAPE):
    return TrainingPlan(settings, AprModel(Card(apr=shape), settings), FEED, examples(count), examples(9, seed=2))


def new_learner(settings):
    return Learner(AprModel(Card(apr=SHAPE), settings), settings, FEED)


def checkpoints(folder, settings=SETTINGS, **changes):
    given = {"data": Data(train=("noon",)), "training": settings} | changes
    return Checkpoints(Experiment(**given), RunFolder(folder))


def train(folder, settings=SETTINGS):
    return list(fit(plan(settings), checkpoints(folder, settings)))


def files(folder):
    """Everything that training left, by name and content."""
    return {str(path.relative_to(folder)): file_digest(path) for path in (folder / "apr").rglob("*") if path.is_file()}
