"""Settings chosen on validation data: searches, one after the other, each with an objective of its own.

    ranking   λ and the weights of the class terms: the best F1 that any threshold on the similarity reaches
    gates     that threshold
    filter    noise, gate width and variances: the truth is least surprising under the belief

The route filter has no gates, weighs matches and poses itself, and leaves only the noise of the motion to the search.
A search looks at a few values of each setting, the present one among them. What it finds is taken only if the
validation is not worse with it, neither than before the search nor than before the calibration: in the RMSE, in the
frames that are `localized` and wrong, in how far the 95 % ellipse is from holding 95 %. A better F1 alone proves
nothing of that.
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
from tmapr.fusion.capf import Fusion
from tmapr.localizer import Localizer
from tmapr.reference import Reference
from tmapr.running.progressive import RecognisedDrive, adapt, recognise_drive
from tmapr.studies.scoring import Evidence, Outcome, Score, gather_evidence, score_drives
from tmapr.system import System, build, make_map
from tmapr.tracking import Gates
from tmapr.types import Watch

RIDGES = (1.0, 0.1, 0.01, 0.001)
CLASS_WEIGHTS = (0.0, 0.1, 0.3, 1.0)
LIKELIHOOD_WEIGHTS = (0.0, 0.1, 0.3)
NOISES = (0.3, 1.0, 3.0, 10.0)
INNOVATIONS = (1.0, 2.5, 7.5)
"""Multiples of what the reference says."""
CORRECTION_VARIANCES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
APR_VARIANCES = (25.0, 100.0, 400.0, 2500.0, 10_000.0)
_RANKING = {"places": ("ridge",), "retrieval": ("candidates", "class_weight", "likelihood_weight")}
_GATES = {"tracking.gates": ("min_similarity", "max_innovation")}

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
class Tried:
    """Settings, the validation recognised with them, and how they do on it."""

    system: System
    drives: tuple[RecognisedDrive, ...]
    score: Score

    def with_settings(self, found: System, data: CalibrationData) -> "Tried":
        """The same validation with other settings; recognised again only if these change what is recognised."""
        same = (found.places, found.retrieval) == (self.system.places, self.system.retrieval)
        return _try(found, self.drives if same else data.drives(found))


@dataclass(frozen=True, slots=True)
class Finding:
    """What a search prefers, and by what its own objective says so."""

    system: System
    reached: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """The settings found, and the validation with the old and with the new ones."""

    system: System
    before: Score
    after: Score


def calibrate(
    system: System, data: CalibrationData, watch: Watch = iter, tell: Callable[[str], None] = lambda _: None
) -> Calibration:
    """Search ranking, gates and filter in turn; what makes the validation worse is not taken."""
    if not any(recording.known.any() for recording in data.validation):
        raise InputError("the validation sequences have no true positions; a calibration cannot tell right from wrong")
    before = now = _try(system, data.drives(system))
    searches: Mapping[str, Callable[[Tried], Finding | None]] = {
        "ranking": lambda now: _search_ranking(now, data, watch),
        "gates": _search_gates,
        "filter": lambda now: _search_filter(now, watch),
    }
    for name, search in searches.items():
        found = search(now)
        if found is None:
            continue
        trial = now.with_settings(found.system, data)
        taken = trial.system != now.system and is_taken(trial.score.outcome, now.score.outcome, before.score.outcome)
        change = _describe_change(now.score.outcome, trial.score.outcome)
        tell(f"{name}: {'taken' if taken else 'kept'}, {found.reached}: {change}")
        now = trial if taken else now
    return Calibration(now.system, before.score, now.score)


def list_searched(system: System) -> Mapping[str, tuple[str, ...]]:
    """What a calibration decides, by section; `candidates` and `noise` are kept, but give the others their meaning."""
    if system.tracking.method != "paper":
        return _RANKING | {"fusion": ("noise", "velocity_noise", "apr_variance")}
    variances = ("correction_variance", "min_correction_variance", "apr_variance")
    return _RANKING | _GATES | {"fusion": ("noise", "velocity_noise", *variances)}


def list_choices(system: System, reference: Reference) -> Mapping[str, tuple[float, ...]]:
    """What the search of the filter tries: only what acts with the system's tracking method."""
    noise = Fusion().fit(reference).velocity_noise
    choices = {"fusion.velocity_noise": tuple(factor * noise for factor in NOISES)}
    poses = {"fusion.apr_variance": APR_VARIANCES}
    if system.tracking.method != "paper":
        return choices | poses if system.retrieval.mode == "off" else choices
    width = Gates().fit(reference).max_innovation
    gates = {"tracking.gates.max_innovation": tuple(factor * width for factor in INNOVATIONS)}
    return gates | choices | {"fusion.correction_variance": CORRECTION_VARIANCES} | poses


