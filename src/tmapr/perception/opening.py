"""Which perceiver the settings ask for: the shipped ONNX file, an exported one, a torch network, a plug-in."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tmapr.config import Settings, differences
from tmapr.exceptions import InputError
from tmapr.perception.card import STATISTICS, Card, Descriptor, Size, Vit
from tmapr.perception.eyes import Engine, Eye
from tmapr.perception.keypoints import KeypointFinder
from tmapr.perception.onnx import SHIPPED, load_onnx
from tmapr.perception.perceiver import BATCH, GPU_BATCH, Perceiver
from tmapr.perception.plugin import is_descriptor, open_descriptor
from tmapr.perception.settings import OWN, Perception

if TYPE_CHECKING:  # it loads torch
    from tmapr.perception.network import Network

OpenNetwork = Callable[["Network", Perception, str], Engine | Eye]
"""What runs a network as the settings say on the device of that name."""


def open_perceiver(settings: Perception, device: str = "auto", open_network: OpenNetwork | None = None) -> Perceiver:
    """The perceiver of an experiment; torch is imported only if it has to be."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
        raise InputError(f"--device {device}: there is no such device; allowed are auto, cpu, cuda and cuda:NUMBER")
    if settings.encoder == OWN:
        raise InputError(
            'perception.encoder is "own": percepts come from your program, there is nothing to encode with'
        )
    if is_descriptor(settings):
        card, described = open_descriptor(settings, device)
        return Perceiver(card, settings.image, described, find_keypoints=KeypointFinder())
    if settings.is_exported:
        return _open_onnx(Path(settings.encoder), settings, device)
    if not needs_torch(settings, device):
        return _open_onnx(SHIPPED, settings, device)
    if find_spec("torch") is None:
        raise InputError(
            f"perception.encoder = {settings.encoder!r} with these settings needs torch: pip install 'tmapr[train]', or"
            " run `tmapr export` where torch is and name the ONNX file"
        )
    from tmapr.perception.network import TorchEngine, assemble, choose_device

    network, card = assemble(settings)
    where = choose_device(device)
    at_once = GPU_BATCH if where.startswith("cuda") else BATCH
    opened = open_network(network, settings, where) if open_network else TorchEngine(network, where)
    return Perceiver(card, settings.image, opened, find_keypoints=KeypointFinder(), at_once=at_once)


def needs_torch(settings: Perception, device: str = "auto") -> bool:
    """Whether torch runs the perceiver that settings ask for on this device.

    What is shipped does without on a CPU, and where there is no torch: on a GPU it is ONNX Runtime's then.
    """
    if settings.encoder == OWN or is_descriptor(settings) or settings.is_exported:
        return False
    return not (settings.is_shipped and (device in ("auto", "cpu") or find_spec("torch") is None))


class _BuiltIn(Settings):
    """What an exported network has built in, as settings name it."""

    size: Size | None
    statistics: str | None
    position_rule: str
    descriptor: Descriptor | None

    @classmethod
    def of(cls, card: Card, settings: Perception) -> "_BuiltIn":
        """Where settings ask for the checkpoint's own, whatever the card says will do."""
        names = {values: name for name, values in STATISTICS.items()}
        statistics = names.get((card.input.mean, card.input.std), "others") if card.input else None
        rule = card.encoder.position_rule if isinstance(card.encoder, Vit) else settings.position_rule
        return cls(
            size=card.input.size if card.input else None,
            statistics="checkpoint" if settings.statistics == "checkpoint" else statistics,
            position_rule="checkpoint" if settings.position_rule == "checkpoint" else rule,
            descriptor=card.descriptor,
        )


def _open_onnx(path: Path, settings: Perception, device: str) -> Perceiver:
    """An exported network has its size, its input and its heads built in: settings that say otherwise are refused."""
    card, engine = load_onnx(path, device, settings.precision)
    asked = settings.model_dump(mode="json", include=set(_BuiltIn.model_fields))
    changed = differences(_BuiltIn.of(card, settings).model_dump(mode="json"), asked, "perception")
    if changed or settings.head or settings.apr:
        raise InputError(f"{path}: has {changed[0] if changed else 'its heads'} built in; run `tmapr export` again")
    return Perceiver(card, settings.image, engine, find_keypoints=KeypointFinder())
