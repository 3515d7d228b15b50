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
from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.perception.card import Card, Descriptor, EfficientNet, SaladShape
from tmapr.perception.network import assemble
from tmapr.perception.pooling import Aggregator as Part
from tmapr.perception.pooling import Joined
from tmapr.perception.recipes import Metric
from tmapr.perception.salad import Salad
from tmapr.perception.settings import SHIPPED_HEAD, Perception
from tmapr.perception.weights import build_module, read_checkpoint, save_checkpoint
from tmapr.training.descriptor_data import DescriptorData, load_descriptor_data
from tmapr.training.metric import train_head
from tmapr.training.plan import prepare_for_training
from tmapr.types import Watch

_SALAD: Final = "salad"


@dataclass(frozen=True, slots=True)
class TrainingStart:
    """What is about to be trained."""

    data: DescriptorData
    start: str

    @property
    def message(self) -> str:
        """A line, after one for each remark."""
        paired = f"{len(self.data.partners.frames)} of them with a partner in another traverse"
        line = f"{self.data.source}, {paired}; {self.start} is trained, and watched on {self.data.watched}"
        return "\n".join([*self.data.remarks, line])


@dataclass(frozen=True, slots=True)
class ValidationStep:
    """How good the descriptor is after so many steps; the loss is the mean since the look before."""

    step: int
    loss: float | None
    recall: float

    @property
    def message(self) -> str:
        """A line of how far the training has come."""
        loss = "as it is now" if self.loss is None else f"loss {self.loss:.3f}"
        return f"step {self.step}: {loss}; R@1 {self.recall:.3f}"


@dataclass(frozen=True, slots=True)
class DescriptorResult:
    """The first look and the best; `head` is the file that keeps that one, if it is better, and `settings` use it."""

    start: ValidationStep
    best: ValidationStep
    head: Path | None
    settings: Descriptor

    @property
    def message(self) -> str:
        """Whether it is better and, if so, the lines of an experiment file that use the head."""
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
        """The descriptor with the head as it is by now."""
        others = iter(self.plain.parts if self.plain else ())
        parts = [self.head.eval() if name == _SALAD else next(others) for name in self.settings.parts]
        return Joined(cast("Sequence[Part]", parts), self.settings.weights)


def train_descriptor(
    experiment: Experiment, folder: RunFolder, device: str = "cpu", watch: Watch = iter
) -> Iterator[TrainingStart | ValidationStep | DescriptorResult]:
    """Train the head and write it with its card, if it is better than what was there; says how far it has come."""
    experiment = _prepare_experiment(experiment)
    metric, path = experiment.metric, folder.path / "descriptor" / HEAD
    data = load_descriptor_data(experiment, folder, device, watch)
    torch.manual_seed(metric.seed)
    composition = compose(experiment.perception, metric, device)
    yield TrainingStart(data, composition.start)
    looks: list[ValidationStep] = []
    weights: dict[str, Tensor] = {}
    for look in _train_and_validate(data, composition, metric):
        if all(look.recall > earlier.recall for earlier in looks):
            weights = deepcopy(composition.head.state_dict())
        looks.append(look)
        yield look
    best = max(looks, key=lambda look: look.recall)  # the first of equals, whose weights were kept
    if best is not looks[0]:
        composition.head.load_state_dict(weights)
        story = _describe_training(data, composition, metric, looks)
        card = Card(salad=composition.shape, sources=composition.sources, made=story)
        save_checkpoint(path, card, {_SALAD: composition.head})
    yield DescriptorResult(looks[0], best, None if best is looks[0] else path, composition.settings)


def _train_and_validate(data: DescriptorData, composition: Composition, metric: Metric) -> Iterator[ValidationStep]:
    """Validate what the experiment has now, then the head while it is trained."""
    yield ValidationStep(0, None, data.measure_recall(composition.present, metric.correct))
    losses: list[float] = []
    for step, loss in train_head(composition.head, composition.plain, data.train, metric, data.partners):
        if not isfinite(loss):
            raise InputError(f"metric.rate = {metric.rate:g}: step {step} diverged; lower it")
        losses.append(loss)
        if step % metric.look == 0 or step == metric.steps:
            recall = data.measure_recall(composition.descriptor(), metric.correct)
            yield ValidationStep(step, float(np.mean(losses)), recall)
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
        changed(known, {"parts": parts, "weights": weights, "clusters": first.shape.clusters}),
        first.start,
        first.sources,
    )


class _First(NamedTuple):
    head: Salad
    shape: SaladShape
    start: str
    sources: dict[str, str]


def _first_head(perception: Perception, metric: Metric, card: Card, given: Sequence[Part]) -> _First:
    """The head that the training starts from."""
    if card.encoder is None:
        raise ValueError("a network has an encoder, and the card describes none")
    if metric.start == "given" and given and card.salad:
        start = "the shipped head" if perception.uses_shipped_head else "the experiment's head"
        return _First(cast("Salad", deepcopy(given[0])), card.salad, start, card.sources)
    shipped = read_checkpoint(SHIPPED_HEAD)
    shape = shipped.card.salad
    fits = isinstance(card.encoder, EfficientNet) and shape and shape.channels == card.encoder.channels
    if metric.start == "given" and fits and shape:
        return _First(
            build_module(shape, shipped.tensors[_SALAD]), shape, "the shipped head", card.sources | shipped.sources
        )
    widths = metric.model_dump(include={"clusters", "cluster_dim", "token_dim", "hidden"})
    shape = SaladShape(channels=card.encoder.channels, **widths)
    unused = perception.origin.files.get("head")
    sources = {name: digest for name, digest in card.sources.items() if digest != unused}
    return _First(Salad(**shape.model_dump()), shape, "a new head", sources)


def _prepare_experiment(experiment: Experiment) -> Experiment:
    """The experiment without a pose head, which has no part in this; refused if it cannot train a descriptor."""
    data = experiment.data
    experiment = prepare_for_training(changed(experiment, {"perception.apr": None}))
    if len(set(data.train)) < 2:
        raise InputError(
            f"data.train names one traverse, {data.train[0]!r}; a descriptor learns what two of the same streets share:"
            " name another"
        )
    mapped = sorted(set(data.validation) & set(data.references))
    if mapped:
        raise InputError(f"data.validation names the reference {mapped[0]!r}; every frame would match itself")
    return experiment


def _describe_training(
    data: DescriptorData, composition: Composition, metric: Metric, looks: Sequence[ValidationStep]
) -> dict[str, JsonValue]:
    """How the head was made, for its card; the course ends with the head that is kept."""
    course: list[JsonValue] = [asdict(look) for look in looks]
    kept = 1 + max(range(len(looks)), key=lambda row: looks[row].recall)
    return {
        "data": data.source,
        "watched": data.watched,
        "start": composition.start,
        "command": "tmapr train EXPERIMENT --model descriptor",
        "recipe": metric.model_dump(mode="json"),
        "used_with_weight": composition.settings.weights[composition.settings.parts.index(_SALAD)],
        "course": course[:kept],
        "discarded": course[kept:],
    }
