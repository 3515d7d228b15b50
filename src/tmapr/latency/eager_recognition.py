"""A frame recognised as one would write it in PyTorch first: float32, step by step, the host asking as it goes.

It does what `tmapr.recognising` does, in the same order, where the tensors are; nothing in it is slowed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.retrieval.memory import BEST
from tmapr.retrieval.search import HALF, MAD_TO_DEVIATION, Retrieval


def _leave(rows: Tensor) -> Tensor:
    """Where the classifier takes descriptors as they are."""
    return rows


@dataclass(frozen=True, slots=True)
class EagerMap:
    """What is fixed: the references and the places around each place."""

    descriptors: Float[Tensor, "refs dim"]
    positions: Float[Tensor, "refs 2"]
    places: Int[Tensor, " refs"]
    probes: Int[Tensor, " probes"]
    mean: Float[Tensor, " dim"]
    sharing: Float[Tensor, " refs"]
    neighbourhood: Callable[[list[int]], list[int]]


@dataclass(frozen=True, slots=True)
class EagerState:
    """What was learned, as it is written in the paper: K and W dense, and the Gaussians of every place."""

    K: Float[Tensor, "features features"]
    W: Float[Tensor, "features places"]
    ridge: float
    step: Float[Tensor, " dim"]
    axes: Float[Tensor, "dim reduced"]
    offset: Float[Tensor, " reduced"]
    counts: Float[Tensor, "places gaussians"]
    means: Float[Tensor, "places gaussians reduced"]
    variances: Float[Tensor, "places gaussians reduced"]
    project: Callable[[Float[Tensor, "k dim"]], Float[Tensor, "k features"]] = _leave
    """From descriptors to what the classifier takes."""


class EagerFound(NamedTuple):
    """The first candidate, and how every reference compares."""

    best: int
    score: float
    support: float
    margin: float
    closest: float
    similarity: Float[Tensor, " refs"]
    place: Float[Tensor, " refs"]
    cosine: Float[Tensor, " refs"]


def standardise(values: Float[Tensor, " some"], among: Float[Tensor, " others"]) -> Float[Tensor, " some"]:
    """In deviations of others, by medians."""
    center = among.quantile(0.5)
    deviation = MAD_TO_DEVIATION * (among - center).abs().quantile(0.5)
    return (values - center) / (deviation if deviation.item() > 0 else 1.0)


def spread_points(state: EagerState, view: Float[Tensor, " dim"]) -> Float[Tensor, "3 features"]:
    """The view and U's two points beside it, as the classifier takes them."""
    points = torch.stack([view, view + 1.58 * state.step, view - 1.58 * state.step])
    return state.project(points / points.norm(dim=1, keepdim=True))


def score_places(
    state: EagerState, view: Float[Tensor, " dim"]
) -> tuple[Float[Tensor, " places"], Float[Tensor, " places"], float]:
    """W's scores, G's likelihoods, and the leverage."""
    points = spread_points(state, view)
    logits = points @ state.W
    scores = torch.tensor([0.6, 0.2, 0.2], device=view.device) @ logits
    leverage = state.ridge * (points[0] @ (state.K @ points[0])).item() / (points[0] @ points[0]).item()
    row = view @ state.axes - state.offset
    distances = ((row - state.means) ** 2 / state.variances).sum(dim=2)
    density = -0.5 * (distances + state.variances.log().sum(dim=2))
    shares = state.counts / state.counts.sum(dim=1, keepdim=True)
    likelihoods = torch.logsumexp(density + shares.log(), dim=1) / len(row)
    return scores, likelihoods, min(leverage, 1.0)


def recognise_eagerly(
    retrieval: Retrieval,
    known: EagerMap,
    state: EagerState,
    descriptor: Float[Tensor, " dim"],
    shared: Float[Tensor, " dim"],
    weight: float,
) -> EagerFound:
    """What a frame looks like; comparisons stay where they are."""
    view = descriptor - weight * (shared - known.mean)
    scores, likelihoods, leverage = score_places(state, view / view.norm())
    own = descriptor - weight * shared
    lengths = torch.sqrt(1 - 2 * weight * known.sharing + weight**2 * (known.mean @ known.mean))
    cosines = (known.descriptors @ own - weight * (own @ known.mean)) / lengths / own.norm()
    similarity = standardise(cosines, cosines[known.probes])
    trust = retrieval.trust(leverage)
    term = retrieval.class_weight * standardise(scores, scores)
    term = term + retrieval.likelihood_weight * standardise(likelihoods, likelihoods).clamp(-3, 3)
    place = trust * term[known.places]
    total = similarity + place
    rows = torch.arange(len(total), device=total.device)
    if trust >= HALF:
        allowed = known.neighbourhood(scores.topk(retrieval.best_places).indices.tolist())
        rows = torch.isin(known.places, torch.tensor(allowed, device=rows.device)).nonzero()[:, 0]
    order = total[rows].argsort(descending=True, stable=True)
    best = int(rows[order[0]])
    near = (known.positions - known.positions[best]).norm(dim=1) <= 10.0
    support = near[rows[order[: retrieval.support_matches]]].float().mean().item()
    rivals = torch.where(near, -torch.inf, total)
    margin = (total[best] - torch.maximum(rivals[rows].max(), rivals[known.probes].max())).item()
    closest = (known.descriptors[similarity.topk(BEST).indices] @ descriptor).max().item()
    return EagerFound(best, total[best].item(), support, margin, closest, similarity, place, cosines)
