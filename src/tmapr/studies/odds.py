"""The odds of candidates, learned from a validation drive: logistic regression with a ridge, by Newton's method."""

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit

from tmapr.gating import Odds, Quality
from tmapr.gating.odds import distinction, familiarity
from tmapr.studies.scoring import Evidence

_STEPS = 100
_SETTLED = 1e-10


def fit_odds(evidence: Evidence) -> Odds:
    """Right and wrong candidates weigh the same together, however many there are of each."""
    values = _qualities(evidence)
    centre, spread = values.mean(axis=0), values.std(axis=0)
    constant = np.ptp(values, axis=0) == 0
    centre[constant], spread[constant] = values[0, constant], 1.0
    bias, weights = fit_logistic((values - centre) / spread, evidence.right)
    similarity, familiar, margin = (
        Quality(centre=middle, weight=weight)
        for middle, weight in zip(centre.tolist(), (weights / spread).tolist(), strict=True)
    )
    return Odds(bias=bias, similarity=similarity, familiarity=familiar, margin=margin)


def log_odds(odds: Odds, evidence: Evidence) -> Float[np.ndarray, " n"]:
    """Of all candidates at once."""
    terms = (odds.similarity, odds.familiarity, odds.margin)
    centre, weights = np.array([term.centre for term in terms]), np.array([term.weight for term in terms])
    told: Float[np.ndarray, " n"] = odds.bias + (_qualities(evidence) - centre) @ weights
    return told


def _qualities(evidence: Evidence) -> Float[np.ndarray, "n 3"]:
    familiar = [familiarity(leverage) for leverage in evidence.leverage.tolist()]
    margins = [distinction(margin) for margin in evidence.margin.tolist()]
    return np.column_stack([evidence.similarity, familiar, margins])


def fit_logistic(
    values: Float[np.ndarray, "n terms"], right: Bool[np.ndarray, " n"]
) -> tuple[float, Float[np.ndarray, " terms"]]:
    """Bias and weights that make Σ wᵢ log(1 + exp(−yᵢ(b + xᵢβ))) + ‖β‖²/2 least, wᵢ = n / (2 · those of its kind)."""
    share = right.mean()
    importance = np.where(right, 0.5 / share, 0.5 / (1 - share))
    inputs = np.column_stack([np.ones(len(values)), values])
    ridge = np.diag([0.0, *np.ones(values.shape[1])])
    parameters = np.zeros(inputs.shape[1])

    def loss(trial: Float[np.ndarray, " parameters"]) -> float:
        signed = np.where(right, 1.0, -1.0) * (inputs @ trial)
        return float(importance @ np.logaddexp(0.0, -signed) + trial @ ridge @ trial / 2)

    for _ in range(_STEPS):
        chance = expit(inputs @ parameters)
        slope = inputs.T @ (importance * (chance - right)) + ridge @ parameters
        curvature = (inputs * (importance * chance * (1 - chance))[:, None]).T @ inputs + ridge
        step = np.linalg.solve(curvature, slope)
        # A full step may overshoot where the chances are nearly 0 or 1; the loss is convex, so a shorter one does not.
        while loss(parameters - step) > loss(parameters) and np.abs(step).max() > _SETTLED:
            step = step / 2
        parameters = parameters - step
        if np.abs(step).max() <= _SETTLED:
            break
    return float(parameters[0]), parameters[1:]
