"""The paper's network with random weights: a ViT-B/14 with both heads at their published widths.

Its descriptors mean nothing. Its time is that of the trained one, since no step of it depends on a weight's value.
"""

import torch

from tmapr.perception.apr import AprHead
from tmapr.perception.card import CLIP, AprShape, Card, Descriptor, Input, SaladShape, Vit
from tmapr.perception.network import Network, TorchEngine
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.pooling import Joined
from tmapr.perception.salad import Salad
from tmapr.perception.settings import Perception
from tmapr.perception.vit import VisionTransformer

SHAPE = Vit(width=768, depth=12, heads=12)
_SALAD = SaladShape(channels=768, clusters=64, cluster_dim=128, token_dim=256, hidden=512)
_APR = AprShape(channels=768)
_SEED = 0


def make_random_vit() -> VisionTransformer:
    """A ViT-B/14; no weight is zero, and all have the size that trained ones have."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(_SEED)
        vit = VisionTransformer(SHAPE.width, SHAPE.depth, SHAPE.heads)
        for parameter in vit.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    return vit


def make_random_network(settings: Perception) -> tuple[Network, Card]:
    """The whole network; the settings say how large pictures are."""
    salad, apr = Salad(**_SALAD.model_dump()), AprHead(**_APR.model_dump(exclude={"center", "scale"}))
    given = Input(mean=CLIP[0], std=CLIP[1], size=settings.size)
    network = Network(make_random_vit().fix_size(*settings.size), Joined([salad], (1.0,)), apr, given)
    card = Card(
        encoder=SHAPE,
        input=given,
        salad=_SALAD,
        apr=_APR,
        descriptor=Descriptor(parts=("salad",)),
        dimension=salad.dim,
    )
    return network.eval().requires_grad_(False), card


def make_random_perceiver(settings: Perception, device: str) -> Perceiver:
    """The whole perceiver there; the settings say how large pictures are and how they are prepared."""
    network, card = make_random_network(settings)
    return Perceiver(card, settings.image, TorchEngine(network, device))
