"""The paper's network with random weights: a ViT-B/14 with both heads at their published widths.

Its descriptors mean nothing. Its time is that of the trained one, since no step of it depends on a weight's value.
"""

import torch

from tmapr.perception.apr import AprHead
from tmapr.perception.card import CLIP, AprShape, Card, Input, Vit
from tmapr.perception.network import Network
from tmapr.perception.pooling import Joined
from tmapr.perception.salad import Salad
from tmapr.perception.settings import Perception
from tmapr.perception.vit import VisionTransformer

SHAPE = Vit(width=768, depth=12, heads=12)


def make_random_vit() -> VisionTransformer:
    """A ViT-B/14; no weight is zero, and all have the size that trained ones have."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        vit = VisionTransformer(SHAPE.width, SHAPE.depth, SHAPE.heads)
        for parameter in vit.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    return vit


def make_random_network(settings: Perception) -> tuple[Network, Card]:
    """The whole network; the settings say how large pictures are."""
    salad, apr, given = Salad(768), AprHead(768), Input(mean=CLIP[0], std=CLIP[1], size=settings.size)
    network = Network(make_random_vit().fix_size(*settings.size), Joined([salad], (1.0,)), apr, given)
    card = Card(encoder=SHAPE, input=given, apr=AprShape(channels=768), dimension=salad.dim)
    return network.eval().requires_grad_(False), card
