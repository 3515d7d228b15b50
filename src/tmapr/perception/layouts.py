"""The layouts in which weights are published, told apart by their keys and brought to one set of names.

An encoder comes out under the names of the DINOv2 hub or of the EfficientNet-Lite0 package, a SALAD head under its
published names, both without prefixes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch
from torch import Tensor

Tensors = dict[str, Tensor]


class WeightsLayout(StrEnum):
    """Whose weights a file holds, and under which names."""

    HUB = "DINOv2, hub layout"
    HUGGING_FACE = "DINOv2, Hugging Face layout"
    ANYTHERMAL = "AnyThermal backbone"
    ANYTHERMAL_HEAD = "AnyThermal VPR head"
    DINO_SALAD = "DINOv2 SALAD"
    EFFICIENTNET = "EfficientNet-Lite0"
    OURS = "tmapr"


@dataclass(frozen=True, slots=True)
class WeightsParts:
    """The parts of a recognised file."""

    layout: WeightsLayout
    encoder: Tensors | None = None
    salad: Tensors | None = None


_HUB_MARKS = {"cls_token", "pos_embed", "patch_embed.proj.weight", "norm.weight", "blocks.0.norm1.weight"}
_FACE_MARKS = {
    "embeddings.cls_token",
    "embeddings.position_embeddings",
    "embeddings.patch_embeddings.projection.weight",
    "layernorm.weight",
    "encoder.layer.0.norm1.weight",
}
_SALAD_MARKS = {"dust_bin", "score.0.weight", "score.3.weight", "cluster_features.0.weight", "token_features.0.weight"}
_EFFICIENTNET_MARKS = {"_conv_stem.weight", "_bn0.weight", "_blocks.0._depthwise_conv.weight"}
_ENOUGH = 2  # marks: a file with one renamed key is still recognised, and then refused with that key's name


def recognise(content: Mapping[str, Any]) -> WeightsParts | None:
    """The parts of a file's content, or None if it is none of the known layouts."""
    if "student_model_state_dict" in content:
        return _recognise_anythermal(content["student_model_state_dict"])
    if "backbone_model_state_dict" in content:
        return _recognise_anythermal(content)
    if "thermal_state_dict" in content:
        return _recognise_anythermal_head(content["thermal_state_dict"])
    tensors = _pick_tensors(content.get("state_dict", content))  # Lightning wraps its tensors
    aggregator, backbone = _strip_prefix("aggregator.", tensors), _strip_prefix("backbone.model.", tensors)
    if _marked(aggregator, _SALAD_MARKS) and _marked(backbone, _HUB_MARKS):
        return WeightsParts(WeightsLayout.DINO_SALAD, encoder=_drop_mask(backbone), salad=aggregator)
    return _recognise_plain(tensors)


def _recognise_plain(tensors: Tensors) -> WeightsParts | None:
    if _marked(tensors, _HUB_MARKS):
        return WeightsParts(WeightsLayout.HUB, encoder=_drop_mask(tensors))
    if _marked(tensors, _EFFICIENTNET_MARKS):
        return WeightsParts(WeightsLayout.EFFICIENTNET, encoder=tensors)
    for prefix in ("", "dinov2.", "dinov2_with_registers.", "backbone."):
        inside = _strip_prefix(prefix, tensors)
        if _marked(inside, _FACE_MARKS):
            return WeightsParts(WeightsLayout.HUGGING_FACE, encoder=_drop_mask(_rename_as_hub(inside)))
    return None


def _recognise_anythermal(content: object) -> WeightsParts | None:
    backbone = _pick_tensors(content.get("backbone_model_state_dict", content)) if isinstance(content, Mapping) else {}
    found = WeightsParts(WeightsLayout.ANYTHERMAL, encoder=_drop_mask(backbone))
    return found if _marked(backbone, _HUB_MARKS) else None


def _recognise_anythermal_head(content: object) -> WeightsParts | None:
    if not isinstance(content, Mapping) or "vpr_head" not in content:
        return None
    head = _strip_prefix("0.", _pick_tensors(content["vpr_head"]))  # Sequential(SALAD, normalisation)
    if not _marked(head, _SALAD_MARKS):
        return None
    # Where layers of the backbone were trained with the head, they came along and belong to it.
    tuned = _recognise_anythermal(content.get("backbone"))
    return WeightsParts(WeightsLayout.ANYTHERMAL_HEAD, encoder=tuned.encoder if tuned else None, salad=head)


def _rename_as_hub(face: Tensors) -> Tensors:
    """The names of the Hugging Face layout turned into the hub's; query, key and value become one matrix."""
    named: Tensors = {}
    thirds: dict[str, dict[str, Tensor]] = {}
    for name, tensor in face.items():
        match = re.fullmatch(r"encoder\.layer\.(\d+)\.attention\.attention\.(query|key|value)\.(weight|bias)", name)
        if match:
            block, third, kind = match.groups()
            thirds.setdefault(f"blocks.{block}.attn.qkv.{kind}", {})[third] = tensor
            continue
        for pattern, replacement in _RENAMED:
            name = re.sub(pattern, replacement, name)
        named[name] = tensor
    # An incomplete triple stays out, so that the strict load names what is missing.
    whole = {name: parts for name, parts in thirds.items() if len(parts) == 3}
    return named | {name: torch.cat([p["query"], p["key"], p["value"]]) for name, p in whole.items()}


_RENAMED = (
    (r"^embeddings\.(cls_token|mask_token|register_tokens)$", r"\1"),
    (r"^embeddings\.position_embeddings$", "pos_embed"),
    (r"^embeddings\.patch_embeddings\.projection\.", "patch_embed.proj."),
    (r"^encoder\.layer\.(\d+)\.attention\.output\.dense\.", r"blocks.\1.attn.proj."),
    (r"^encoder\.layer\.(\d+)\.layer_scale(\d)\.lambda1$", r"blocks.\1.ls\2.gamma"),
    (r"^encoder\.layer\.", "blocks."),
    (r"^layernorm\.", "norm."),
)


def _drop_mask(encoder: Tensors) -> Tensors:
    """Without the token that masks patches in DINOv2's own training."""
    return {name: tensor for name, tensor in encoder.items() if name != "mask_token"}


def _pick_tensors(content: object) -> Tensors:
    """The tensors of a state dict, whatever else lies between them."""
    items = content.items() if isinstance(content, Mapping) else ()
    return {str(name): value for name, value in items if isinstance(value, Tensor)}


def _strip_prefix(prefix: str, tensors: Tensors) -> Tensors:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _marked(tensors: Tensors, marks: set[str]) -> bool:
    return len(marks & tensors.keys()) >= _ENOUGH
