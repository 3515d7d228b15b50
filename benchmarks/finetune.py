"""Online fine-tuning: the place classifier by gradient steps, on the same z and labels as the analytic one.

Softmax cross-entropy over the places known so far, linear or with one hidden layer. Neither has an output bias: the
linear one is then the same function of z as the analytic classifier, and a bias would chiefly follow the latest place.
A new place's row starts at zero, and what the optimizer knows of the older rows stays. With a memory, every step also
replays samples kept from the whole stream.

z is rectified, so all samples share a large mean, and a gradient step for one place moves it for all the others. An
offline start takes that mean out, which the analytic classifier does not need.
"""

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear, pad, relu

from tmapr.config import Settings
from tmapr.exceptions import InputError


class FineTuning(Settings):
    """How a place classifier is trained by gradient steps."""

    hidden: int = Field(0, ge=0, description="width of the hidden layer; 0: linear")
    optimizer: Literal["sgd", "adamw"] = Field("adamw", description="sgd | adamw")
    learning_rate: float = Field(1e-3, gt=0, description="of the steps while streaming")
    momentum: float = Field(0.9, ge=0, lt=1, description="of sgd")
    weight_decay: float = Field(1e-4, ge=0, description="of adamw")
    steps: int = Field(1, ge=1, description="gradient steps with each sample")
    memory: int = Field(0, ge=0, description="samples kept for replay, a fair draw from the stream; 0: none")
    replayed: int = Field(16, ge=1, description="kept samples that a step replays beside the new one")
    seed: int = Field(0, ge=0, description="of the hidden layer, the order of offline passes, and replay")


class FineTunedClassifier:
    """Owns the network, its optimizer and its memory; only `learn` and `fit` change them."""

    def __init__(self, settings: FineTuning, dim: int) -> None:
        self.dim = dim
        self._settings = settings
        self._rng = np.random.default_rng(settings.seed)
        self._mean = np.zeros(dim)
        self._hidden = _make_hidden_layer(dim, settings.hidden, settings.seed) if settings.hidden else ()
        self._output = nn.Parameter(torch.zeros(0, settings.hidden or dim))
        self._optimizer = _make_optimizer(settings, [*self._hidden, self._output])
        self._memory = Reservoir(settings.memory, self._rng)

    @property
    def classes(self) -> int:
        """How many places it knows."""
        return len(self._output)

    @property
    def weights(self) -> list[Float32[np.ndarray, "..."]]:
        """Copies of the hidden layer's matrix and bias, if there is one, and of the output's rows."""
        return [weights.detach().numpy().copy() for weights in (*self._hidden, self._output)]

    def scores(self, z: Float[np.ndarray, " dim"]) -> Float[np.ndarray, " classes"]:
        """The logit of every place."""
        self._refuse(z[None])
        with torch.inference_mode():
            return self._logits(self._to_tensor(z[None]))[0].double().numpy()

    def learn(self, z: Float[np.ndarray, " dim"], label: int) -> None:
        """Take the settings' steps with one sample; a label never seen adds places up to it."""
        self._refuse(z[None], np.array([label]))
        row, labels = self._to_tensor(z[None]), torch.tensor([label])
        self._grow(label + 1)
        for _ in range(self._settings.steps):
            loss = cross_entropy(self._logits(row), labels)
            if len(self._memory):
                # A sum, not the mean over all: the new sample counts as much as without replay.
                loss = loss + self._replay_loss()
            self._step(loss, self._settings.learning_rate)
        self._memory.offer(row[0], label)

    def fit(
        self,
        rows: Float[np.ndarray, "n dim"],
        labels: Int[np.ndarray, " n"],
        *,
        passes: int,
        learning_rate: float,
        batch: int = 32,
    ) -> None:
        """An offline start: shuffled passes in batches, at a rate of their own. Each sample is kept at most once."""
        self._refuse(rows, labels)
        if not self.classes:
            self._mean = rows.mean(axis=0)
        seen, targets = self._to_tensor(rows), torch.as_tensor(labels, dtype=torch.int64)
        self._grow(int(labels.max()) + 1)
        for _ in range(passes):
            order = self._rng.permutation(len(rows))
            for start in range(0, len(rows), batch):
                chosen = order[start : start + batch]
                self._step(cross_entropy(self._logits(seen[chosen]), targets[chosen]), learning_rate)
        for row, label in zip(seen, labels.tolist(), strict=True):
            self._memory.offer(row, label)

    def _logits(self, rows: Float32[Tensor, "n dim"]) -> Float32[Tensor, "n classes"]:
        inner = relu(linear(rows, *self._hidden)) if self._hidden else rows
        return inner @ self._output.T

    def _replay_loss(self) -> Float32[Tensor, ""]:
        rows, labels = self._memory.draw(self._settings.replayed)
        return cross_entropy(self._logits(rows), labels)

    def _step(self, loss: Float32[Tensor, ""], learning_rate: float) -> None:
        if not loss.isfinite():
            raise InputError(f"learning_rate = {learning_rate:g}: fine-tuning diverged; lower it")
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        self._optimizer.zero_grad()
        torch.autograd.backward(loss)
        self._optimizer.step()

    def _grow(self, classes: int) -> None:
        """Add rows of zeros to the output and to all that the optimizer keeps of it."""
        missing = classes - self.classes
        if missing <= 0:
            return
        rows, known = (0, 0, 0, missing), self._optimizer.state.pop(self._output, {})
        wider = nn.Parameter(pad(self._output.detach(), rows))
        self._optimizer.state[wider] = {
            name: pad(kept, rows) if kept.shape == self._output.shape else kept for name, kept in known.items()
        }
        self._optimizer.param_groups[0]["params"][-1] = wider
        self._output = wider

    def _to_tensor(self, rows: Float[np.ndarray, "n dim"]) -> Float32[Tensor, "n dim"]:
        """Scaled from a length of about 1 to features of about 1, for which layers are initialised."""
        return torch.from_numpy(np.sqrt(self.dim) * (rows - self._mean)).float()

    def _refuse(self, rows: Float[np.ndarray, "n dim"], labels: Int[np.ndarray, " n"] | None = None) -> None:
        if not len(rows) or rows.shape[1] != self.dim:
            raise ValueError(f"z has the shape {rows.shape}, this classifier takes rows of {self.dim} features")
        if labels is not None and labels.min() < 0:
            raise ValueError(f"a label must not be negative, got {labels.min()}")
        if not np.isfinite(rows).all():
            raise InputError("a sample holds numbers that are not finite; leave faulty frames out")


