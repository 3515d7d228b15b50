"""The root of an experiment file: which sequences play which role, and every setting of the system."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from tmapr.artifacts.run import RunFolder, is_trained_head
from tmapr.config import Settings, load_settings
from tmapr.data.bag import Topics
from tmapr.data.opening import Layout, open_sequence
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.fusion.capf import Fusion
from tmapr.gating import Gating
from tmapr.labels import Labels
from tmapr.localizer import Localizer, Perceive
from tmapr.perception.card import AprShape, EfficientNet, Size, Vit
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.settings import OWN, Perception
from tmapr.places.classifier import Places
from tmapr.retrieval.search import Retrieval
from tmapr.system import Map, System, build, resume
from tmapr.types import CoordinateFrame


class Data(Settings):
    """Which sequences play which role."""

    layout: Layout = Field("folder", description="ms2 | sthereo | folder | bag")
    root: str = Field("data", description="folder that holds the sequences")
    topics: Topics = Field(Topics(), description="of bags")
    train: tuple[str, ...] = Field((), description="sequences that train the pose head")
    validation: tuple[str, ...] = Field((), description="sequences for early stopping and calibration")
    reference: str | None = Field(None, description="the traverse that is mapped")
    adapt: tuple[str, ...] = Field((), description="sequences streamed with labels before the test")
    test: tuple[str, ...] = Field((), description="sequences that are localized and evaluated")

    @model_validator(mode="after")
    def _check_roles(self) -> "Data":
        for role, names in (("train", self.train), ("validation", self.validation), ("adapt", self.adapt)):
            shared = sorted(set(self.test) & set(names))
            if shared:
                raise ValueError(f"data.test and data.{role} share {shared[0]!r}; a test sequence must be unseen")
        if self.reference in self.test:
            raise ValueError(f"data.test names the reference {self.reference!r}; every frame would match itself")
        repeated = sorted({name for name in self.test if self.test.count(name) > 1})
        if repeated:
            raise ValueError(f"data.test names {repeated[0]!r} twice")
        return self


class Training(Settings):
    """How the pose head is trained: the paper's numbers where it gives any. What says none suits the encoder."""

    epochs: int = Field(30, gt=0, description="passes over the training frames; may be raised later")
    patience: int = Field(0, ge=0, description="stop after so many epochs without a better one; 0: never")
    batch: int = Field(32, gt=0, description="frames of a step")
    learning_rate: float = Field(1e-4, gt=0, description="AdamW: of the first epochs")
    decay: float = Field(0.7, gt=0, le=1, description="factor of the learning rate")
    decay_every: int = Field(3, gt=0, description="epochs after which that factor is applied, again and again")
    weight_decay: float = Field(1e-4, ge=0, description="AdamW: decoupled decay of the weights")
    heading_weight: float = Field(1.0, ge=0, description="of the heading's loss against the position's")
    dropout: float = Field(0.1, ge=0, lt=1, description="share of the activations that a step leaves out")
    seed: int = Field(0, ge=0, description="of first weights, order and dropout")
    held_out: float = Field(0.1, gt=0, le=0.5, description="last share of each sequence, if data.validation is empty")
    guard: int = Field(120, ge=0, description="frames left out before the share held out")
    pooled: Size | None = Field(None, description="tokens are averaged to this grid; none: 7 × 7, for a ViT not at all")
    width: int | None = Field(None, gt=0, description="of the head; none: 128, for a ViT its own width")
    layers: int = Field(2, gt=0, description="Transformer layers")
    heads: int = Field(8, gt=0, description="attention heads")
    expansion: int | None = Field(None, gt=0, description="feed-forward width, in widths; none: 2, for a ViT 4")
    positional: bool | None = Field(None, description="add position codes to the tokens; none: true, for a ViT false")
    standardised: bool | None = Field(
        None, description="tokens lose mean and deviation over the image; none: true, for a ViT false"
    )

    def head_for(self, encoder: Vit | EfficientNet, normaliser: Normaliser) -> AprShape:
        """The head of an encoder: the paper's for a ViT; for a convolution smaller, and told where each token is."""
        small = isinstance(encoder, EfficientNet)
        return AprShape(
            channels=encoder.channels,
            width=self.width or (128 if small else None),
            layers=self.layers,
            heads=self.heads,
            expansion=self.expansion or (2 if small else 4),
            pooled=self.pooled or ((7, 7) if small else None),
            positional=small if self.positional is None else self.positional,
            standardised=small if self.standardised is None else self.standardised,
            center=normaliser.center,
            scale=normaliser.scale,
        )


class Experiment(Settings):
    """Everything that an experiment file can say."""

    name: str = Field("experiment", pattern=r"^\w[\w.-]*$", description="names the run folder runs/NAME")
    data: Data = Field(Data(), description="sequences and their roles")
    perception: Perception = Field(Perception(), description="images to percepts")
    training: Training = Field(Training(), description="training of the pose head")
    align_apr: Literal["none", "adapt", "oracle"] = Field(
        "none", description="planar fit of the pose head to the truth before fusion: none | adapt | oracle (cheats)"
    )
    places: Places = Field(Places(), description="the place classifier")
    retrieval: Retrieval = Field(Retrieval(), description="the search in the reference memory")
    gating: Gating = Field(Gating(), description="the gates")
    fusion: Fusion = Field(Fusion(), description="the filter")
    labels: Labels = Field(Labels(), description="learning while localizing")

    @property
    def system(self) -> System:
        """The online half."""
        return System(
            places=self.places,
            retrieval=self.retrieval,
            gating=self.gating,
            fusion=self.fusion,
            labels=self.labels,
        )

    def with_head(self, folder: RunFolder) -> "Experiment":
        """With the pose head that was trained in the folder, unless perception has, names or cannot take one.

        The run folder's own experiment file names it by the path it had: if that is gone, the folder was moved or its
        head trained anew, and whether what is there fits the map is seen from its content.
        """
        named = self.perception.apr
        complete = self.perception.encoder == OWN or self.perception.is_exported
        if complete or (named and (Path(named).is_file() or not is_trained_head(Path(named)))):
            return self
        head = folder.trained_head
        if head is None:
            return self
        perception = self.perception.model_copy(update={"apr": str(head)})
        return self.model_copy(update={"perception": perception})


def open_data(data: Data, name: str, frame: CoordinateFrame | None = None) -> Sequence:
    """A sequence of the experiment's data set."""
    return open_sequence(data.layout, Path(data.root), name, frame, data.topics)


Opener = Callable[[Perception], Perceive]
"""Opens the perceiver that settings ask for."""


def load(directory: str | Path, opener: Opener | None = None) -> Localizer:
    """The localizer of a run folder: its map, what it learned, every setting; `opener` gives it eyes."""
    folder = RunFolder(Path(directory))
    if not folder.map.exists():
        raise InputError(f"{directory}: holds no map.npz; make one with `tmapr map EXPERIMENT`")
    experiment = load_settings(Experiment, folder.experiment).with_head(folder)
    environment = Map.load(folder.map, experiment.system)
    experiment.perception.refuse_others(str(folder.map), environment.origin)
    perceive = _when_needed(opener, experiment.perception) if opener else None
    if folder.state.exists():
        return resume(experiment.system, environment, folder.state, perceive)
    return build(experiment.system, environment, perceive=perceive)


def _when_needed(opener: Opener, settings: Perception) -> Perceive | None:
    """Opens with the first frame: a program that has percepts of its own need not wait for a network."""
    if settings.encoder == OWN:
        return None
    opened = cache(lambda: opener(settings))
    return lambda frame: opened()(frame)
