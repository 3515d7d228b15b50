"""Settings chosen on validation data: three searches, one after the other, each with an objective of its own.

    ranking   λ and the weights of the class terms: the best F1 that any threshold on the similarity reaches
    gates     that threshold, and the odds that a candidate is right: most likely, given which ones were
    filter    gate width and variances: the truth is least surprising under the belief

A search looks at a few values of each setting, the present one among them, and keeps it unless another is better.
Wrong candidates are what teaches the gates: a validation drive should leave the map for a while.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tmapr.artifacts.percepts import Recording
from tmapr.config import changed
from tmapr.evaluation.curves import best_decision, cuts, precision_recall
from tmapr.evaluation.loops import correct_candidates, opportunities
from tmapr.exceptions import InputError
from tmapr.localizer import Localizer
from tmapr.running.progressive import RecognisedDrive, adapt, recognise_drive
from tmapr.studies.odds import fit_odds, log_odds
from tmapr.studies.scoring import Evidence, Score, gather_evidence, score_drives
from tmapr.system import System, build, make_map
from tmapr.types import Watch

FEWEST = 20
"""Wrong candidates that are needed to learn the odds from."""

RIDGES = (1.0, 0.1, 0.01, 0.001)
CLASS_WEIGHTS = (0.0, 0.1, 0.3, 1.0)
LIKELIHOOD_WEIGHTS = (0.0, 0.1, 0.3)
FILTER: Mapping[str, tuple[object, ...]] = {
    "gating.apr": ("always", "familiar"),
    "gating.max_innovation": (20.0, 50.0, 150.0),
    "fusion.velocity_noise": (0.3, 1.0, 3.0, 10.0),
    "fusion.correction_variance": (0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    "fusion.apr_variance": (25.0, 100.0, 400.0, 2500.0, 10_000.0),
}
SEARCHED: Mapping[str, tuple[str, ...]] = {
    "places": ("ridge",),
    "retrieval": ("candidates", "class_weight", "likelihood_weight"),
    "gating": ("min_similarity", "odds", "apr", "max_innovation"),
    "fusion": ("noise", "velocity_noise", "correction_variance", "min_correction_variance", "apr_variance"),
}
"""What a calibration decides, by section; `candidates` and `noise` are kept, but give the others their meaning."""

_ROUNDS = 2
_CLEARLY = 0.02
"""Nats a frame by which another choice must be better: less is this drive's luck."""


