"""Which perceiver the settings ask for: the shipped ONNX file, an exported one, or a network built with torch."""

from importlib.util import find_spec
from pathlib import Path

from tmapr.config import differences
from tmapr.exceptions import InputError
from tmapr.perception.card import Descriptor
from tmapr.perception.onnx import SHIPPED, load_onnx
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.settings import OWN, Perception


def open_perceiver(settings: Perception, device: str = "auto") -> Perceiver:
    """The perceiver of an experiment; torch is imported only if it has to be."""
    if settings.encoder == OWN:
        raise InputError(
            'perception.encoder is "own": percepts come from your program, there is nothing to encode with'
        )
    if settings.encoder.endswith(".onnx"):
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
    """An exported network has its size and its heads built in: settings that say otherwise are refused."""
    card, engine = load_onnx(path, device)
    size = card.input.size if card.input else None
    built_in = {"descriptor": (card.descriptor or Descriptor()).model_dump(mode="json"), "size": list(size or ())}
    asked = {"descriptor": settings.descriptor.model_dump(mode="json"), "size": list(settings.size)}
    changed = differences(built_in, asked, "perception")
    if changed or settings.head or settings.apr:
        raise InputError(f"{path}: has {changed[0] if changed else 'its heads'} built in; run `tmapr export` again")
    return Perceiver(card, settings.image, engine)
