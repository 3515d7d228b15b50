"""A training before it starts: which frames train, which validate, and the head that suits them."""

from dataclasses import dataclass
from math import ceil
from pathlib import Path

import torch

from tmapr.artifacts.run import is_trained_head
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, Training
from tmapr.perception.apr import AprHead
from tmapr.perception.card import AprShape, Card
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.settings import OWN
from tmapr.training.batches import Examples, divide, joined
from tmapr.training.tokens import Tokenizer


@dataclass(frozen=True, slots=True)
class Course:
    """All that a training depends on; `remarks` are what a user should know of the division, one line each."""

    settings: Training
    train: Examples
    validation: Examples
    card: Card
    remarks: tuple[str, ...] = ()

    @property
    def shape(self) -> AprShape:
        """The head's widths and coordinates."""
        if self.card.apr is None:
            raise ValueError("a course trains a pose head, and the card describes none")
        return self.card.apr

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return ceil(len(self.train) / self.settings.batch)

    @property
    def weights(self) -> int:
        """How many numbers are trained."""
        with torch.device("meta"):
            return sum(weight.numel() for weight in new_head(self.shape, dropout=0.0).parameters())


def trainable(experiment: Experiment) -> Experiment:
    """The experiment without a pose head that an earlier training left; refused if there is nothing to train."""
    data, encoder, named = experiment.data, experiment.perception.encoder, experiment.perception.apr
    if not data.train:
        raise InputError("data.train is empty; name the sequences to train on")
    shared = sorted(set(data.train) & set(data.validation))
    if shared:
        raise InputError(f"data.train and data.validation share {shared[0]!r}; what was trained on validates nothing")
    if encoder == OWN:
        raise InputError(
            'perception.encoder is "own": a pose head is trained on images, and there is nothing to encode'
        )
    if experiment.perception.is_exported:
        raise InputError(f"perception.encoder = {encoder!r} gives no tokens; name the checkpoint it was exported from")
    if named and not is_trained_head(Path(named)):
        raise InputError(f"perception.apr = {named!r} would be used instead of the head that is trained; leave it out")
    return experiment.model_copy(update={"perception": experiment.perception.model_copy(update={"apr": None})})


def plan(experiment: Experiment, tokenizer: Tokenizer) -> Course:
    """Encode what is not encoded yet, divide it and choose the head."""
    settings, data = experiment.training, experiment.data
    train, validation, remarks = [], [], []
    parts = {name: tokenizer.tokens(name) for name in data.train}
    for name, part in parts.items():
        if data.validation:
            train.append(part.examples)
            continue
        division = divide(part.rows, settings.held_out, settings.guard)
        train.append(part.examples.take(division.train))
        validation.append(part.examples.take(division.validation))
        if not division.guarded:
            remarks.append(
                f"{name}: too short for {settings.guard} frames between training and validation; none is left out"
            )
    validation += [tokenizer.tokens(name).examples for name in data.validation]
    examples, first = joined(train), parts[data.train[0]]
    if not len(examples):
        raise InputError("data.train: no frame is left to train on; record more, or name data.validation")
    shape = settings.head_for(first.encoder, Normaliser.of(examples.positions))
    _refuse_widths(shape)
    return Course(settings, examples, joined(validation), Card(apr=shape, sources=first.card.sources), tuple(remarks))


def _refuse_widths(shape: AprShape) -> None:
    try:
        new_head(shape, dropout=0.0)
    except ValueError as error:
        raise InputError(f"training: {error}") from None


def new_head(shape: AprShape, dropout: float) -> AprHead:
    """A head of that shape with weights drawn by torch's generator."""
    return AprHead(**shape.model_dump(exclude={"center", "scale"}), dropout=dropout)
