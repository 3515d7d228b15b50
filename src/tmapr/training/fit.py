"""The training loop: AdamW with a stepwise decaying rate, a checkpoint and a validation error after every epoch.

First weights, order and dropout follow from the seed and the epoch's number alone. So a training that was killed and
started again reaches, on a CPU, bit for bit the weights of one that was not.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite

import numpy as np
import torch
from jaxtyping import Float

from tmapr.exceptions import InputError
from tmapr.experiment import Training
from tmapr.perception.card import AprShape
from tmapr.perception.normaliser import Normaliser
from tmapr.training.batches import Batch, Examples, batches, shuffled
from tmapr.training.checkpoints import Checkpoints, Epoch, finished
from tmapr.training.course import Course, new_head
from tmapr.training.loss import pose_loss

_BEGINNING = 0


def fit(
    course: Course, checkpoints: Checkpoints, device: str = "cpu", stepped: Callable[[], None] = lambda: None
) -> Iterator[Epoch]:
    """Train on from the last complete epoch; each epoch is given when it is on disk. `stepped` is called every step."""
    learner = Learner(course.shape, course.settings, device)
    history = checkpoints.history()
    checkpoints.restore(learner.head, learner.optimizer, course.shape)
    while not finished(history, course.settings):
        number = len(history) + 1
        loss = learner.learn(course.train, number, stepped)
        errors = learner.errors(course.validation)
        history = (
            *history,
            Epoch(number=number, loss=loss, median=float(np.median(errors)), mean=float(errors.mean())),
        )
        checkpoints.save(learner.head, learner.optimizer, course.card, history)
        yield history[-1]


class Learner:
    """Owns a pose head and its optimizer; only `learn` changes them."""

    def __init__(self, shape: AprShape, settings: Training, device: str = "cpu") -> None:
        self._settings = settings
        self._device = torch.device(device)
        self._normaliser = Normaliser(shape.center, shape.scale)
        with _seeded(settings.seed, _BEGINNING, self._device):
            self.head = new_head(shape, settings.dropout).to(self._device)
        self.optimizer = torch.optim.AdamW(
            self.head.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )

    def learn(self, examples: Examples, epoch: int, stepped: Callable[[], None] = lambda: None) -> float:
        """One pass over the examples; the mean loss of a frame."""
        settings = self._settings
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(settings, epoch)
        total = torch.zeros((), device=self._device)
        self.head.train()
        with _seeded(settings.seed, epoch, self._device):
            for batch in self._batches(examples, shuffled(len(examples), settings.seed, epoch)):
                pose = self.head(batch.features)
                loss = pose_loss(pose, batch.positions, batch.headings, settings.heading_weight)
                self.optimizer.zero_grad()
                torch.autograd.backward(loss)
                self.optimizer.step()
                total += loss.detach() * len(batch.positions)
                stepped()
        mean = total.item() / len(examples)
        if not isfinite(mean):
            raise InputError(f"training.learning_rate = {settings.learning_rate:g}: epoch {epoch} diverged; lower it")
        return mean

    def errors(self, examples: Examples) -> Float[np.ndarray, " frames"]:
        """How far the head's position is from the recorded one, metres."""
        self.head.eval()
        with torch.inference_mode():
            given = self._batches(examples, np.arange(len(examples)))
            found = torch.cat([self.head(batch.features).position for batch in given]).cpu().numpy()
        return np.linalg.norm(self._normaliser.metres(found) - examples.positions, axis=1)

    def _batches(self, examples: Examples, order: np.ndarray) -> Iterator[Batch]:
        return batches(examples, order, self._settings.batch, self._normaliser, self._device)


def learning_rate(settings: Training, epoch: int) -> float:
    """Of an epoch, counted from 1: a factor is applied after every so many."""
    return settings.learning_rate * settings.decay ** ((epoch - 1) // settings.decay_every)


@contextmanager
def _seeded(seed: int, epoch: int, device: torch.device) -> Iterator[None]:
    """Torch's global generators, which weights and dropout draw from, seeded here and as they were afterwards."""
    (drawn,) = np.random.SeedSequence((seed, epoch)).generate_state(1)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(int(drawn))
        yield
