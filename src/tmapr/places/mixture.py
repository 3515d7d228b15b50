"""G: a few diagonal Gaussians per place in a reduced space, learned online.

Incremental EM: a sample moves the mean and variance of each component of its place by its responsibility over the
component's count. Counts are bounded, so an old place keeps adapting. A place with few samples has no variance of
its own worth the name: each variance is drawn towards one shared by all places, with the weight of
`prior_count` samples, and never falls below a floor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.config import Settings

LOG_TAU = float(np.log(2 * np.pi))
"""Per dimension, twice what normalises a density."""

LAYOUT = {
    "counts": Array("f", "places components", 0),
    "means": Array("f", "places components reduced"),
    "variances": Array("f", "places components reduced", 0),
    "shared": Array("f", "reduced", 0),
    "shared_count": Array("f", "", 0),
}


class Mixture(Settings):
    """G: Gaussian mixtures per place."""

    components: int = Field(3, ge=1, le=16, description="Gaussians per place")
    dimension: int = Field(
        32, ge=1, le=16384, description="dimension of the reduced space (principal, of the reference)"
    )
    prior_count: float = Field(8.0, gt=0, description="samples' worth of trust in the variance shared by all places")
    floor: float = Field(0.02, gt=0, description="smallest variance, as a share of the reference's mean variance")
    max_count: float = Field(100.0, ge=1, description="bound on a component's count: how long it remembers")
    novelty: float = Field(3.0, gt=0, description="squared deviation per dimension beyond which a component is born")


@dataclass(frozen=True, slots=True)
class _Terms:
    """What the densities of some places need beside a row."""

    means: Float[np.ndarray, "places m dim"]
    variances: Float[np.ndarray, "places m dim"]
    log_determinants: Float[np.ndarray, "places m"]
    log_shares: Float[np.ndarray, "places m"]


class Mixtures:
    """The running statistics of every place's Gaussians."""

    def __init__(self, settings: Mixture, dim: int) -> None:
        self._settings = settings
        self._dim = dim
        shape = (0, settings.components, dim)
        self._counts = np.zeros(shape[:2])
        self._means = np.zeros(shape)
        self._variances = np.zeros(shape)
        # The reduced space has a mean squared length of 1, so 1/dim is the reference's mean variance.
        self._shared = np.full(dim, 1.0 / dim)
        self._shared_count = settings.prior_count
        self._terms: _Terms | None = None
        """Of all places, until something is learned: to compute them takes longer than all else."""

    def log_likelihoods(self, row: Float[np.ndarray, " dim"]) -> Float[np.ndarray, " places"]:
        """Log-likelihood per dimension of a reduced descriptor under each place."""
        learned = self._counts.sum(axis=1) > 0
        if not learned.any():
            return np.zeros(len(learned))
        self._terms = self._terms or self._find_terms(slice(None))
        logs = self._log_joint(row, self._terms)[learned]
        top = logs.max(axis=1)
        totals = (top + np.log(np.exp(logs - top[:, None]).sum(axis=1))) / self._dim
        # A place nothing was learned of is no likelier than the least likely one.
        likelihoods = np.full(len(learned), totals.min())
        likelihoods[learned] = totals
        return likelihoods

    def find_posterior(self, log_likelihoods: Float[np.ndarray, " places"]) -> Float[np.ndarray, " places"]:
        """The probability of each place where all are as likely beforehand."""
        likely = np.exp(self._dim * (log_likelihoods - log_likelihoods.max(initial=-np.inf)))
        return likely / likely.sum() if len(likely) else likely

    def learn(self, row: Float[np.ndarray, " dim"], place: int) -> None:
        """Absorb one reduced descriptor of a place."""
        self._terms = None
        self.grow(place + 1)
        active = self._counts[place] > 0
        born = int(np.argmin(active)) if not active.all() else None
        if born is not None and self._novel(row, place, active):
            self._counts[place, born] = 1.0
            self._means[place, born] = row
            return
        logs = self._log_joint(row, self._find_terms(slice(place, place + 1)))[0]
        share = np.exp(logs - logs.max())
        share /= share.sum()
        self._absorb(row, place, share)

    def _absorb(self, row: Float[np.ndarray, " dim"], place: int, share: Float[np.ndarray, " m"]) -> None:
        counts = self._counts[place] + share
        rate = np.where(counts > 0, share / np.where(counts > 0, counts, 1.0), 0.0)[:, None]
        before = row - self._means[place]
        self._means[place] += rate * before
        after = row - self._means[place]
        self._variances[place] += rate * (before * after - self._variances[place])
        self._counts[place] = np.minimum(counts, self._settings.max_count)
        self._shared_count += 1.0
        scatter = (share[:, None] * before * after).sum(axis=0)
        self._shared += (scatter - self._shared) / self._shared_count

    def _novel(self, row: Float[np.ndarray, " dim"], place: int, active: Bool[np.ndarray, " m"]) -> bool:
        if not active.any():
            return True
        deviations = (row - self._means[place, active]) ** 2 / self._effective(slice(place, place + 1))[0, active]
        return bool(deviations.mean(axis=1).min() > self._settings.novelty)

    def _effective(self, places: slice) -> Float[np.ndarray, "places m dim"]:
        """Variances drawn towards the shared one, above the floor."""
        prior = self._settings.prior_count
        evidence = np.maximum(self._counts[places, :, None] - 1.0, 0.0)  # one sample says nothing of a spread
        drawn = (evidence * self._variances[places] + prior * self._shared) / (evidence + prior)
        return np.maximum(drawn, self._settings.floor / self._dim)

    def _find_terms(self, places: slice) -> _Terms:
        variances, counts = self._effective(places), self._counts[places]
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        with np.errstate(divide="ignore"):
            return _Terms(self._means[places], variances, np.log(variances).sum(axis=2), np.log(shares))

    def _log_joint(self, row: Float[np.ndarray, " dim"], terms: _Terms) -> Float[np.ndarray, "places m"]:
        """Log of weight times density, for every component; one never born has none."""
        distances = ((row - terms.means) ** 2 / terms.variances).sum(axis=2)
        density = -0.5 * (distances + terms.log_determinants + self._dim * LOG_TAU)
        return density + terms.log_shares

    def grow(self, places: int) -> None:
        """Make room for more places."""
        missing = places - len(self._counts)
        if missing > 0:
            self._terms = None
            self._counts, self._means, self._variances = (
                np.concatenate([array, np.zeros((missing, *array.shape[1:]))])
                for array in (self._counts, self._means, self._variances)
            )

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs to continue bit for bit."""
        return {
            "counts": self._counts,
            "means": self._means,
            "variances": self._variances,
            "shared": self._shared,
            "shared_count": np.array(self._shared_count),
        }

    @classmethod
    def from_arrays(cls, settings: Mixture, arrays: Arrays) -> "Mixtures":
        """The mixtures that `arrays` described."""
        mixtures = cls(settings, arrays["shared"].shape[0])
        mixtures._counts = np.array(arrays["counts"])
        mixtures._means = np.array(arrays["means"])
        mixtures._variances = np.array(arrays["variances"])
        mixtures._shared = np.array(arrays["shared"])
        mixtures._shared_count = float(arrays["shared_count"])
        return mixtures


def pool(
    parts: Sequence[Mixtures], columns: Sequence[Int[np.ndarray, " _"]], shares: Sequence[float], classes: int
) -> Mixtures:
    """Join mixtures by moments, component by component: an approximation, since responsibilities are not redone.

    A part counts `shares` times: the base of n merged states is in each of them and counts 1 − n times itself.
    """
    pooled = Mixtures(parts[0]._settings, parts[0]._dim)
    pooled.grow(classes)
    squares = np.zeros_like(pooled._variances)
    for part, target, share in zip(parts, columns, shares, strict=True):
        counts = share * part._counts[:, :, None]
        pooled._counts[target] += share * part._counts
        pooled._means[target] += counts * part._means
        squares[target] += counts * (part._variances + part._means**2)
    total = np.maximum(pooled._counts, np.finfo(float).tiny)[:, :, None]
    pooled._means = np.where(pooled._counts[:, :, None] > 0, pooled._means / total, 0.0)
    pooled._variances = np.maximum(squares / total - pooled._means**2, 0.0)
    pooled._counts = np.clip(pooled._counts, 0.0, pooled._settings.max_count)
    weights = np.array([share * part._shared_count for part, share in zip(parts, shares, strict=True)])
    pooled._shared = np.maximum(weights @ np.stack([part._shared for part in parts]) / weights.sum(), 0.0)
    pooled._shared_count = float(weights.sum())
    return pooled
