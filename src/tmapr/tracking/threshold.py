"""The similarity from which a validation stream's candidates reach a precision."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from tmapr.exceptions import InputError


@dataclass(frozen=True, slots=True)
class Threshold:
    """A similarity to accept from, and what it gave on the validation stream."""

    value: float
    precision: float
    recall: float


def threshold_for_precision(
    similarities: Float[np.ndarray, " n"], correct: Bool[np.ndarray, " n"], precision: float
) -> Threshold:
    """The lowest similarity from which a validation stream's candidates reach a precision.

    Recall here is over the correct candidates. A target the stream never reaches is refused: a threshold above
    everything ever seen would be an invention.
    """
    if not 0 < precision <= 1:
        raise ValueError(f"precision must be in (0, 1], got {precision}")
    if not len(similarities):
        raise InputError("no candidate on the validation stream; a threshold cannot be chosen from nothing")
    order = np.argsort(-similarities, kind="stable")
    hits = np.cumsum(correct[order])
    reached = hits / np.arange(1, len(order) + 1)
    # Equal similarities stand or fall together, so only the last of each run is a possible cut.
    ends = np.append(np.diff(similarities[order]) != 0, True)
    good = np.flatnonzero(ends & (reached >= precision))
    if not len(good):
        raise InputError(
            f"no threshold gives precision {precision:g} on the validation stream; the best is"
            f" {reached[ends].max():.3f}; ask for less, or map with a better descriptor"
        )
    cut = int(good[-1])
    return Threshold(float(similarities[order][cut]), float(reached[cut]), float(hits[cut] / max(int(hits[-1]), 1)))
