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
from tmapr.recipes import Training
from tmapr.training.checkpoints import Checkpoints, Epoch, finished
from tmapr.training.course import Course
from tmapr.training.examples import Examples, shuffled
from tmapr.training.feeds import Feed, number_type
from tmapr.training.subjects import Subject, regressing
from tmapr.training.team import Team

_BEGINNING = 0
_WITHOUT_GRADIENTS = 4
"""How many times larger a batch may be that is only asked about."""


def fit(
    course: Course,
    checkpoints: Checkpoints,
    device: str = "cpu",
    stepped: Callable[[], None] = lambda: None,
    team: Team = Team(),  # noqa: B008 (frozen)
) -> Iterator[Epoch]:
    """Train on from the last complete epoch; each epoch is given when it is on disk. `stepped` is called every step."""
    learner = Learner(course.subject, course.settings, course.feed, device, team)
    history = checkpoints.history()
    checkpoints.restore(learner.network, learner.optimizer, course.subject)
    while not finished(history, course.settings):
        number = len(history) + 1
        loss = learner.learn(course.train, number, stepped)
        errors = learner.errors(course.validation)
        epoch = Epoch(number=number, loss=loss, median=float(np.median(errors)), mean=float(errors.mean()))
        history = (*history, epoch)
        if team.leads:
            checkpoints.save(learner.network, learner.optimizer, course.subject, history)
        yield history[-1]


class Learner:
    """Owns a network and its optimizer; only `learn` changes them."""

    def __init__(
        self,
        subject: Subject,
        settings: Training,
        feed: Feed,
        device: str = "cpu",
        team: Team = Team(),  # noqa: B008 (frozen)
    ) -> None:
        self._subject = subject
        self._settings = settings
        self._feed = feed
        self._device = torch.device(device)
        self._team = team
        with _seeded(self._seed(_BEGINNING), self._device):
            self.network = subject.network().to(self._device, number_type(settings))
        self.optimizer = subject.optimizer(self.network)

    def learn(self, examples: Examples, epoch: int, stepped: Callable[[], None] = lambda: None) -> float:
        """One pass over the examples, in clips as many as together have as many frames; the mean loss of a frame."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._subject.rate(epoch)
        total = torch.zeros((), device=self._device, dtype=number_type(self._settings))
        seed = self._seed(epoch, self._team.rank)
        generator = torch.Generator(self._device).manual_seed(seed)
        order = shuffled(len(examples), self._settings.seed, epoch)[: ceil(len(examples) / self._frames)]
        self.network.train()
        with _seeded(seed, self._device):
            for batch in self._batches(order):
                mine = self._team.share(batch)
                self.optimizer.zero_grad()
                if len(mine):
                    loss = self._loss(examples, mine, generator)
                    torch.autograd.backward(loss * (len(mine) / len(batch)))
                    total += loss.detach() * len(mine)
                self._team.sum_gradients(self.network.parameters())
                self.optimizer.step()
                stepped()
        self._team.follow(self.network)
        mean = self._team.sum(total).item() / len(order)
        if not isfinite(mean):
            raise InputError(f"learning_rate = {self._subject.rate(epoch):g}: epoch {epoch} diverged; lower it")
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
            for batch in self._batches(self._team.share(np.arange(len(examples))), _WITHOUT_GRADIENTS):
                pose = self.network(self._feed(examples, examples.clips(batch, self._clip)))
                found[torch.from_numpy(batch)] = torch.cat(pose, dim=1).double().cpu()
        said = self._team.sum(found.to(self._device)).cpu().numpy()
        return self._subject.normaliser.metres(said[:, :2]), np.arctan2(said[:, 3], said[:, 2])

    def _loss(
        self, examples: Examples, centers: Int[np.ndarray, " clips"], generator: torch.Generator
    ) -> Float[Tensor, ""]:
        frames = examples.clips(centers, self._clip)
        positions, headings = (
            torch.from_numpy(values).to(self._device, number_type(self._settings))
            for values in (self._subject.normaliser.normalise(examples.positions[frames]), examples.headings[frames])
        )
        with self._cast():
            return regressing(self.network).loss(self._feed(examples, frames, generator), positions, headings)

    def _batches(self, order: Int[np.ndarray, " clips"], times: int = 1) -> Iterator[Int[np.ndarray, " batch"]]:
        size = times * self._settings.clips(self._frames)
        return (order[start : start + size] for start in range(0, len(order), size))

    def _cast(self) -> AbstractContextManager[None]:
        """Half precision where a GPU has bfloat16, whose range needs no scaling of losses."""
        halved = self._device.type == "cuda" and self._settings.precision == "auto"
        usable = halved and torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.autocast(self._device.type, torch.bfloat16, enabled=usable)

    def _seed(self, *numbers: int) -> int:
        (drawn,) = np.random.SeedSequence((self._settings.seed, *numbers)).generate_state(1)
        return int(drawn)

    @property
    def _clip(self) -> Clip:
        return regressing(self.network).clip

    @property
    def _frames(self) -> int:
        return self._clip.frames


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Torch's global generators, which weights and dropout draw from, seeded here and as they were afterwards."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