def is_taken(found: Outcome, now: Outcome, start: Outcome) -> bool:
    """Whether a search's finding is no worse than what it started from, and than what the calibration did."""
    return not found.is_worse_than(now) and not found.is_worse_than(start)


def _try(system: System, drives: tuple[RecognisedDrive, ...]) -> Tried:
    return Tried(system, drives, score_drives(drives, system))


def _describe_change(now: Outcome, then: Outcome) -> str:
    return (
        f"RMSE {now.rmse:.2f} → {then.rmse:.2f} m, {now.wrong} → {then.wrong} frames localized and wrong,"
        f" {100 * now.coverage95:.1f} → {100 * then.coverage95:.1f} % in the 95 % ellipse"
    )


def _search_ranking(now: Tried, data: CalibrationData, watch: Watch) -> Finding | None:
    system = now.system
    if system.retrieval.mode != "places":
        return None
    likelihoods = LIKELIHOOD_WEIGHTS if "mixture" in system.places.use else (system.retrieval.likelihood_weight,)
    weights = list(product(CLASS_WEIGHTS, likelihoods))
    ridges = list(dict.fromkeys((system.places.ridge, *RIDGES)))
    best, reached = system, -1.0
    for number in watch(range(len(ridges))):
        trial = changed(system, {"places.ridge": ridges[number]})
        for tried, f1 in try_weights(trial, data, weights):
            if f1 > reached:
                best, reached = tried, f1
    return Finding(best, f"F1 {reached:.4f} at its best threshold, of {len(ridges) * (len(weights) + 1)} choices")


def try_weights(
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


def _search_gates(now: Tried) -> Finding | None:
    if now.system.retrieval.mode == "off" or now.system.tracking.method != "paper":
        return None
    evidence = gather_evidence(now.drives)
    if not evidence.right.any():
        raise InputError("no candidate on the validation sequences is right; map them better before calibrating")
    threshold, f1 = choose_threshold(evidence)
    return Finding(
        changed(now.system, {"tracking.gates.min_similarity": threshold}), f"F1 {f1:.4f} from {threshold:.3f} on"
    )


def choose_threshold(evidence: Evidence) -> tuple[float, float]:
    """The similarity with the best F1 of loops, the highest of several; and that F1."""
    thresholds, accepted, hits = cuts(evidence.similarity, evidence.right)
    f1 = 2 * hits / (accepted + evidence.opportunities)
    best = int(np.argmax(f1))
    return float(thresholds[best]), float(f1[best])


def _search_filter(now: Tried, watch: Watch) -> Finding:
    """One setting after the other, twice: the surprise is smooth enough in each."""
    here, least = now.system, now.score.surprise
    # The way to the least surprise may lead through worse settings and end in some; the best that are not are kept.
    best, lowest = here, least
    choices = list_choices(here, now.drives[0].memory.reference)
    steps = [(key, value) for _ in range(_ROUNDS) for key, values in choices.items() for value in values]
    for number in watch(range(len(steps))):
        key, value = steps[number]
        tried = changed(here, {key: value})
        if key == "fusion.correction_variance":
            # A floor above it would hide it, and a confidence never exceeds 1.
            tried = changed(tried, {"fusion.min_correction_variance": value})
        if tried == here:
            continue
        score = score_drives(now.drives, tried)
        if score.surprise < lowest - _CLEARLY and not score.outcome.is_worse_than(now.score.outcome):
            best, lowest = tried, score.surprise
        if score.surprise < least - _CLEARLY:
            here, least = tried, score.surprise
    return Finding(best, f"surprise {lowest:.3f} nats a frame, of {len(steps)} choices")
