"""Checkpoint files: recognised by their content, read without executing anything, loaded strictly.

`.pth` and `.ckpt` are pickles, which can run programs when they are opened: `weights_only=True` refuses those. Our own
weights are safetensors with a card of the same name beside them, in JSON.
"""

import difflib
import math
import pickle
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as as_bytes
from torch import nn

from tmapr.artifacts.atomic import replacing, write_text
from tmapr.artifacts.run import file_digest
from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.files import DOCUMENT_BYTES, WEIGHTS_BYTES, read_bytes, require_file
from tmapr.perception.apr import AprHead
from tmapr.perception.card import (
    CLIP,
    IMAGENET,
    AprShape,
    Card,
    EfficientNet,
    EncoderShape,
    Input,
    Plugged,
    SaladShape,
    Vit,
)
from tmapr.perception.efficientnet import MEAN, STD, EfficientNetLite0, trim
from tmapr.perception.layouts import Tensors, WeightsLayout, WeightsParts, recognise
from tmapr.perception.salad import Salad
from tmapr.perception.vit import PATCH, VisionTransformer

_HEAD_WIDTH = 64  # channels of an attention head in every DINOv2 model
_STATISTICS = {
    WeightsLayout.HUB: IMAGENET,
    WeightsLayout.HUGGING_FACE: IMAGENET,
    WeightsLayout.DINO_SALAD: IMAGENET,
    WeightsLayout.ANYTHERMAL: CLIP,
    WeightsLayout.ANYTHERMAL_HEAD: CLIP,
    WeightsLayout.EFFICIENTNET: (MEAN, STD),
}

