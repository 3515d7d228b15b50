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
from tmapr.recipes import Training
from tmapr.training.examples import Examples
from tmapr.training.feeds import KeptTokens
from tmapr.training.fit import Learner
from tmapr.training.store import Store
from tmapr.training.subjects import Baseline, PoseHead
from tmapr.training.team import Team, gathered

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


def subject(name):
    normaliser = Normaliser((1.0, 2.0), 40.0)
    if name == "apr":
        shape = AprShape(channels=CHANNELS, layers=1, heads=2, hidden=32, center=(1.0, 2.0), scale=40.0)
        return PoseHead(Card(apr=shape), SETTINGS)
    recipes = Baselines(
        atloc=AtLocRecipe(trunk="frozen", dropout=0.0, width=32, learning_rate=1e-3),
        robustloc=RobustLocRecipe(trunk="frozen", frames=3, spacing=2, learning_rate=1e-3),
    )
    return Baseline(name, recipes, CHANNELS, normaliser)


def learned(name, team):
    """Weights after two epochs, so 20 steps and more, the losses and the errors."""
    learner = Learner(subject(name), SETTINGS, KeptTokens(GRID, 1, torch.device("cpu"), torch.float64), team=team)
    losses = [learner.learn(examples(), epoch) for epoch in (1, 2)]
    flat = torch.cat([weight.detach().flatten() for weight in learner.network.parameters()])
    return flat.numpy(), losses, learner.errors(examples())


WORKER = f"""
import json, os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np
import torch
from test_team import learned
from tmapr.training.team import gathered

with gathered("cpu") as (team, device):
    for name in sys.argv[2].split(","):
        weights, losses, errors = learned(name, team)
        np.savez(f"{{sys.argv[1]}}/{{name}}-{{team.rank}}.npz", weights=weights, losses=losses, errors=errors)
    norm = torch.nn.BatchNorm1d(3)
    norm.running_mean += team.rank
    team.follow(norm)
    np.save(f"{{sys.argv[1]}}/followed-{{team.rank}}.npy", norm.running_mean.numpy())
    with open(f"{{sys.argv[1]}}/{{team.rank}}.json", "w") as stream:
        json.dump({{"size": team.size, "device": device}}, stream)
os._exit(0)  # as the command does
"""
MODELS = ("apr", "atloc", "robustloc")


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """What two processes came to."""
    folder = tmp_path_factory.mktemp("team")
    (folder / "worker.py").write_text(WORKER)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*launch, folder / "worker.py", folder, ",".join(MODELS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def test_two_processes_were_at_work(together):
    assert [json.loads((together / f"{rank}.json").read_text())["size"] for rank in (0, 1)] == [2, 2]


@pytest.mark.parametrize("name", MODELS)
def test_two_processes_reach_the_weights_of_one_with_the_whole_batch(together, name):
    weights, losses, errors = learned(name, Team())
    for rank in (0, 1):
        found = np.load(together / f"{name}-{rank}.npz")
        np.testing.assert_allclose(found["weights"], weights, atol=1e-5)
        np.testing.assert_allclose(found["losses"], losses, rtol=1e-6)
        np.testing.assert_allclose(found["errors"], errors, rtol=1e-6)


def test_running_statistics_are_those_of_the_first_process(together):
    for rank in (0, 1):
        np.testing.assert_array_equal(np.load(together / f"followed-{rank}.npy"), np.zeros(3))


def test_the_weights_moved(together):
    fresh = Learner(subject("apr"), SETTINGS, KeptTokens(GRID, 1, torch.device("cpu"), torch.float64)).network
    before = torch.cat([weight.detach().flatten() for weight in fresh.parameters()]).numpy()
    assert np.abs(np.load(together / "apr-0.npz")["weights"] - before).max() > 1e-3


def test_without_torchrun_a_process_is_the_whole_team(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with gathered("cpu") as (team, device):
        assert (team, device, team.leads) == (Team(), "cpu", True)


def test_shares_are_disjoint_and_together_the_batch():
    rows = np.arange(7)
    shares = [Team(rank, 3).share(rows) for rank in range(3)]
    assert sorted(np.concatenate(shares).tolist()) == rows.tolist()
