"""What is trained: the pose head or one of the baselines; how it is made, optimized and kept."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as as_bytes
from torch import Tensor, nn

from tmapr.artifacts.atomic import replacing
from tmapr.artifacts.run import HEAD
from tmapr.baselines.building import build, describe
from tmapr.baselines.regressor import Clip, Inputs, PoseRegressor
from tmapr.baselines.settings import Baselines, Name
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.perception.apr import AprHead, Pose
from tmapr.perception.card import AprShape, Card
from tmapr.perception.encoder import Features
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.weights import read, save
from tmapr.recipes import Training
from tmapr.training.loss import pose_loss

_MODEL = "model.safetensors"


@runtime_checkable
class Subject(Protocol):
    """A network to be trained."""

    @property
    def name(self) -> str:
        """As `--model` has it."""
        ...

    @property
    def normaliser(self) -> Normaliser:
        """The coordinates of its positions."""
        ...

    @property
    def described(self) -> str:
        """What stands below the network, and how that came to its weights."""
        ...

    def network(self) -> nn.Module:
        """A new one, a `PoseRegressor`, with weights drawn by torch's generator."""
        ...

    def outline(self) -> nn.Module:
        """A network without numbers, to be counted."""
        ...

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """Its own, with Adam's two moments."""
        ...

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 1."""
        ...

    def save(self, folder: Path, network: nn.Module) -> None:
        """Keep the weights."""
        ...

    def load(self, folder: Path, network: nn.Module) -> None:
        """Put kept weights back."""
        ...


class Posing(nn.Module):
    """The pose head with its loss."""

    clip = Clip()

    def __init__(self, head: AprHead, heading_weight: float) -> None:
        super().__init__()
        self.head = head
        self._heading_weight = heading_weight

    def forward(self, inputs: Inputs) -> Pose:
        """Poses of a batch of tokens."""
        if not isinstance(inputs, Features):
            raise TypeError("the pose head takes tokens, got images")
        return self.head(inputs)

    def loss(
        self, inputs: Inputs, positions: Float[Tensor, "images 2"], headings: Float[Tensor, " images"]
    ) -> Float[Tensor, ""]:
        """Eq. (1)."""
        return pose_loss(self(inputs), positions, headings, self._heading_weight)


@dataclass(frozen=True, slots=True)
class PoseHead:
    """The paper's pose head on the frozen encoder's tokens."""

    card: Card
    settings: Training
    name: str = "apr"

    @property
    def shape(self) -> AprShape:
        """Widths and coordinates."""
        if self.card.apr is None:
            raise ValueError("a pose head's card has its shape, and this one has none")
        return self.card.apr

    @property
    def normaliser(self) -> Normaliser:
        """The head's coordinates."""
        return Normaliser(self.shape.center, self.shape.scale)

    @property
    def described(self) -> str:
        """The encoder is frozen, the head drawn."""
        return "frozen encoder"

    def network(self) -> Posing:
        """A head of that shape."""
        shape = self.shape.model_dump(exclude={"center", "scale"})
        return Posing(AprHead(**shape, dropout=self.settings.dropout), self.settings.heading_weight)

    def outline(self) -> nn.Module:
        """The same without numbers."""
        with torch.device("meta"):
            return self.network()

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """The paper's AdamW."""
        given = self.settings
        return torch.optim.AdamW(network.parameters(), lr=given.learning_rate, weight_decay=given.weight_decay)

    def rate(self, epoch: int) -> float:
        """A factor is applied after every so many epochs."""
        return self.settings.learning_rate * self.settings.decay ** ((epoch - 1) // self.settings.decay_every)

    def save(self, folder: Path, network: nn.Module) -> None:
        """As a file that perception opens."""
        save(folder / HEAD, self.card, {"apr": _head(network)})

    def load(self, folder: Path, network: nn.Module) -> None:
        """From that file."""
        _head(network).load_state_dict(read(folder / HEAD).tensors["apr"], strict=True)


@dataclass(frozen=True, slots=True)
class Baseline:
    """Another method's network: its own optimizer, as published, in the budget that all share."""

    name: Name
    settings: Baselines
    channels: int
    normaliser: Normaliser

    @property
    def described(self) -> str:
        """Its trunk and that one's weights."""
        return describe(self.name, self.settings)

    def network(self) -> nn.Module:
        """As published."""
        return build(self.name, self.settings, self.channels)

    def outline(self) -> nn.Module:
        """The same without numbers, so also without those of a file."""
        recipe = self.settings.recipe(self.name).model_copy(update={"weights": None})
        with torch.device("meta"):
            return build(self.name, self.settings.model_copy(update={self.name: recipe}), self.channels)

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """Adam with the decay in its gradient."""
        recipe = self.settings.recipe(self.name)
        return torch.optim.Adam(network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)

    def rate(self, epoch: int) -> float:  # noqa: ARG002 (as published, it stays)
        """The same in every epoch."""
        return self.settings.recipe(self.name).learning_rate

    def save(self, folder: Path, network: nn.Module) -> None:
        """Plain tensors: no perceiver opens them."""
        tensors = {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()}
        with replacing(folder / _MODEL) as stream:
            stream.write(as_bytes(tensors))

    def load(self, folder: Path, network: nn.Module) -> None:
        """From that file."""
        path = folder / _MODEL
        try:
            network.load_state_dict(load_file(path), strict=True)
        except (OSError, SafetensorError, RuntimeError):
            raise InputError(f"{path} is damaged or missing") from None


def chosen(experiment: Experiment, model: str, card: Card, normaliser: Normaliser) -> Subject:
    """The model of that name, for an encoder's card and coordinates; what cannot be built is refused."""
    if card.encoder is None:
        raise ValueError("an encoder's card has its shape, and this one has none")
    subject: Subject
    if model == "apr":
        shape = experiment.training.head_for(card.encoder, normaliser)
        subject = PoseHead(Card(apr=shape, sources=card.sources), experiment.training)
    else:
        subject = Baseline(cast("Name", model), experiment.baselines, card.encoder.channels, normaliser)
    try:
        subject.network()  # a file of first weights is refused now, not after hours of encoding
    except ValueError as error:
        raise InputError(f"{'training' if model == 'apr' else f'baselines.{model}'}: {error}") from None
    return subject


def takes_tokens(experiment: Experiment, model: str) -> bool:
    """Whether a model looks through the frozen encoder rather than through a trunk of its own."""
    return model == "apr" or experiment.baselines.recipe(cast("Name", model)).trunk == "frozen"


def regressing(network: nn.Module) -> PoseRegressor:
    """The network as what it is: Python has no type for a module that regresses poses."""
    if not isinstance(network, PoseRegressor):
        raise TypeError(f"{type(network).__name__} regresses no poses")
    return network


def _head(network: nn.Module) -> AprHead:
    return cast("Posing", network).head
