"""A descriptor's head for one's own streets: `tmapr train --model descriptor`, on two traverses or more.

The head learns as the shipped one did (training/metric.py). The best look at the validation is kept, and only if it is
better than what the experiment has already.
"""

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Final, NamedTuple, cast

import numpy as np
import torch
from pydantic import JsonValue
from torch import Tensor

from tmapr.artifacts.run import HEAD, RunFolder
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.perception.card import Card, Descriptor, EfficientNet, SaladShape
from tmapr.perception.network import assemble
from tmapr.perception.pooling import Descriptor as Part
from tmapr.perception.pooling import Joined
from tmapr.perception.salad import Salad
from tmapr.perception.settings import SHIPPED_HEAD, Perception
from tmapr.perception.weights import filled, read, save
from tmapr.recipes import Metric
from tmapr.system import Watch
from tmapr.training.course import trainable
from tmapr.training.ground import Ground, survey
from tmapr.training.metric import train

_SALAD: Final = "salad"


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is about to be trained."""

    ground: Ground
    start: str

    @property
    def told(self) -> str:
        """In a line, after one for each remark."""
        paired = f"{len(self.ground.partners.frames)} of them with a partner in another traverse"
        line = f"{self.ground.data}, {paired}; {self.start} is trained, and watched on {self.ground.watched}"
        return "\n".join([*self.ground.remarks, line])


@dataclass(frozen=True, slots=True)
class Look:
    """How good the descriptor is after so many steps; the loss is the mean since the look before."""

    step: int
    loss: float | None
    recall: float

    @property
    def told(self) -> str:
        """In a line."""
        loss = "as it is now" if self.loss is None else f"loss {self.loss:.3f}"
        return f"step {self.step}: {loss}; R@1 {self.recall:.3f}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The first look and the best; `head` is the file that keeps that one, if it is better, and `settings` use it."""

    start: Look
    best: Look
    head: Path | None
    settings: Descriptor

    @property
    def told(self) -> str:
        """With the lines of an experiment file that use the head."""
        if self.head is None:
            return f"no better than before: R@1 stays {self.start.recall:.3f}; nothing was written"
        recall = f"R@1 {self.start.recall:.3f} before, {self.best.recall:.3f} now"
        return (
            f"step {self.best.step} is the best: {recall}; use its head with these lines, then map again:\n"
            "[perception]\n"
            f"head = {json.dumps(str(self.head), ensure_ascii=False)}\n"
            f"descriptor.parts = {json.dumps(self.settings.parts)}\n"
            f"descriptor.weights = {json.dumps(self.settings.weights)}\n"
            f"descriptor.clusters = {self.settings.clusters}"
        )


@dataclass(frozen=True, slots=True)
class Composition:
    """A descriptor as the experiment has it, the head to train, and the settings that will use it."""

    present: Joined
    plain: Joined | None
    head: Salad
    shape: SaladShape
    settings: Descriptor
    start: str
    sources: dict[str, str]

    def descriptor(self) -> Joined:
        """With the head as it is by now."""
        others = iter(self.plain.parts if self.plain else ())
        parts = [self.head.eval() if name == _SALAD else next(others) for name in self.settings.parts]
        return Joined(cast("Sequence[Part]", parts), self.settings.weights)


def train_descriptor(
    experiment: Experiment, folder: RunFolder, device: str = "cpu", watch: Watch = iter
) -> Iterator[Beginning | Look | Outcome]:
    """Train the head and write it with its card, if it is better than what was there; says how far it has come."""
    experiment = _suitable(experiment)
    metric, path = experiment.metric, folder.path / "descriptor" / HEAD
    ground = survey(experiment, folder, device, watch)
    torch.manual_seed(metric.seed)
    made = compose(experiment.perception, metric, device)
    yield Beginning(ground, made.start)
    looks: list[Look] = []
    weights: dict[str, Tensor] = {}
    for look in _looks(ground, made, metric):
        if all(look.recall > earlier.recall for earlier in looks):
            weights = deepcopy(made.head.state_dict())
        looks.append(look)
        yield look
    best = max(looks, key=lambda look: look.recall)  # the first of equals, whose weights were kept
    if best is not looks[0]:
        made.head.load_state_dict(weights)
        card = Card(salad=made.shape, sources=made.sources, made=_story(ground, made, metric, looks))
        save(path, card, {_SALAD: made.head})
    yield Outcome(looks[0], best, None if best is looks[0] else path, made.settings)


