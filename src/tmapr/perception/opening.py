"""Which perceiver the settings ask for: the shipped ONNX file, an exported one, or a network built with torch."""

import re
from importlib.util import find_spec
from pathlib import Path

from tmapr.config import differences
from tmapr.exceptions import InputError
from tmapr.perception.card import STATISTICS, Card, Vit
from tmapr.perception.onnx import SHIPPED, load_onnx
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.settings import OWN, Perception


def open_perceiver(settings: Perception, device: str = "auto") -> Perceiver:
    """The perceiver of an experiment; torch is imported only if it has to be."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
        raise InputError(f"--device {device}: there is no such device; allowed are auto, cpu, cuda and cuda:NUMBER")
    if settings.encoder == OWN:
        raise InputError(
            'perception.encoder is "own": percepts come from your program, there is nothing to encode with'
        )
    if settings.is_exported:
        return _exported(Path(settings.encoder), settings, device)
    if settings.model_copy(update={"image": Perception().image}) == Perception() and device in ("auto", "cpu"):
        return _exported(SHIPPED, settings, device)
    if find_spec("torch") is None:
        raise InputError(
            f"perception.encoder = {settings.encoder!r} with these settings needs torch: pip install 'tmapr[train]', or"
            " run `tmapr export` where torch is and name the ONNX file"
        )
    from tmapr.perception.network import TorchEngine, assemble, chosen_device

    network, card = assemble(settings)
    return Perceiver(card, settings.image, TorchEngine(network, chosen_device(device)))


def _exported(path: Path, settings: Perception, device: str) -> Perceiver:
    """An exported network has its size, its input and its heads built in: settings that say otherwise are refused."""
    card, engine = load_onnx(path, device)
    changed = differences(_built_in(card, settings), _asked(settings), "perception")
    if changed or settings.head or settings.apr:
        raise InputError(f"{path}: has {changed[0] if changed else 'its heads'} built in; run `tmapr export` again")
    return Perceiver(card, settings.image, engine)


def _asked(settings: Perception) -> dict[str, object]:
    return settings.model_dump(mode="json", include={"descriptor", "size", "statistics", "position_rule"})


def _built_in(card: Card, settings: Perception) -> dict[str, object]:
    """What the card says of the same; where the checkpoint's own is asked for, whatever it is will do."""
    size = list(card.input.size) if card.input else None
    names = {values: name for name, values in STATISTICS.items()}
    statistics = names.get((card.input.mean, card.input.std), "others") if card.input else None
    rule = card.encoder.position_rule if isinstance(card.encoder, Vit) else settings.position_rule
    return {
        "descriptor": card.descriptor.model_dump(mode="json") if card.descriptor else None,
        "size": size,
        "statistics": "checkpoint" if settings.statistics == "checkpoint" else statistics,
        "position_rule": "checkpoint" if settings.position_rule == "checkpoint" else rule,
    }
