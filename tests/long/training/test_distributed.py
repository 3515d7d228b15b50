"""Two real processes under torchrun against one with the whole batch."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tmapr.baselines.settings import AtLocRecipe, Baselines, RobustLocRecipe
from tmapr.perception.card import AprShape, Card
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.recipes import Training
from tmapr.training.distributed import Worker, join_workers
from tmapr.training.examples import Examples
from tmapr.training.feeds import TokenFeed
from tmapr.training.fit import Learner
from tmapr.training.models import AprModel, BaselineModel
from tmapr.training.store import Store

GRID, CHANNELS, FRAMES, BATCH = (2, 3), 8, 84, 8
# Twenty whole batches of an epoch and a bit: the last batch has four frames, so both processes have two of them.
SETTINGS = Training(batch=BATCH, learning_rate=1e-3, dropout=0.0, precision="float64")


def examples():
    rng = np.random.default_rng(1)
    tokens = rng.normal(size=(FRAMES, GRID[0] * GRID[1], CHANNELS)).astype(np.float16)
    numbers = np.arange(FRAMES)
    positions, headings = rng.uniform(-40, 40, (FRAMES, 2)), rng.uniform(-np.pi, np.pi, FRAMES)
    headings[::7] = np.nan
    return Examples(Store([tokens]), numbers, numbers, np.zeros(FRAMES, dtype=int), positions, headings)


def model(name):
    normaliser = Normaliser((1.0, 2.0), 40.0)
    if name == "apr":
        shape = AprShape(channels=CHANNELS, layers=1, heads=2, hidden=32, center=(1.0, 2.0), scale=40.0)
        return AprModel(Card(apr=shape), SETTINGS)
    recipes = Baselines(
        atloc=AtLocRecipe(trunk="frozen", dropout=0.0, width=32, learning_rate=1e-3),
        robustloc=RobustLocRecipe(trunk="frozen", frames=3, spacing=2, learning_rate=1e-3),
    )
    return BaselineModel(name, recipes, CHANNELS, normaliser)


def learn(name, worker):
    """Weights after two epochs, so 20 steps and more, the losses and the errors."""
    learner = Learner(model(name), SETTINGS, TokenFeed(GRID, 1, torch.device("cpu"), torch.float64), worker=worker)
    losses = [learner.learn(examples(), epoch) for epoch in (1, 2)]
    flat = torch.cat([weight.detach().flatten() for weight in learner.network.parameters()])
    return flat.numpy(), losses, learner.errors(examples())


WORKER = f"""
import json, os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np
import torch
from test_distributed import learn
from tmapr.training.distributed import join_workers

with join_workers("cpu") as (worker, device):
    for name in sys.argv[2].split(","):
        weights, losses, errors = learn(name, worker)
        np.savez(f"{{sys.argv[1]}}/{{name}}-{{worker.rank}}.npz", weights=weights, losses=losses, errors=errors)
    norm = torch.nn.BatchNorm1d(3)
    norm.running_mean += worker.rank
    worker.synchronise_buffers(norm)
    np.save(f"{{sys.argv[1]}}/followed-{{worker.rank}}.npy", norm.running_mean.numpy())
    with open(f"{{sys.argv[1]}}/{{worker.rank}}.json", "w") as stream:
        json.dump({{"size": worker.size, "device": device}}, stream)
os._exit(0)  # as the command does
"""
MODELS = ("apr", "atloc", "robustloc")


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """What two processes came to."""
    folder = tmp_path_factory.mktemp("workers")
    (folder / "worker.py").write_text(WORKER)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*launch, folder / "worker.py", folder, ",".join(MODELS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def test_two_processes_were_at_work(together):
    assert [json.loads((together / f"{rank}.json").read_text())["size"] for rank in (0, 1)] == [2, 2]


@pytest.mark.parametrize("name", MODELS)
def test_two_processes_reach_the_weights_of_one_with_the_whole_batch(together, name):
    weights, losses, errors = learn(name, Worker())
    for rank in (0, 1):
        found = np.load(together / f"{name}-{rank}.npz")
        np.testing.assert_allclose(found["weights"], weights, atol=1e-5)
        np.testing.assert_allclose(found["losses"], losses, rtol=1e-6)
        np.testing.assert_allclose(found["errors"], errors, rtol=1e-6)


def test_running_statistics_are_those_of_the_first_process(together):
    for rank in (0, 1):
        np.testing.assert_array_equal(np.load(together / f"followed-{rank}.npy"), np.zeros(3))


def test_the_weights_moved(together):
    fresh = Learner(model("apr"), SETTINGS, TokenFeed(GRID, 1, torch.device("cpu"), torch.float64)).network
    before = torch.cat([weight.detach().flatten() for weight in fresh.parameters()]).numpy()
    assert np.abs(np.load(together / "apr-0.npz")["weights"] - before).max() > 1e-3


def test_without_torchrun_a_process_is_the_only_worker(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with join_workers("cpu") as (worker, device):
        assert (worker, device, worker.leads) == (Worker(), "cpu", True)


def test_shares_are_disjoint_and_together_the_batch():
    rows = np.arange(7)
    shares = [Worker(rank, 3).share(rows) for rank in range(3)]
    assert sorted(np.concatenate(shares).tolist()) == rows.tolist()
