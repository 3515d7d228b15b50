"""A frame recognised as one would write it in PyTorch first: float32, step by step, the host asking as it goes.

It does what `tmapr.recognising` does, in the same order, where the tensors are; nothing in it is slowed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tmapr.retrieval.memory import BEST
from tmapr.retrieval.search import HALF, MAD_TO_DEVIATION, Retrieval


@dataclass(frozen=True)
class EagerMap:
    """What is fixed: the references and the places around each place."""

    descriptors: Tensor
    positions: Tensor
    places: Tensor
    probes: Tensor
    mean: Tensor
    sharing: Tensor
    neighbourhood: Callable[[list[int]], list[int]]


@dataclass(frozen=True)
class EagerState:
    """What was learned, as it is written in the paper: K and W dense, and the Gaussians of every place."""

    K: Tensor
    W: Tensor
    ridge: float
    step: Tensor
    axes: Tensor
    offset: Tensor
    counts: Tensor
    means: Tensor
    variances: Tensor


def standardise(values: Tensor, among: Tensor) -> Tensor:
    center = among.quantile(0.5)
    deviation = MAD_TO_DEVIATION * (among - center).abs().quantile(0.5)
    return (values - center) / (deviation if deviation.item() > 0 else 1.0)


def score_places(state: EagerState, view: Tensor) -> tuple[Tensor, Tensor, float]:
    points = torch.stack([view, view + 1.58 * state.step, view - 1.58 * state.step])
    points = points / points.norm(dim=1, keepdim=True)
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
    retrieval: Retrieval, known: EagerMap, state: EagerState, descriptor: Tensor, shared: Tensor, weight: float
) -> tuple[int, float, float, float, float]:
    """The first candidate's row, score, support, margin and closest cosine; comparisons stay where they are."""
    view = descriptor - weight * (shared - known.mean)
    scores, likelihoods, leverage = score_places(state, view / view.norm())
    own = descriptor - weight * shared
    lengths = torch.sqrt(1 - 2 * weight * known.sharing + weight**2 * (known.mean @ known.mean))
    cosines = (known.descriptors @ own - weight * (own @ known.mean)) / lengths / own.norm()
    similarity = standardise(cosines, cosines[known.probes])
    trust = retrieval.trust(leverage)
    term = retrieval.class_weight * standardise(scores, scores)
    term = term + retrieval.likelihood_weight * standardise(likelihoods, likelihoods).clamp(-3, 3)
    total = similarity + trust * term[known.places]
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
    return best, total[best].item(), support, margin, closest
