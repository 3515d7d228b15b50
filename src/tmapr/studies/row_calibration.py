"""What a row of an ablation decides by, chosen for that row alone on validation sequences.

A similarity that separates right candidates from wrong ones with one subset of U, G and H need not do so with another:
rows that share a threshold compare thresholds. And G beside a weight of 0 is no row of G.
"""

from tmapr.config import changed
from tmapr.retrieval.search import Retrieval
from tmapr.studies.calibration import LIKELIHOOD_WEIGHTS, CalibrationData, choose_threshold, try_weights
from tmapr.studies.scoring import gather_evidence
from tmapr.system import System


def calibrate_row(system: System, data: CalibrationData) -> System:
    """The row's settings with the threshold of its best F1 and, with G, the weight of the likelihoods that has it."""
    if system.retrieval.mode == "off":
        return system
    system = keep_likelihoods(system)
    if _weighs_likelihoods(system):
        positive = [weight for weight in LIKELIHOOD_WEIGHTS if weight]
        choices = [(system.retrieval.class_weight, weight) for weight in positive]
        system, _ = max(try_weights(system, data, choices), key=lambda tried: tried[1])
    evidence = gather_evidence(data.drives(system))
    if not evidence.right.any():  # nothing to choose by
        return system
    threshold, _ = choose_threshold(evidence)
    return changed(system, {"tracking.gates.min_similarity": threshold})


def keep_likelihoods(system: System) -> System:
    """With G, whatever a calibration of everything together found, its likelihoods have some weight."""
    if system.retrieval.likelihood_weight or not _weighs_likelihoods(system):
        return system
    return changed(system, {"retrieval.likelihood_weight": Retrieval().likelihood_weight})


def _weighs_likelihoods(system: System) -> bool:
    return "mixture" in system.places.use and system.retrieval.mode == "places"
