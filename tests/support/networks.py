"""Networks for tests."""

import re

import torch

_HUB_NAMES = (
    (r"embeddings\.(cls_token|register_tokens|mask_token)", r"\1"),
    (r"embeddings\.position_embeddings", "pos_embed"),
    (r"embeddings\.patch_embeddings\.projection\.(\w+)", r"patch_embed.proj.\1"),
    (r"encoder\.layer\.(\d+)\.attention\.output\.dense\.(\w+)", r"blocks.\1.attn.proj.\2"),
    (r"encoder\.layer\.(\d+)\.layer_scale(\d)\.lambda1", r"blocks.\1.ls\2.gamma"),
    (r"encoder\.layer\.(\d+)\.(norm\d|mlp\.fc\d)\.(\w+)", r"blocks.\1.\2.\3"),
    (r"layernorm\.(\w+)", r"norm.\1"),
)


def perturbed(module, seed=7):
    """All parameters moved, so that none is a one or a zero that hides a mistake."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return module.eval().requires_grad_(False)


def name_as_hub(file):
    """The tensors of a `transformers` file under the hub's names."""
    state = {}
    for name, tensor in file.items():
        for pattern, replacement in _HUB_NAMES:
            if re.fullmatch(pattern, name):
                state[re.sub(pattern, replacement, name)] = tensor
    for name in file:
        if found := re.fullmatch(r"encoder\.layer\.(\d+)\.attention\.attention\.query\.(\w+)", name):
            thirds = [file[name.replace("query", third)] for third in ("query", "key", "value")]
            state[f"blocks.{found[1]}.attn.qkv.{found[2]}"] = torch.cat(thirds)
    return state