@dataclass(frozen=True, slots=True)
class CalibrationData:
    """Recordings of one environment; the test is not among them."""

    references: tuple[Recording, ...]
    adaptation: tuple[Recording, ...]
    validation: tuple[Recording, ...]

    def localizer(self, system: System) -> Localizer:
        """Mapped and adapted with these settings."""
        localizer = build(system, make_map(system, *self.references))
        for recording in self.adaptation:
            adapt(localizer, recording, range(len(recording)))
        return localizer

    def drives(self, system: System) -> tuple[RecognisedDrive, ...]:
        """The validation, recognised with these settings."""
        localizer = self.localizer(system)
        return tuple(recognise_drive(localizer, recording) for recording in self.validation)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The settings found, and the validation with the old and with the new ones."""

    system: System
    before: Score
    after: Score


def calibrate(
    system: System, data: CalibrationData, watch: Watch = iter, tell: Callable[[str], None] = lambda _: None
) -> Calibration:
    """Search ranking, gates and filter in turn."""
    if not any(recording.known.any() for recording in data.validation):
        raise InputError("the validation sequences have no true positions; a calibration cannot tell right from wrong")
    before = score_drives(data.drives(system), system.gating, system.fusion)
    system = _search_ranking(system, data, watch, tell)
    drives = data.drives(system)
    system = _search_gates(system, gather_evidence(drives), tell)
    system = _search_filter(system, drives, watch, tell)
    return Calibration(system, before, score_drives(drives, system.gating, system.fusion))


def _search_ranking(system: System, data: CalibrationData, watch: Watch, tell: Callable[[str], None]) -> System:
    if system.retrieval.mode != "places":
        return system
    likelihoods = LIKELIHOOD_WEIGHTS if "mixture" in system.places.use else (system.retrieval.likelihood_weight,)
    weights = list(product(CLASS_WEIGHTS, likelihoods))
    ridges = list(dict.fromkeys((system.places.ridge, *RIDGES)))
    best, reached = system, -1.0
    for number in watch(range(len(ridges))):
        trial = changed(system, {"places.ridge": ridges[number]})
        for tried, f1 in _try_weights(trial, data, weights):
            if f1 > reached:
                best, reached = tried, f1
    tell(f"ranking: F1 {reached:.4f} at its best threshold, {len(ridges) * (len(weights) + 1)} choices tried")
    return best


def _try_weights(
    system: System, data: CalibrationData, weights: Sequence[tuple[float, float]]
) -> Iterator[tuple[System, float]]:
    """The best F1 with each choice of weights, the present one first; places are scored once."""
    localizer = data.localizer(system)
    memory, neighbourhood = localizer.memory, localizer.classifier.neighbourhood
    frames = [
        (percept.descriptor, localizer.classifier.predict(percept.descriptor), recording.truth[row])
        for recording in data.validation
        for row, percept in enumerate(recording.percepts)
        if recording.known[row] and not percept.fault
    ]
    truth = np.array([position for *_, position in frames])
    chances = opportunities(truth, memory.positions)
    now = (system.retrieval.class_weight, system.retrieval.likelihood_weight)
    for class_weight, likelihood_weight in dict.fromkeys((now, *weights)):
        chosen = {"retrieval.class_weight": class_weight, "retrieval.likelihood_weight": likelihood_weight}
        tried = changed(system, chosen)
        found = (tried.retrieval.search(memory, view, scores, neighbourhood, 1) for view, scores, _ in frames)
        first = [recognition.candidates[0] for recognition in found]
        curve = precision_recall(
            np.array([candidate.similarity for candidate in first]),
            found=np.ones(len(first), dtype=bool),
            correct=correct_candidates(np.array([candidate.position for candidate in first]), truth),
            opportunity=chances,
        )
        decision = best_decision(curve)
        yield tried, decision.f1 if decision else 0.0


def _search_gates(system: System, evidence: Evidence, tell: Callable[[str], None]) -> System:
    if system.retrieval.mode == "off":
        return system
    right, wrong = int(evidence.right.sum()), int((~evidence.right).sum())
    if not right:
        raise InputError("no candidate on the validation sequences is right; map them better before calibrating")
    system = changed(system, {"gating.min_similarity": _choose_threshold(evidence)})
    if wrong < FEWEST:
        tell(
            f"gates: only {wrong} wrong candidates, and odds need {FEWEST}; add a drive that leaves the map for a while"
        )
        return system
    odds = fit_odds(evidence)
    alone = log_odds(odds, evidence) >= system.gating.min_odds
    tell(
        f"gates: on their own {int((alone & evidence.right).sum())} of {right} right candidates are believed,"
        f" {int((alone & ~evidence.right).sum())} of {wrong} wrong ones"
    )
    return changed(system, {"gating.odds": odds})


def _choose_threshold(evidence: Evidence) -> float:
    """The similarity with the best F1 of loops, the highest of several."""
    thresholds, accepted, hits = cuts(evidence.similarity, evidence.right)
    return float(thresholds[np.argmax(hits / (accepted + evidence.opportunities))])


def _search_filter(
    system: System, drives: Sequence[RecognisedDrive], watch: Watch, tell: Callable[[str], None]
) -> System:
    """One setting after the other, twice: the surprise is smooth enough in each."""
    # From where honest gates make sense: a search from elsewhere stops at the first hill.
    best = changed(system, {"gating.apr": "familiar"})
    least = score_drives(drives, best.gating, best.fusion).surprise
    steps = [(key, value) for _ in range(_ROUNDS) for key, values in FILTER.items() for value in values]
    for number in watch(range(len(steps))):
        key, value = steps[number]
        trial = changed(best, {key: value})
        if key == "fusion.correction_variance":
            # A floor above it would hide it, and a confidence never exceeds 1.
            trial = changed(trial, {"fusion.min_correction_variance": value})
        if trial == best:
            continue
        surprise = score_drives(drives, trial.gating, trial.fusion).surprise
        if surprise < least - _CLEARLY:
            best, least = trial, surprise
    tell(f"filter: surprise {least:.3f} nats a frame, {len(steps)} choices tried")
    return best
