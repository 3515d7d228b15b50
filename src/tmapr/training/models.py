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
from tmapr.baselines.building import build_baseline, describe_trunk
from tmapr.baselines.regressor import Clip, Inputs, PoseRegressor
from tmapr.baselines.settings import BaselineName, Baselines
from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.perception.apr import AprHead, Pose
from tmapr.perception.card import AprShape, Card
from tmapr.perception.encoder import Features
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.recipes import Training
from tmapr.perception.weights import read_checkpoint, save_checkpoint
from tmapr.training.encoder import FrozenEncoder
from tmapr.training.loss import pose_loss

_MODEL = "model.safetensors"


@runtime_checkable
class PoseModel(Protocol):
    """A network that can be trained to regress poses."""

    @property
    def name(self) -> str:
        """What `--model` calls it."""
        ...

    @property
    def normaliser(self) -> Normaliser:
        """The coordinates of its positions."""
        ...

    @property
    def description(self) -> str:
        """What stands below the network, and how that came to its weights."""
        ...

    def build_network(self) -> nn.Module:
        """A new one, a `PoseRegressor`, with weights drawn by torch's generator."""
        ...

    def build_outline(self) -> nn.Module:
        """A network without numbers, to be counted."""
        ...

    def build_optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """A new optimizer of the network's weights, with Adam's two moments."""
        ...

    def learning_rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 1."""
        ...

    def save(self, folder: Path, network: nn.Module) -> None:
        """Write the weights to a folder."""
        ...

    def load(self, folder: Path, network: nn.Module) -> None:
        """Read the weights that `save` wrote into a network."""
        ...


class AprRegressor(nn.Module):
    """The pose head as a `PoseRegressor`, with the loss of eq. (1)."""

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
        """The mean over the images, as `pose_loss` has it."""
        return pose_loss(self(inputs), positions, headings, self._heading_weight)


@dataclass(frozen=True, slots=True)
class AprModel:
    """The paper's pose head on the frozen encoder's tokens."""

    card: Card
    settings: Training
    name: str = "apr"

    @property
    def shape(self) -> AprShape:
        """The head's widths and coordinates."""
        if self.card.apr is None:
            raise ValueError("a pose head's card has its shape, and this one has none")
        return self.card.apr

    @property
    def normaliser(self) -> Normaliser:
        """The head's coordinates."""
        return Normaliser(self.shape.center, self.shape.scale)

    @property
    def description(self) -> str:
        """What tables say of it."""
        return "frozen encoder"

    def build_network(self) -> AprRegressor:
        """A new head, its weights drawn."""
        shape = self.shape.model_dump(exclude={"center", "scale"})
        return AprRegressor(AprHead(**shape, dropout=self.settings.dropout), self.settings.heading_weight)

    def build_outline(self) -> nn.Module:
        """The head on torch's meta device: shapes without numbers."""
        with torch.device("meta"):
            return self.build_network()

    def build_optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """The paper's AdamW."""
        given = self.settings
        return torch.optim.AdamW(network.parameters(), lr=given.learning_rate, weight_decay=given.weight_decay)

    def learning_rate(self, epoch: int) -> float:
        """Falls by a factor after every so many epochs."""
        return self.settings.learning_rate * self.settings.decay ** ((epoch - 1) // self.settings.decay_every)

    def save(self, folder: Path, network: nn.Module) -> None:
        """Write a file that perception opens."""
        save_checkpoint(folder / HEAD, self.card, {"apr": _head_of(network)})

    def load(self, folder: Path, network: nn.Module) -> None:
        """Read the head of that file."""
        _head_of(network).load_state_dict(read_checkpoint(folder / HEAD).tensors["apr"], strict=True)


@dataclass(frozen=True, slots=True)
class BaselineModel:
    """Another method's network: its own optimizer, as published, in the budget that all share."""

    name: BaselineName
    settings: Baselines
    channels: int
    normaliser: Normaliser

    @property
    def description(self) -> str:
        """Its trunk, and what that one's weights started from."""
        return describe_trunk(self.name, self.settings)

    def build_network(self) -> nn.Module:
        """The published network, with the trunk that the recipe asks for."""
        return build_baseline(self.name, self.settings, self.channels)

    def build_outline(self) -> nn.Module:
        """The network on torch's meta device, so also without the weights of a file."""
        settings = changed(self.settings, {f"{self.name}.weights": None})
        with torch.device("meta"):
            return build_baseline(self.name, settings, self.channels)

    def build_optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """Adam with the decay in its gradient, as published."""
        recipe = self.settings.recipe(self.name)
        return torch.optim.Adam(network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)

    def learning_rate(self, epoch: int) -> float:  # noqa: ARG002 (as published, it stays)
        """The same in every epoch."""
        return self.settings.recipe(self.name).learning_rate

    def save(self, folder: Path, network: nn.Module) -> None:
        """Write plain tensors: no perceiver opens them."""
        tensors = {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()}
        with replacing(folder / _MODEL) as stream:
            stream.write(as_bytes(tensors))

    def load(self, folder: Path, network: nn.Module) -> None:
        """Read the tensors of that file; what does not fit is refused."""
        path = folder / _MODEL
        try:
            network.load_state_dict(load_file(path), strict=True)
        except (OSError, SafetensorError, RuntimeError):
            raise InputError(f"{path} is damaged or missing") from None


def choose_model(experiment: Experiment, name: str, encoder: FrozenEncoder, normaliser: Normaliser) -> PoseModel:
    """The model of that name, for an encoder and coordinates; what cannot be built is refused."""
    model: PoseModel
    if name == "apr":
        shape = experiment.training.head_for(encoder.shape, normaliser)
        model = AprModel(Card(apr=shape, sources=encoder.card.sources), experiment.training)
    else:
        model = BaselineModel(cast("BaselineName", name), experiment.baselines, encoder.shape.channels, normaliser)
    try:
        model.build_network()  # tried here, where the section that is wrong is known
    except ValueError as error:
        raise InputError(f"{'training' if name == 'apr' else f'baselines.{name}'}: {error}") from None
    return model


def takes_tokens(experiment: Experiment, name: str) -> bool:
    """Whether a model takes the frozen encoder's tokens rather than images for a trunk of its own."""
    return name == "apr" or experiment.baselines.recipe(cast("BaselineName", name)).trunk == "frozen"


def as_regressor(network: nn.Module) -> PoseRegressor:
    """The network as what it is: Python has no type for a module that regresses poses."""
    if not isinstance(network, PoseRegressor):
        raise TypeError(f"{type(network).__name__} regresses no poses")
    return network


def _head_of(network: nn.Module) -> AprHead:
    return cast("AprRegressor", network).head
