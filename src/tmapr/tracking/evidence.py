"""What a frame says of every reference it is compared with, on a scale that its own condition sets.

The chance of a reference given the frame, before anything is known of the past, is the softmax of its standardised
similarity z and its place's term t over the route, which has a share u of the way for each reference:

    log eᵢ = log( ε + (1 − ε) exp(a zᵢ + b tᵢ) / Σⱼ uⱼ exp(a zⱼ + b tⱼ) )

The sum is what the other references reach in this very frame: no absolute similarity enters, and the mean of e over the
route is 1. ε is what a frame that shows nothing of its place leaves to all others. a and b are learned from labelled
drives, each frame scored before it is learned: the likelihood of the true reference on a grid of both, which adds up,
so that the order of the frames does not matter and states merge by addition. Where local features were matched, what
they have more than wrong references in the same frame adds to z.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial import cKDTree

from tmapr.types import Comparison

_SIMILARITY = 2.0 ** np.arange(-1.0, 3.01, 0.5)
_PLACE = 2.0 ** np.arange(-1.0, 2.01, 0.5)
_USUAL = (2.0, 2.0)
"""Weights where nothing was learned: sharper ones fit single frames better, and drives worse: views err together."""
_FLOOR = 0.05
_FOLLOWED = 0.25
"""How far, in logarithms, the weights follow what fits the labelled frames best."""
_MOST_REFERENCES = 2000
"""Of a large map only so many are looked at while learning, evenly spread."""


class Scale:
    """The weights of similarity and place, and what labelled drives said of them."""

    def __init__(self) -> None:
        self.likelihoods = np.zeros((len(_SIMILARITY), len(_PLACE)))

    @property
    def weights(self) -> tuple[float, float]:
        """Of similarity and of place."""
        if not self.likelihoods.any():
            return _USUAL
        row, column = np.unravel_index(np.argmax(self.likelihoods), self.likelihoods.shape)
        best = (float(_SIMILARITY[row]), float(_PLACE[column]))
        similarity, place = (a ** (1 - _FOLLOWED) * b**_FOLLOWED for a, b in zip(_USUAL, best, strict=True))
        return similarity, place

    def learn(self, compared: Comparison, share: Float[np.ndarray, " refs"], right: Bool[np.ndarray, " refs"]) -> None:
        """Add a labelled frame; `right` are the references where it was taken."""
        every = max(1, len(share) // _MOST_REFERENCES)
        looked = np.flatnonzero(right | (np.arange(len(share)) % every == 0))
        compared, right = compared.take(looked), right[looked]
        share = share[looked] / share[looked].sum()
        for row, similarity in enumerate(_SIMILARITY):
            for column, place in enumerate(_PLACE):
                chance = _relate(compared, share, float(similarity), float(place))
                there = float(chance[right] @ share[right] / share[right].sum())
                self.likelihoods[row, column] += np.log(_FLOOR + (1.0 - _FLOOR) * there)


def add_up(compared: Comparison, weights: tuple[float, float]) -> Float[np.ndarray, " refs"]:
    """Similarity and place of every reference, weighed."""
    similarity, place = weights
    looks = compared.similarity if compared.local is None else compared.similarity + compared.local
    total: Float[np.ndarray, " refs"] = similarity * looks + place * compared.place
    return total


def spread_matches(
    compared: Comparison, positions: Float[np.ndarray, "refs 2"], tree: cKDTree, reach: float
) -> Comparison:
    """Local matches with a reference speak for its neighbours too, which nobody looked at, the nearer the more."""
    if compared.local is None:
        return compared
    seen = np.flatnonzero(~np.isnan(compared.local))
    local = np.zeros(len(compared.local))
    for row, near in zip(seen, tree.query_ball_point(positions[seen], reach), strict=True):
        away = np.hypot(*(positions[near] - positions[row]).T)
        local[near] = np.maximum(local[near], compared.local[row] * (1.0 - away / reach))
    local[seen] = compared.local[seen]
    return replace(compared, local=local)


def weigh(
    compared: Comparison, share: Float[np.ndarray, " refs"], weights: tuple[float, float]
) -> Float[np.ndarray, " refs"]:
    """The log-evidence of every reference."""
    evidence: Float[np.ndarray, " refs"] = np.log(_FLOOR + (1.0 - _FLOOR) * _relate(compared, share, *weights))
    return evidence


def _relate(
    compared: Comparison, share: Float[np.ndarray, " refs"], similarity: float, place: float
) -> Float[np.ndarray, " refs"]:
    """How much likelier each reference is than the mean of the route."""
    total = add_up(compared, (similarity, place))
    likely = np.exp(total - total.max())
    related: Float[np.ndarray, " refs"] = likely / (likely @ share)
    return related
