"""Metric learning: a SALAD head that makes the same place look alike in any weather.

A batch takes pairs of frames of one place from two traverses, a few sites at a time, since the frames that are hard to
tell apart are those of one site. Each frame must find its partner among all others (InfoNCE, both ways); frames within
`apart` metres of it on the same site are neither right nor wrong.

The head is trained as it is used, joined to the plain pooling that it must complement. Its tokens are dropped and
disturbed: without that it masters the worlds it is shown and forgets real ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from tmapr.perception.encoder import Features
from tmapr.perception.pooling import Aggregator
from tmapr.perception.recipes import Contrast
from tmapr.perception.salad import Salad

_SAMPLED = 100  # every so manieth frame tells how much a channel varies
_BATCH = 256  # frames described, or compared with a traverse, at once
_SAME_WAY = 0.9
"""Cosine of the largest difference between the headings of two frames that show one place."""


@runtime_checkable
class Traverses(Protocol):
    """Frames of many traverses as the frozen encoder sees them; a site's traverses share its coordinates.

    A heading that nobody knows is NaN: such a frame may look any way.
    """

    @property
    def positions(self) -> Float[np.ndarray, "frames 2"]:
        """Metres."""
        ...

    @property
    def headings(self) -> Float[np.ndarray, " frames"]:
        """Radians."""
        ...

    @property
    def traverses(self) -> Int[np.ndarray, " frames"]:
        """The number of each frame's traverse."""
        ...

    @property
    def sites(self) -> Int[np.ndarray, " frames"]:
        """The number of each frame's site."""
        ...

    def features(self, rows: Int[np.ndarray, " n"]) -> Features:
        """The encoder's pass over these frames, in float32 on the training's device."""
        ...


@dataclass(frozen=True, slots=True)
class TraversesInMemory:
    """Traverses whose tokens are tensors."""

    tokens: Float[Tensor, "frames patches channels"]
    summaries: Float[Tensor, "frames channels"]
    grid: tuple[int, int]
    positions: Float[np.ndarray, "frames 2"]
    headings: Float[np.ndarray, " frames"]
    traverses: Int[np.ndarray, " frames"]
    sites: Int[np.ndarray, " frames"]

    def features(self, rows: Int[np.ndarray, " n"]) -> Features:
        """What the encoder said of these frames, in float32."""
        chosen = torch.from_numpy(rows).to(self.tokens.device)
        return Features(self.tokens[chosen].float(), self.summaries[chosen].float(), *self.grid)


class Partners:
    """Draws pairs: a frame of any traverse, and the nearest of another traverse of its site, looking the same way."""

    def __init__(self, frames: Traverses, near: float) -> None:
        self._pairs: dict[int, Int[np.ndarray, "2 pairs"]] = {}
        for site in np.unique(frames.sites).tolist():
            members = [
                np.flatnonzero(frames.traverses == one) for one in np.unique(frames.traverses[frames.sites == site])
            ]
            found = [_pair(frames, one, other, near) for one in members for other in members if one is not other]
            self._pairs[site] = np.concatenate([np.zeros((2, 0), int), *found], axis=1)
        self._sites = [site for site, pairs in self._pairs.items() if pairs.shape[1]]
        if not self._sites:
            raise ValueError(f"no two traverses of a site have frames within {near} m that look the same way")

    @property
    def frames(self) -> Int[np.ndarray, " frames"]:
        """The rows of all frames that have a partner."""
        return np.unique(np.concatenate(list(self._pairs.values()), axis=1))

    def draw(self, sites: int, pairs: int, rng: np.random.Generator) -> Int[np.ndarray, "2 rows"]:
        """Draw rows of frames, side by side, of so many sites with so many pairs each."""
        chosen = rng.choice(self._sites, size=sites, replace=len(self._sites) < sites).tolist()
        return np.concatenate([rng.choice(self._pairs[site], size=pairs, axis=1) for site in chosen], axis=1)


