"""SALAD: patch tokens assigned to clusters by optimal transport (Izquierdo & Civera, CVPR 2024).

Of n patches and m clusters every cluster takes the mass of one patch and a dustbin takes the rest:

    max ⟨P, S⟩ + H(P)    with    P·1 = (1, …, 1, n − m),    Pᵀ·1 = 1.

The authors divide the marginals by n + m and multiply P by it again, which is the same P. A descriptor is the
summary's projection and the transported sum of local features per cluster, each part of unit length, then the whole.
The names of the parameters are those of the published weights.
"""

from math import log

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from tmapr.exceptions import InputError
from tmapr.perception.encoder import Features


class Salad(nn.Module):
    """The aggregation; a descriptor is [summary (token_dim), clusters (cluster_dim × clusters, channel-major)]."""

    def __init__(
        self,
        channels: int,
        *,
        clusters: int = 64,
        cluster_dim: int = 128,
        token_dim: int = 256,
        hidden: int = 512,
        iterations: int = 3,
        dropout: float = 0.3,
    ) -> None:
        super().__init__()
        if iterations < 1:
            raise ValueError(f"iterations must be at least 1, got {iterations}")
        self.dim = token_dim + clusters * cluster_dim
        self.clusters, self.iterations = clusters, iterations
        self.token_features = nn.Sequential(nn.Linear(channels, hidden), nn.ReLU(), nn.Linear(hidden, token_dim))
        self.cluster_features = _build_mlp(channels, hidden, cluster_dim, dropout)
        self.score = _build_mlp(channels, hidden, clusters, dropout)
        self.dust_bin = nn.Parameter(torch.tensor(1.0))

    def forward(self, features: Features) -> Float[Tensor, "images {self.dim}"]:
        """Descriptors of unit length."""
        patches = features.tokens.shape[1]
        if patches <= self.clusters:
            raise InputError(
                f"{patches} patches on a grid of {features.rows}×{features.columns} are too few for {self.clusters}"
                " clusters; take a larger image or fewer clusters"
            )
        columns = features.tokens.transpose(1, 2).unsqueeze(3)
        plan = transport(self.score(columns).flatten(2), self.dust_bin, self.iterations)
        local = self.cluster_features(columns).flatten(2)
        clusters = local @ plan[:, :-1].transpose(1, 2)
        summary = normalize(self.token_features(features.summary), dim=1)
        return normalize(torch.cat([summary, normalize(clusters, dim=1).flatten(1)], dim=1), dim=1)


def transport(
    scores: Float[Tensor, "images clusters patches"], dustbin: Float[Tensor, ""], iterations: int
) -> Float[Tensor, "images clusters+1 patches"]:
    """P after so many Sinkhorn iterations, the dustbin in its last row.

    An iteration scales the rows, then the columns: every patch's column sums to 1 exactly, the rows only in the
    limit. The published weights were trained with this order and three iterations, so it is part of the model.
    """
    images, clusters, patches = scores.shape
    rows = torch.cat([scores.new_zeros(clusters, 1), scores.new_full((1, 1), log(patches - clusters))])
    plan = torch.cat([scores, dustbin.expand(images, 1, patches)], dim=1)
    # In logarithms: the exponential of a score of 90 overflows in float32.
    for _ in range(iterations):
        plan = (plan.log_softmax(dim=2) + rows).log_softmax(dim=1)
    return plan.exp()


def _build_mlp(channels: int, hidden: int, out: int, dropout: float) -> nn.Sequential:
    """One MLP for every patch; 1×1 convolutions because the published weights have their shape."""
    return nn.Sequential(nn.Conv2d(channels, hidden, 1), nn.Dropout(dropout), nn.ReLU(), nn.Conv2d(hidden, out, 1))