class Reservoir:
    """A fair draw from a stream of any length: every sample offered so far is kept with the same probability."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size = size
        self._rng = rng
        self._offered = 0
        self._kept: list[tuple[Float32[Tensor, " dim"], int]] = []

    def __len__(self) -> int:
        return len(self._kept)

    def offer(self, row: Float32[Tensor, " dim"], label: int) -> None:
        """Keep it, perhaps, in the place of another."""
        self._offered += 1
        if len(self._kept) < self._size:
            self._kept.append((row, label))
        elif (place := int(self._rng.integers(self._offered))) < self._size:
            self._kept[place] = (row, label)

    def draw(self, count: int) -> tuple[Float32[Tensor, "n dim"], Int[Tensor, " n"]]:
        """So many different samples, or all if fewer are kept."""
        chosen = self._rng.choice(len(self._kept), size=min(count, len(self._kept)), replace=False).tolist()
        rows, labels = zip(*(self._kept[place] for place in chosen), strict=True)
        return torch.stack(rows), torch.tensor(labels)


def _make_hidden_layer(dim: int, width: int, seed: int) -> tuple[nn.Parameter, nn.Parameter]:
    """A matrix after He and a bias of zeros."""
    weight = nn.Parameter(torch.empty(width, dim))
    nn.init.kaiming_normal_(weight, nonlinearity="relu", generator=torch.Generator().manual_seed(seed))
    return weight, nn.Parameter(torch.zeros(width))


def _make_optimizer(settings: FineTuning, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    # Fused: one pass over the weights instead of one for each operation of the rule.
    if settings.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=settings.learning_rate, momentum=settings.momentum, fused=True)
    return torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)