def train_head(
    head: Salad, plain: Aggregator | None, frames: Traverses, recipe: Contrast, partners: Partners | None = None
) -> Iterator[tuple[int, float]]:
    """Train the head in place, beside the plain descriptor if there is one; yields each batch's number and its loss.

    Batches are numbered from 1. `partners` are those of the frames, if they are known already.
    """
    partners = partners or Partners(frames, recipe.near)
    rng = np.random.default_rng(recipe.seed)
    sampled = frames.features(np.arange(0, len(frames.positions), _SAMPLED))
    spread = sampled.tokens.flatten(0, 1).std(dim=0)
    optimizer = torch.optim.AdamW(head.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, recipe.steps)
    for step in range(1, recipe.steps + 1):
        head.train()
        rows = partners.draw(recipe.sites, recipe.pairs, rng)
        first, second = (_describe_with_noise(head, plain, frames.features(side), spread, recipe) for side in rows)
        unrelated = torch.from_numpy(are_different_places(frames, rows[0], rows[1], recipe.apart)).to(first.device)
        loss = info_nce(first, second, unrelated, recipe.temperature)
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()
        yield step, float(loss.detach())


def compute_descriptors(frames: Traverses, descriptor: Aggregator) -> Float[Tensor, "frames dim"]:
    """One for every frame, a batch at a time."""
    rows = np.arange(len(frames.positions))
    with torch.inference_mode():
        return torch.cat([descriptor(frames.features(rows[at : at + _BATCH])) for at in range(0, len(rows), _BATCH)])


def info_nce(
    first: Float[Tensor, "pairs dim"],
    second: Float[Tensor, "pairs dim"],
    unrelated: Bool[Tensor, "pairs pairs"],
    temperature: float,
) -> Float[Tensor, ""]:
    """InfoNCE both ways between unit vectors; what is neither the partner nor unrelated does not count."""
    own = torch.eye(len(first), dtype=torch.bool, device=first.device)
    logits = (first @ second.T / temperature).masked_fill(~(unrelated | own), -torch.inf)
    target = torch.arange(len(first), device=first.device)
    return (cross_entropy(logits, target) + cross_entropy(logits.T, target)) / 2


def are_different_places(
    frames: Traverses, first: Int[np.ndarray, " n"], second: Int[np.ndarray, " n"], apart: float
) -> Bool[np.ndarray, "n n"]:
    """Whether the frames of a row and of a column certainly show different places."""
    distances = np.linalg.norm(frames.positions[first][:, None] - frames.positions[second][None], axis=2)
    return (distances > apart) | (frames.sites[first][:, None] != frames.sites[second][None])


def _pair(
    frames: Traverses, one: Int[np.ndarray, " n"], other: Int[np.ndarray, " m"], near: float
) -> Int[np.ndarray, "2 pairs"]:
    """Each frame of one traverse with the nearest of the other, if that is near and looks the same way."""
    pairs = [np.zeros((2, 0), int)]
    for part in (one[at : at + _BATCH] for at in range(0, len(one), _BATCH)):
        distances = np.linalg.norm(frames.positions[part][:, None] - frames.positions[other][None], axis=2)
        turned = np.cos(frames.headings[part][:, None] - frames.headings[other][None]) < _SAME_WAY
        distances = np.where(turned, np.inf, distances)
        best = distances.argmin(axis=1)
        found = distances[np.arange(len(part)), best] < near
        pairs.append(np.stack([part[found], other[best[found]]]))
    return np.concatenate(pairs, axis=1)


def _describe_with_noise(
    head: Salad, plain: Aggregator | None, features: Features, spread: Float[Tensor, " channels"], recipe: Contrast
) -> Float[Tensor, "images dim"]:
    """The joined descriptor; only the head's tokens are disturbed."""
    images, patches, _ = features.tokens.shape
    kept = torch.rand(images, patches, device=spread.device).argsort(dim=1)
    kept = kept[:, : round((1 - recipe.token_dropout) * patches)]
    tokens = torch.take_along_dim(features.tokens, kept[..., None], dim=1)
    tokens = tokens + recipe.feature_noise * spread * torch.randn_like(tokens)
    seen = features._replace(tokens=tokens)
    if plain is None:
        return head(seen)
    with torch.no_grad():
        given = plain(features)
    return normalize(torch.cat([given, recipe.weight * head(seen)], dim=1), dim=1)