def _looks(ground: Ground, made: Composition, metric: Metric) -> Iterator[Look]:
    """What the experiment has now, then the head while it is trained."""
    yield Look(0, None, ground.recall(made.present, metric.correct))
    losses: list[float] = []
    for step, loss in train(made.head, made.plain, ground.train, metric, ground.partners):
        if not isfinite(loss):
            raise InputError(f"metric.rate = {metric.rate:g}: step {step} diverged; lower it")
        losses.append(loss)
        if step % metric.look == 0 or step == metric.steps:
            yield Look(step, float(np.mean(losses)), ground.recall(made.descriptor(), metric.correct))
            losses.clear()


def compose(perception: Perception, metric: Metric, device: str = "cpu") -> Composition:
    """The experiment's descriptor and the head to train; torch's generator draws the weights of a new one."""
    network, card = assemble(perception)
    present, known = cast("Joined", network.descriptor).to(device), perception.descriptor
    named = list(zip(known.parts, cast("Sequence[Part]", present.parts), known.weights, strict=True))
    others = [(part, weight) for name, part, weight in named if name != _SALAD]
    first = _first_head(perception, metric, card, [part for name, part, _ in named if name == _SALAD])
    parts, weights = known.parts, known.weights
    if _SALAD not in parts:
        parts, weights = (*parts, _SALAD), (*weights, metric.used_weight)
    return Composition(
        present,
        Joined([part for part, _ in others], [weight for _, weight in others]) if others else None,
        first.head.to(device).requires_grad_(True),
        first.shape,
        known.model_copy(update={"parts": parts, "weights": weights, "clusters": first.shape.clusters}),
        first.told,
        first.sources,
    )


class _First(NamedTuple):
    head: Salad
    shape: SaladShape
    told: str
    sources: dict[str, str]


def _first_head(perception: Perception, metric: Metric, card: Card, given: Sequence[Part]) -> _First:
    """The head that the training starts from."""
    if card.encoder is None:
        raise ValueError("a network has an encoder, and the card describes none")
    if metric.start == "given" and given and card.salad:
        told = "the shipped head" if perception.uses_shipped_head else "the experiment's head"
        return _First(cast("Salad", deepcopy(given[0])), card.salad, told, card.sources)
    shipped = read(SHIPPED_HEAD)
    shape = shipped.card.salad
    fits = isinstance(card.encoder, EfficientNet) and shape and shape.channels == card.encoder.channels
    if metric.start == "given" and fits and shape:
        return _First(filled(shape, shipped.tensors[_SALAD]), shape, "the shipped head", card.sources | shipped.sources)
    widths = metric.model_dump(include={"clusters", "cluster_dim", "token_dim", "hidden"})
    shape = SaladShape(channels=card.encoder.channels, **widths)
    unused = perception.origin.files.get("head")
    sources = {name: digest for name, digest in card.sources.items() if digest != unused}
    return _First(Salad(**shape.model_dump()), shape, "a new head", sources)


def _suitable(experiment: Experiment) -> Experiment:
    """The experiment without a pose head, which has no part in this; refused if it cannot train a descriptor."""
    perception = experiment.perception.model_copy(update={"apr": None})
    data = experiment.data
    experiment = trainable(experiment.model_copy(update={"perception": perception}))
    if len(set(data.train)) < 2:
        raise InputError(
            f"data.train names one traverse, {data.train[0]!r}; a descriptor learns what two of the same streets share:"
            " name another"
        )
    if data.reference in data.validation:
        raise InputError(f"data.validation names the reference {data.reference!r}; every frame would match itself")
    return experiment


def _story(ground: Ground, made: Composition, metric: Metric, looks: Sequence[Look]) -> dict[str, JsonValue]:
    """How the head was made; the course ends with the head that is kept."""
    course: list[JsonValue] = [asdict(look) for look in looks]
    kept = 1 + max(range(len(looks)), key=lambda row: looks[row].recall)
    return {
        "data": ground.data,
        "watched": ground.watched,
        "start": made.start,
        "command": "tmapr train EXPERIMENT --model descriptor",
        "recipe": metric.model_dump(mode="json"),
        "used_with_weight": made.settings.weights[made.settings.parts.index(_SALAD)],
        "course": course[:kept],
        "discarded": course[kept:],
    }
