"""A training before it starts: which frames train, which validate, and the network that suits them."""

from dataclasses import dataclass
from math import ceil
from pathlib import Path

from tmapr.artifacts.run import RunFolder, is_trained_head
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.settings import OWN
from tmapr.recipes import Training
from tmapr.system import Watch
from tmapr.training.cache import Cache, Kept, Pictures, Tokens
from tmapr.training.examples import Examples, divide, joined
from tmapr.training.eyes import Eyes
from tmapr.training.feeds import EncodedPictures, Feed, Images, KeptTokens, number_type
from tmapr.training.subjects import Subject, chosen, regressing, takes_tokens


@dataclass(frozen=True, slots=True)
class Course:
    """All that a training depends on; `remarks` are what a user should know of it, one line each."""

    settings: Training
    subject: Subject
    feed: Feed
    train: Examples
    validation: Examples
    remarks: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        frames = regressing(self.subject.outline()).clip.frames
        return ceil(ceil(len(self.train) / frames) / self.settings.clips(frames))

    @property
    def weights(self) -> int:
        """How many numbers are trained."""
        return sum(weight.numel() for weight in self.subject.outline().parameters())


class Material:
    """What a model is trained on and asked about: examples by a sequence's name, and the feed that reads them."""

    def __init__(
        self, experiment: Experiment, model: str, folder: RunFolder, device: str = "cpu", watch: Watch = iter
    ) -> None:
        training, kind = experiment.training, number_type(experiment.training)
        self.eyes = eyes = Eyes(experiment.perception, training, device)
        kept: tuple[Kept, Kept] = (Pictures(), Pictures())
        self.feed: Feed
        if not takes_tokens(experiment, model):
            self.feed = Images(training.augmentation, eyes.device, kind)
        elif training.cached:
            kept = (Tokens(eyes, training.augmentation, training.variants), Tokens(eyes))
            self.feed = KeptTokens(eyes.grid, training.variants, eyes.device, kind)
        else:
            self.feed = EncodedPictures(eyes, training.augmentation, kind)
        self._varied, self._plain = (Cache(experiment, folder, eyes, each, watch) for each in kept)

    def training(self, name: str) -> Examples:
        """A sequence to learn from, in all versions that the settings ask for."""
        return self._varied.examples(name)

    def recorded(self, name: str) -> Examples:
        """A sequence as it was recorded, to ask about."""
        return self._plain.examples(name)

    @property
    def remarks(self) -> list[str]:
        """What happened to kept examples."""
        return self._varied.remarks + self._plain.remarks


def trainable(experiment: Experiment) -> Experiment:
    """The experiment without a pose head that an earlier training left; refused if there is nothing to train."""
    data, encoder, named = experiment.data, experiment.perception.encoder, experiment.perception.apr
    if not data.train:
        raise InputError("data.train is empty; name the sequences to train on")
    shared = sorted(set(data.train) & set(data.validation))
    if shared:
        raise InputError(f"data.train and data.validation share {shared[0]!r}; what was trained on validates nothing")
    if encoder == OWN:
        raise InputError('perception.encoder is "own": networks are trained on images, and there is nothing to encode')
    if experiment.perception.is_exported:
        raise InputError(f"perception.encoder = {encoder!r} gives no tokens; name the checkpoint it was exported from")
    if named and not is_trained_head(Path(named)):
        raise InputError(f"perception.apr = {named!r} would be used instead of the head that is trained; leave it out")
    return experiment.model_copy(update={"perception": experiment.perception.model_copy(update={"apr": None})})


def plan(experiment: Experiment, model: str, material: Material) -> Course:
    """Encode what is not encoded yet, divide it and choose the network."""
    settings, data = experiment.training, experiment.data
    train, validation, remarks = [], [], []
    for name in data.train:
        part = material.training(name)
        if data.validation:
            train.append(part)
            continue
        division = divide(part.numbers, settings.held_out, settings.guard)
        train.append(part.take(division.train))
        validation.append(part.take(division.validation))
        if not division.guarded:
            remarks.append(
                f"{name}: too short for {settings.guard} frames between training and validation; none is left out"
            )
    validation += [material.recorded(name) for name in data.validation]
    examples = joined(train)
    if not len(examples):
        raise InputError("data.train: no frame is left to train on; record more, or name data.validation")
    subject = chosen(experiment, model, material.eyes.card, Normaliser.of(examples.positions))
    told = (*material.remarks, *remarks)
    return Course(settings, subject, material.feed, examples, joined(validation), told)
