"""G on the device: the Gaussians of all places at once.

`places.mixture` says what it is. What a row's log-likelihood needs of a Gaussian changes only when something is
learned; with x the row, i the inverse variances, m the mean and s the share,

    log s N(x) = [−i/2, m i] · [x², x] + c,    c = log s − (m²·i + Σ log variance + dim log 2π) / 2,

so scoring every Gaussian of every place is one product with a matrix that lessons renew. The same by Triton's kernels
is in `place_launches`.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tmapr.artifacts.arrays import Arrays
from tmapr.places.mixture import LOG_TAU, Mixture


class Gaussians(NamedTuple):
    """Counts, means and variances of the components of some places."""

    counts: Float[Tensor, "places m"]
    means: Float[Tensor, "places m dim"]
    variances: Float[Tensor, "places m dim"]


class DeviceMixtures:
    """The running statistics of every place's Gaussians. `arrays` is that of `Mixtures`."""

    def __init__(self, settings: Mixture, arrays: Arrays, capacity: int, device: torch.device) -> None:
        self.settings = settings
        self.dim = arrays["shared"].shape[0]
        self._places = len(arrays["counts"])
        loaded = (torch.as_tensor(np.array(arrays[name])).to(device) for name in Gaussians._fields)
        self.gaussians = Gaussians(*(_pad(each, capacity) for each in loaded))
        self.shared = torch.as_tensor(np.array(arrays["shared"])).to(device)
        self.shared_count = torch.as_tensor(float(arrays["shared_count"]), dtype=torch.float64).to(device)
        self._allocate_terms()

    def _allocate_terms(self) -> None:
        counts, means, _ = self.gaussians
        self.terms = means.new_zeros((counts.numel(), 2 * self.dim))
        self.biases = means.new_zeros(counts.numel())
        self.learned = torch.zeros(len(counts), dtype=torch.bool, device=counts.device)
        self._renew_terms()

    def make_room(self, capacity: int) -> None:
        """Of more places; the tensors are other ones afterwards."""
        self.gaussians = Gaussians(*(_pad(each, capacity) for each in self.gaussians))
        self._allocate_terms()

    def enter(self, place: int) -> None:
        """On the host: a place is written down from now on."""
        self._places = max(self._places, place + 1)

    def log_likelihoods(self, row: Float[Tensor, " dim"]) -> Float[Tensor, " places"]:
        """Log-likelihood per dimension of a reduced descriptor under each place."""
        logs = torch.addmv(self.biases, self.terms, torch.cat([row * row, row]))
        totals = torch.logsumexp(logs.view(self.gaussians.counts.shape), dim=1) / self.dim
        # A place nothing was learned of is no likelier than the least likely one.
        least = torch.where(self.learned, totals, torch.inf).amin()
        return torch.where(self.learned, totals, torch.where(least < torch.inf, least, 0.0))

    def find_posterior(
        self, log_likelihoods: Float[Tensor, " places"], used: Bool[Tensor, " places"]
    ) -> Float[Tensor, " places"]:
        """The probability of each place where all are as likely beforehand."""
        return torch.softmax(torch.where(used, self.dim * log_likelihoods, -torch.inf), dim=0)

    def learn(self, row: Float[Tensor, " dim"], place: Int[Tensor, "1"]) -> None:
        """Absorb one reduced descriptor of a place: a component is born, or all of them move, as they fit it."""
        here = Gaussians(*(each.index_select(0, place) for each in self.gaussians))
        born = self._find_birth(row, here)
        birth = born.any()
        share = torch.softmax(self._log_joint(row, here), dim=1)
        moved = self._move(row, here, share)
        before = row - here.means
        scatter = (share[:, :, None] * before * (row - moved.means)).sum(dim=1)[0]
        after = Gaussians(
            torch.where(birth, torch.where(born, 1.0, here.counts), moved.counts),
            torch.where(birth, torch.where(born[:, :, None], row, here.means), moved.means),
            torch.where(birth, here.variances, moved.variances),
        )
        for every, changed in zip(self.gaussians, after, strict=True):
            every.index_copy_(0, place, changed)
        self.shared_count.add_((~birth).to(torch.float64))
        self.shared.add_(torch.where(birth, 0.0, (scatter - self.shared) / self.shared_count))
        self._renew_terms()

    def _find_birth(self, row: Float[Tensor, " dim"], here: Gaussians) -> Bool[Tensor, "1 m"]:
        """Where a component is born of the row: the first unused one of a place that has nothing like it; or none."""
        active = here.counts > 0
        deviations = ((row - here.means) ** 2 / self._draw(here)).mean(dim=2)
        novel = torch.where(active, deviations, torch.inf).amin() > self.settings.novelty
        first = (~active).cumsum(dim=1) == 1
        return ~active & first & novel

    def _move(self, row: Float[Tensor, " dim"], here: Gaussians, share: Float[Tensor, "1 m"]) -> Gaussians:
        counts = here.counts + share
        rate = torch.where(counts > 0, share / torch.where(counts > 0, counts, 1.0), 0.0)[:, :, None]
        before = row - here.means
        means = here.means + rate * before
        variances = here.variances + rate * (before * (row - means) - here.variances)
        return Gaussians(counts.clamp_max(self.settings.max_count), means, variances)

    def _draw(self, gaussians: Gaussians) -> Float[Tensor, "places m dim"]:
        """Variances drawn towards the shared one, above the floor."""
        prior = self.settings.prior_count
        evidence = (gaussians.counts[:, :, None] - 1.0).clamp_min(0.0)  # one sample says nothing of a spread
        drawn = (evidence * gaussians.variances + prior * self.shared) / (evidence + prior)
        return drawn.clamp_min(self.settings.floor / self.dim)

    def _log_joint(self, row: Float[Tensor, " dim"], here: Gaussians) -> Float[Tensor, "places m"]:
        variances = self._draw(here)
        distances = ((row - here.means) ** 2 / variances).sum(dim=2)
        return _log_shares(here.counts) - 0.5 * (distances + variances.log().sum(dim=2) + self.dim * LOG_TAU)

    def _renew_terms(self) -> None:
        counts, means, _ = self.gaussians
        variances = self._draw(self.gaussians)
        pulled = means / variances
        self.terms.copy_(torch.cat([-0.5 / variances, pulled], dim=2).view_as(self.terms))
        spread = (means * pulled + variances.log()).sum(dim=2) + self.dim * LOG_TAU
        self.biases.copy_((_log_shares(counts) - 0.5 * spread).view_as(self.biases))
        self.learned.copy_(counts.sum(dim=1) > 0)

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` of this or of `Mixtures` were taken; there is room for their places."""
        self._places = len(arrays["counts"])
        for name, every in self.gaussians._asdict().items():
            every.zero_()
            every[: self._places] = torch.as_tensor(np.array(arrays[name]))
        self.shared.copy_(torch.as_tensor(np.array(arrays["shared"])))
        self.shared_count.fill_(float(arrays["shared_count"]))
        self._renew_terms()

    def arrays(self) -> dict[str, np.ndarray]:
        """As `Mixtures.arrays` gives it; reads the device."""
        named = {name: every[: self._places].cpu().numpy().copy() for name, every in self.gaussians._asdict().items()}
        shared = self.shared.cpu().numpy().copy()
        return named | {"shared": shared, "shared_count": np.array(self.shared_count.item())}


def _log_shares(counts: Float[Tensor, "places m"]) -> Float[Tensor, "places m"]:
    """Of a place's samples, each component's; one never born has none."""
    totals = counts.sum(dim=1, keepdim=True).clamp_min(torch.finfo(torch.float64).tiny)
    return torch.log(counts / totals)


def _pad(rows: Float[Tensor, "places ..."], capacity: int) -> Float[Tensor, "capacity ..."]:
    return torch.cat([rows, rows.new_zeros((capacity - len(rows), *rows.shape[1:]))])
