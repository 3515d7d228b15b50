"""A training before it starts: which frames train, which validate, and the network that suits them."""

from dataclasses import dataclass
from math import ceil
from pathlib import Path

from tmapr.artifacts.run import RunFolder, is_trained_head
from tmapr.artifacts.sources import Trust
from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.recipes import Training
from tmapr.perception.settings import OWN
from tmapr.training.cache import ExampleCache, Extractor, PictureExtractor, TokenExtractor
from tmapr.training.encoder import FrozenEncoder
from tmapr.training.examples import Examples, divide, join_examples
from tmapr.training.feeds import EncoderFeed, Feed, ImageFeed, TokenFeed, choose_dtype
from tmapr.training.models import PoseModel, as_regressor, choose_model, takes_tokens
from tmapr.types import Watch


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """All that a training depends on; `remarks` are what a user should know of it, one line each."""

    settings: Training
    model: PoseModel
    feed: Feed
    train: Examples
    validation: Examples
    remarks: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """How many steps an epoch has."""
        frames = as_regressor(self.model.build_outline()).clip.frames
        return ceil(ceil(len(self.train) / frames) / self.settings.clips(frames))

    @property
    def weights(self) -> int:
        """How many numbers are trained."""
        return sum(weight.numel() for weight in self.model.build_outline().parameters())


class TrainingData:
    """What a model is trained on and asked about: examples by a sequence's name, and the feed that reads them."""

    def __init__(
        self,
        experiment: Experiment,
        model: str,
        folder: RunFolder,
        device: str = "cpu",
        watch: Watch = iter,
        trust: Trust = "stamps",
    ) -> None:
        training, dtype = experiment.training, choose_dtype(experiment.training)
        self.encoder = encoder = FrozenEncoder(experiment.perception, training, device)
        extractors: tuple[Extractor, Extractor] = (PictureExtractor(), PictureExtractor())
        self.feed: Feed
        if not takes_tokens(experiment, model):
            self.feed = ImageFeed(training.augmentation, encoder.device, dtype)
        elif training.cached:
            extractors = (TokenExtractor(encoder, training.augmentation, training.variants), TokenExtractor(encoder))
            self.feed = TokenFeed(encoder.grid, training.variants, encoder.device, dtype)
        else:
            self.feed = EncoderFeed(encoder, training.augmentation, dtype)
        self._varied, self._plain = (
            ExampleCache(experiment, folder, encoder, each, watch, trust) for each in extractors
        )

    def load_varied_examples(self, name: str) -> Examples:
        """A sequence to learn from, in all versions that the settings ask for."""
        return self._varied.load(name)

    def load_plain_examples(self, name: str) -> Examples:
        """A sequence as it was recorded, to ask about."""
        return self._plain.load(name)

    @property
    def remarks(self) -> list[str]:
        """What happened to kept examples."""
        return self._varied.remarks + self._plain.remarks


def prepare_for_training(experiment: Experiment) -> Experiment:
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
    return changed(experiment, {"perception.apr": None})


def plan_training(experiment: Experiment, name: str, source: TrainingData) -> TrainingPlan:
    """Encode what is not encoded yet, divide it and choose the network."""
    settings, data = experiment.training, experiment.data
    train, validation, remarks, frames = [], [], list[str](), 0
    for sequence in data.train:
        part = source.load_varied_examples(sequence)
        frames += len(part)
        if data.validation:
            train.append(part)
            continue
        division = divide(part.numbers, settings.held_out, settings.guard)
        train.append(part.take(division.train))
        validation.append(part.take(division.validation))
        if not division.guarded:
            remarks.append(
                f"{sequence}: too short for {settings.guard} frames between training and validation; none is left out"
            )
    if validation:
        left = sum(map(len, train))
        remarks.append(
            f"data.validation is empty: the last {settings.held_out:.0%} of each sequence validate and {settings.guard}"
            f" frames before them are left out, so {left} of {frames} frames train"
        )
    validation += [source.load_plain_examples(sequence) for sequence in data.validation]
    examples = join_examples(train)
    if not len(examples):
        raise InputError("data.train: no frame is left to train on; record more, or name data.validation")
    model = choose_model(experiment, name, source.encoder, Normaliser.of(examples.positions))
    told = (*source.remarks, *remarks)
    return TrainingPlan(settings, model, source.feed, examples, join_examples(validation), told)
