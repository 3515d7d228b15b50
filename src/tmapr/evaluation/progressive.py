"""Stream a recording through a localizer: observe, then learn what is due, frame by frame."""

from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.percepts import Recording
from tmapr.localizer import Localizer
from tmapr.types import Estimate


@dataclass(frozen=True, slots=True)
class Progress:
    """One estimate per frame; whether A_t was updated after it; and what both cost in seconds."""

    estimates: tuple[Estimate, ...]
    learned: Bool[np.ndarray, " frames"]
    step_seconds: Float[np.ndarray, " frames"]
    update_seconds: Float[np.ndarray, " updates"]


def localize(localizer: Localizer, recording: Recording, rows: Iterable[int]) -> Progress:
    """Observe the given frames in turn; labels come as the localizer's settings say."""
    estimates, learned, steps, updates = [], [], [], []
    for row in rows:
        truth = recording.truth[row] if recording.known[row] else None
        began = perf_counter()
        estimate = localizer.observe(recording.percepts[row])
        observed = perf_counter()
        lessons = localizer.teach(estimate, truth)
        taught = perf_counter()
        estimates.append(estimate)
        learned.append(bool(lessons))
        steps.append(observed - began)
        if lessons:
            updates.append(taught - observed)
    return Progress(tuple(estimates), np.array(learned, dtype=bool), np.array(steps), np.array(updates))


def adapt(localizer: Localizer, recording: Recording, rows: Iterable[int]) -> int:
    """Learn the given frames with their true positions; the estimate stays where it is. Returns how many."""
    count = 0
    for row in rows:
        if recording.known[row] and not recording.percepts[row].fault:
            localizer.learn(recording.percepts[row], recording.truth[row])
            count += 1
    return count