# Losses that training loops leave beside the tensors as NumPy numbers: constructors of plain values.
_SCALAR: Any = np.float64(0).__reduce__()[0]
_NUMBERS = [type(np.dtype(code)) for code in "?bhilqBHILQefd"]
_HARMLESS: list[Any] = [(_SCALAR, "numpy.core.multiarray.scalar"), _SCALAR, np.dtype, *_NUMBERS]
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a file holds: a card that describes its parts, and their tensors, known to fit."""

    path: Path
    layout: WeightsLayout
    card: Card
    tensors: Mapping[str, Tensors] = field(repr=False)

    @property
    def sources(self) -> dict[str, str]:
        """What the weights are, with the SHA-256 of their files."""
        own = {self.path.name: self.card.weights} if self.card.weights else {}
        return self.card.sources | own


def read_checkpoint(path: Path) -> Checkpoint:
    """Recognise and read a file; anything unknown, damaged or not quite fitting is refused with what is wrong."""
    if path.suffix == ".safetensors" and path.is_file() and path.with_suffix(".json").exists():
        return _read_ours(path)
    content = load_content(path)
    found = recognise(content)
    if found is None:
        keys = ", ".join(repr(key) for key in list(content)[:4]) or "nothing"
        if any(str(key).startswith(("encoder.", "salad.", "apr.")) for key in content):
            raise InputError(f"{path}: its card {path.with_suffix('.json').name} is not beside it; copy both together")
        raise InputError(f"{path}: is no known layout (it begins with {keys}); known: {'; '.join(WeightsLayout)}")
    encoder = trim(found.encoder) if found.layout is WeightsLayout.EFFICIENTNET and found.encoder else found.encoder
    parts = {"encoder": encoder, "salad": found.salad}
    try:
        card = _describe(path, found)
    except ValidationError as error:
        raise InputError(f"{path}: describes no network that can be built ({_first_fault(error)})") from None
    return _check_parts(path, found.layout, card, {n: part for n, part in parts.items() if part})


def load_content(path: Path) -> Mapping[str, Any]:
    """What a safetensors or PyTorch file holds by name; nothing in it is executed."""
    require_file(path, WEIGHTS_BYTES)
    return _load_safetensors(path) if path.suffix == ".safetensors" else _load_pickle(path)


def save_checkpoint(path: Path, card: Card, parts: Mapping[str, nn.Module]) -> None:
    """Write our own layout: safetensors and, beside them, the card, which names their digest."""
    tensors = {f"{part}.{name}": value for part, module in parts.items() for name, value in module.state_dict().items()}
    with replacing(path, retiring=path.with_suffix(".json")) as stream:
        stream.write(as_bytes({name: value.detach().cpu().contiguous() for name, value in tensors.items()}))
    made = changed(card, {"weights": file_digest(path)})
    write_text(path.with_suffix(".json"), made.model_dump_json(indent=2, exclude_none=True) + "\n")


@overload
def build_module(shape: EncoderShape, tensors: Tensors) -> VisionTransformer | EfficientNetLite0: ...
@overload
def build_module(shape: SaladShape, tensors: Tensors) -> Salad: ...
@overload
def build_module(shape: AprShape, tensors: Tensors) -> AprHead: ...
def build_module(shape: EncoderShape | SaladShape | AprShape, tensors: Tensors) -> nn.Module:
    """The frozen module of that shape with these weights, in float32."""
    module = _build_empty(shape)
    wanted = module.state_dict()
    module.load_state_dict({name: tensors[name].float() for name in wanted}, strict=True, assign=True)
    return module.eval().requires_grad_(False)


def _build_empty(shape: EncoderShape | SaladShape | AprShape) -> nn.Module:
    """A module of that shape that has no storage yet."""
    with torch.device("meta"):
        match shape:
            case Vit():
                numbers = shape.model_dump(exclude={"architecture", "width", "depth", "heads"})
                return VisionTransformer(shape.width, shape.depth, shape.heads, **numbers)
            case EfficientNet():
                return EfficientNetLite0(levels=shape.levels)
            case Plugged():
                raise ValueError("its encoder is a plug-in's, of which files hold no weights")
            case SaladShape():
                return Salad(**shape.model_dump())
            case AprShape():
                return AprHead(**shape.model_dump(exclude={"center", "scale"}))


def _check_parts(path: Path, layout: WeightsLayout, card: Card, tensors: Mapping[str, Tensors]) -> Checkpoint:
    """Refuse names, shapes and numbers that do not fit the card."""
    shapes = {"encoder": card.encoder, "salad": card.salad, "apr": card.apr}
    for part, shape in shapes.items():
        try:
            module = _build_empty(shape) if shape else None
        except ValueError as error:  # widths that do not go together
            raise InputError(f"{path.with_suffix('.json')}: describes no {part} that can be built ({error})") from None
        if module:
            refuse_misfits(path, module, tensors.get(part, {}))
    return Checkpoint(path, layout, card, tensors)


def refuse_misfits(path: Path, module: nn.Module, tensors: Tensors) -> None:
    """Refuse a file whose tensors are not the module's by name, shape and kind, or hold what is no number."""
    wanted = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    missing, unknown = [n for n in wanted if n not in tensors], [n for n in tensors if n not in wanted]
    if missing:
        close = difflib.get_close_matches(missing[0], unknown, n=1)
        instead = f" and has {close[0]!r} instead" if close else ""
        raise InputError(f"{path}: lacks {missing[0]!r}{instead}; its names must be the published ones")
    if unknown:
        raise InputError(f"{path}: has {unknown[0]!r}, which a {type(module).__name__} does not know")
    for name, shape in wanted.items():
        given = tensors[name]
        if tuple(given.shape) != shape:
            raise InputError(f"{path}: {name!r} is {list(given.shape)}, must be {list(shape)} beside its other tensors")
        plain = given.dtype in _FLOATS and given.layout is torch.strided and given.device.type == "cpu"
        if not plain or not bool(torch.isfinite(given).all()):
            raise InputError(
                f"{path}: {name!r} ({given.dtype}) holds what are no plain finite numbers; get the file again"
            )


def _describe(path: Path, found: WeightsParts) -> Card:
    """The card of a published layout, read off the shapes of its tensors."""
    if found.layout is WeightsLayout.EFFICIENTNET:
        encoder: Vit | EfficientNet | None = EfficientNet(levels=2)
    else:
        encoder = _infer_vit(path, found.encoder) if found.encoder else None
    mean, std = _STATISTICS.get(found.layout, (None, None))
    return Card(
        encoder=encoder,
        input=Input(mean=mean, std=std) if encoder and mean and std else None,
        salad=_infer_salad(path, found.salad) if found.salad else None,
        sources={path.name: file_digest(path)},
    )


