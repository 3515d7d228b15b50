"""The training loop: a checkpoint and a validation error after every epoch.

First weights, order, dropout and augmentation follow from the seed and the epoch's number alone. So a training that was
killed and started again reaches, on a CPU, bit for bit the weights of one that was not.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from math import ceil, isfinite

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.baselines.regressor import Clip
from tmapr.exceptions import InputError
from tmapr.perception.recipes import Training
from tmapr.training.checkpoints import Checkpoints, Epoch, finished
from tmapr.training.distributed import Worker
from tmapr.training.examples import Examples, shuffle
from tmapr.training.feeds import Feed, choose_dtype
from tmapr.training.models import PoseModel, as_regressor
from tmapr.training.plan import TrainingPlan

_BEGINNING = 0
_WITHOUT_GRADIENTS = 4
"""How many times larger a batch may be that is only asked about."""


def fit(
    plan: TrainingPlan,
    checkpoints: Checkpoints,
    device: str = "cpu",
    on_step: Callable[[], None] = lambda: None,
    worker: Worker = Worker(),  # noqa: B008 (frozen)
) -> Iterator[Epoch]:
    """Train on from the last complete epoch; each epoch is given when it is on disk. Every step calls `on_step`."""
    learner = Learner(plan.model, plan.settings, plan.feed, device, worker)
    history = checkpoints.history()
    checkpoints.restore(learner.network, learner.optimizer, plan.model)
    while not finished(history, plan.settings):
        number = len(history) + 1
        loss = learner.learn(plan.train, number, on_step)
        errors = learner.errors(plan.validation)
        epoch = Epoch(number=number, loss=loss, median=float(np.median(errors)), mean=float(errors.mean()))
        history = (*history, epoch)
        if worker.leads:
            checkpoints.save(learner.network, learner.optimizer, plan.model, history)
        yield history[-1]


class Learner:
    """Owns a network and its optimizer; only `learn` changes them."""

    def __init__(
        self,
        model: PoseModel,
        settings: Training,
        feed: Feed,
        device: str = "cpu",
        worker: Worker = Worker(),  # noqa: B008 (frozen)
    ) -> None:
        self._model = model
        self._settings = settings
        self._feed = feed
        self._device = torch.device(device)
        self._worker = worker
        with _seed_torch(self._derive_seed(_BEGINNING), self._device):
            self.network = model.build_network().to(self._device, choose_dtype(settings))
        self.optimizer = model.build_optimizer(self.network)

    def learn(self, examples: Examples, epoch: int, on_step: Callable[[], None] = lambda: None) -> float:
        """One pass over the examples, in clips as many as together have as many frames; the mean loss of a frame."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._model.learning_rate(epoch)
        total = torch.zeros((), device=self._device, dtype=choose_dtype(self._settings))
        seed = self._derive_seed(epoch, self._worker.rank)
        generator = torch.Generator(self._device).manual_seed(seed)
        order = shuffle(len(examples), self._settings.seed, epoch)[: ceil(len(examples) / self._frames)]
        self.network.train()
        with _seed_torch(seed, self._device):
            for batch in self._batches(order):
                mine = self._worker.share(batch)
                self.optimizer.zero_grad()
                if len(mine):
                    loss = self._loss(examples, mine, generator)
                    torch.autograd.backward(loss * (len(mine) / len(batch)))
                    total += loss.detach() * len(mine)
                self._worker.sum_gradients(self.network.parameters())
                self.optimizer.step()
                on_step()
        self._worker.synchronise_buffers(self.network)
        mean = self._worker.sum(total).item() / len(order)
        if not isfinite(mean):
            raise InputError(f"learning_rate = {self._model.learning_rate(epoch):g}: epoch {epoch} diverged; lower it")
        return mean

    def errors(self, examples: Examples) -> Float[np.ndarray, " frames"]:
        """How far the network's position is from the recorded one, metres."""
        positions, _ = self.poses(examples)
        return np.linalg.norm(positions - examples.positions, axis=1)

    def poses(self, examples: Examples) -> tuple[Float[np.ndarray, "frames 2"], Float[np.ndarray, " frames"]]:
        """Positions in metres and headings in radians, as the network says; each process asks for its share."""
        found = torch.zeros(len(examples), 4, dtype=torch.float64)
        self.network.eval()
        # In full precision: a bfloat16 resolves 80 m to a third of a metre.
        with torch.inference_mode():
            for batch in self._batches(self._worker.share(np.arange(len(examples))), _WITHOUT_GRADIENTS):
                pose = self.network(self._feed(examples, examples.clips(batch, self._clip)))
                found[torch.from_numpy(batch)] = torch.cat(pose, dim=1).double().cpu()
        said = self._worker.sum(found.to(self._device)).cpu().numpy()
        return self._model.normaliser.metres(said[:, :2]), np.arctan2(said[:, 3], said[:, 2])

    def _loss(
        self, examples: Examples, centers: Int[np.ndarray, " clips"], generator: torch.Generator
    ) -> Float[Tensor, ""]:
        frames = examples.clips(centers, self._clip)
        positions, headings = (
            torch.from_numpy(values).to(self._device, choose_dtype(self._settings))
            for values in (self._model.normaliser.normalise(examples.positions[frames]), examples.headings[frames])
        )
        with self._autocast():
            return as_regressor(self.network).loss(self._feed(examples, frames, generator), positions, headings)

    def _batches(self, order: Int[np.ndarray, " clips"], times: int = 1) -> Iterator[Int[np.ndarray, " batch"]]:
        size = times * self._settings.clips(self._frames)
        return (order[start : start + size] for start in range(0, len(order), size))

    def _autocast(self) -> AbstractContextManager[None]:
        """Half precision where a GPU has bfloat16, whose range needs no scaling of losses."""
        halved = self._device.type == "cuda" and self._settings.precision == "auto"
        usable = halved and torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.autocast(self._device.type, torch.bfloat16, enabled=usable)

    def _derive_seed(self, *numbers: int) -> int:
        (drawn,) = np.random.SeedSequence((self._settings.seed, *numbers)).generate_state(1)
        return int(drawn)

    @property
    def _clip(self) -> Clip:
        return as_regressor(self.network).clip

    @property
    def _frames(self) -> int:
        return self._clip.frames


@contextmanager
def _seed_torch(seed: int, device: torch.device) -> Iterator[None]:
    """Torch's global generators, which weights and dropout draw from, seeded here and as they were afterwards."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