def _infer_vit(path: Path, tensors: Tensors) -> Vit:
    width, patches = _measure_axis(path, tensors, "cls_token", -1), _measure_axis(path, tensors, "pos_embed", 1) - 1
    if tuple(tensors.get("patch_embed.proj.weight", torch.empty(0)).shape[2:]) not in ((), (PATCH, PATCH)):
        raise InputError(f"{path}: its patches are not {PATCH} × {PATCH} pixels; only DINOv2's are known")
    if "blocks.0.mlp.w12.weight" in tensors or "blocks.0.mlp.weights_in.weight" in tensors:
        raise InputError(f"{path}: is a giant with SwiGLU layers; take ViT-S/14, B/14 or L/14")
    blocks = {name.split(".")[1] for name in tensors if name.startswith("blocks.")}
    side = math.isqrt(max(patches, 0))
    if not blocks:
        raise InputError(f"{path}: lacks 'blocks.0.norm1.weight' and all other blocks; get the file again")
    if not width or width % _HEAD_WIDTH or not side or side * side != patches:
        raise InputError(f"{path}: width {width} with {patches} positions is no DINOv2 model (B/14: 768 with 1369)")
    registers = _measure_axis(path, tensors, "register_tokens", 1) if "register_tokens" in tensors else 0
    return Vit(width=width, depth=len(blocks), heads=width // _HEAD_WIDTH, registers=registers, rows=side, columns=side)


def _infer_salad(path: Path, tensors: Tensors) -> SaladShape:
    return SaladShape(
        channels=_measure_axis(path, tensors, "score.0.weight", 1),
        clusters=_measure_axis(path, tensors, "score.3.weight", 0),
        cluster_dim=_measure_axis(path, tensors, "cluster_features.3.weight", 0),
        token_dim=_measure_axis(path, tensors, "token_features.2.weight", 0),
        hidden=_measure_axis(path, tensors, "score.0.weight", 0),
    )


def _measure_axis(path: Path, tensors: Tensors, name: str, axis: int) -> int:
    if name not in tensors or not -tensors[name].dim() <= axis < tensors[name].dim():
        close = difflib.get_close_matches(name, list(tensors), n=1)
        instead = f" and has {close[0]!r} instead" if close and close[0] != name else ""
        raise InputError(f"{path}: lacks {name!r} in its published form{instead}; its names must be the published ones")
    return tensors[name].shape[axis]


def _read_ours(path: Path) -> Checkpoint:
    card_file = path.with_suffix(".json")
    try:
        card = Card.model_validate_json(read_bytes(card_file, DOCUMENT_BYTES))
    except OSError as error:
        raise InputError(f"{card_file}: cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise InputError(f"{card_file}: is no card of weights ({_first_fault(error)})") from None
    require_file(path, WEIGHTS_BYTES)
    if card.weights != file_digest(path):
        raise InputError(f"{path}: is not the file that its card {card_file.name} describes; copy both together")
    tensors: dict[str, Tensors] = {}
    for name, value in _load_safetensors(path).items():
        part, _, inner = name.partition(".")
        tensors.setdefault(part, {})[inner] = value
    return _check_parts(path, WeightsLayout.OURS, card, tensors)


def _first_fault(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first["loc"] else first["msg"]


def _load_safetensors(path: Path) -> Tensors:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: is not a whole safetensors file ({error})") from None


def _load_pickle(path: Path) -> Mapping[str, Any]:
    try:
        with warnings.catch_warnings(action="ignore"), torch.serialization.safe_globals(_HARMLESS):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(f"{path}: {_refusal(str(error))}") from None
    except Exception as error:  # on damaged bytes torch's reader raises whatever they make it stumble over
        kind = type(error).__name__
        raise InputError(f"{path}: is not a whole PyTorch file ({kind}); nothing was executed; get it again") from None
    if not isinstance(content, Mapping):
        raise InputError(f"{path}: holds a {type(content).__name__}, not named tensors")
    return content


def _refusal(message: str) -> str:
    """What the reader that executes nothing objected to."""
    asked = re.search(r"GLOBAL ([\w.]+)", message)
    if asked:
        return f"would call {asked[1]} when it is opened; nothing was executed; get the file from its authors"
    return "is damaged, or no PyTorch file; nothing was executed; get the file again"
