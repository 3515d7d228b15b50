"""From a run's estimates and recorded truth to errors.json."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder, file_digest, load_json, save_json
from tmapr.artifacts.trajectory import Column, EstimateTable, load_estimates
from tmapr.config import load_settings
from tmapr.evaluation.alignment import PlanarTransform
from tmapr.evaluation.encoding import load_recording
from tmapr.evaluation.errors import ErrorSummary, consistency, count_jumps, position_errors, reference_speed
from tmapr.evaluation.loops import correct_candidates, opportunities, score_loops
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.retrieval.memory import Memory
from tmapr.system import Map

Fit = Callable[[Float[np.ndarray, "n 2"], Float[np.ndarray, "n 2"]], PlanarTransform]
"""Brings a whole trajectory nearest to the truth."""


def assess(folder: RunFolder, fit: Fit | None = None) -> dict[str, Any]:
    """Evaluate every test sequence of a run and write errors.json; with a `fit`, after fitting each trajectory."""
    experiment = load_settings(Experiment, folder.experiment)
    if not folder.provenance.exists():
        raise InputError(f"{folder.path}: holds no finished run; make one with `tmapr run EXPERIMENT`")
    provenance = load_json(folder.provenance)
    if provenance["experiment_sha256"] != file_digest(folder.experiment):
        raise InputError(f"{folder.experiment}: has changed since its estimates were made; run `tmapr run` again")
    environment = Map.load(folder.map, experiment.system)
    if provenance["map"] != environment.digest:
        raise InputError(f"{folder.path}: its estimates were made with another map; run `tmapr run` again")
    tests = {}
    for name in experiment.data.test:
        table = load_estimates(folder.estimates(name))
        recording = load_recording(experiment, folder, name)
        if not np.array_equal(table.stamps, recording.stamps):
            raise InputError(f"{folder.estimates(name)}: its frames are not those of the percepts; run again")
        results = _sequence(table, recording, environment.memory, experiment.gating.min_similarity, fit)
        tests[name] = results | provenance["sequences"][name]
    errors = {
        "test": tests,
        "alignment": "planar" if fit else provenance["alignment"],
        "labels": provenance["labels"],
        "frame": asdict(environment.frame),
        "settings_sha256": provenance["settings_sha256"],
    }
    save_json(folder.errors, errors)
    return errors


def _sequence(
    table: EstimateTable, recording: Recording, memory: Memory, threshold: float, fit: Fit | None
) -> dict[str, Any]:
    known, truth = recording.known, recording.truth
    if not known.any():
        raise InputError(f"{recording.sequence}: no frame has a true position; nothing to compare with")
    everywhere = Column(table.positions, np.ones(len(known), dtype=bool))
    order = np.argsort(memory.frames)
    speed = reference_speed(memory.stamps[order], memory.positions[order])
    honesty = consistency(table.positions[known] - truth[known], table.covariances[known])
    return {
        "frames": len(known),
        "apr": _errors(table.apr_positions, recording, fit),
        "retrieval": _errors(table.reference_positions, recording),
        "fused": _errors(everywhere, recording, fit),
        "loops": _loops(table, recording, memory, threshold),
        "reasons": _counts(table.reasons),
        "status": _counts(table.statuses),
        "nees": asdict(honesty),
        "jumps": {
            "apr": _jumps(recording, table.apr_positions, speed),
            "fused": _jumps(recording, everywhere, speed),
        },
    }


def _errors(column: Column, recording: Recording, fit: Fit | None = None) -> dict[str, float] | None:
    both = column.known & recording.known
    if not both.any():
        return None
    estimated, truth = column.values[both], recording.truth[both]
    if fit:
        estimated = fit(estimated, truth)(estimated)
    return asdict(ErrorSummary.of(position_errors(estimated, truth)))


def _loops(table: EstimateTable, recording: Recording, memory: Memory, threshold: float) -> dict[str, Any]:
    known = recording.known
    truth: Float[np.ndarray, "n 2"] = recording.truth[known]
    found: Bool[np.ndarray, " n"] = table.similarities.known[known]
    correct = correct_candidates(table.reference_positions.values[known], truth)
    scores = score_loops(
        table.similarities.values[known],
        found=found,
        correct=correct,
        opportunity=opportunities(truth, memory.positions),
        threshold=threshold,
    )
    return asdict(scores)


def _jumps(recording: Recording, column: Column, speed: float) -> int | None:
    """Jumps of a track; a frame with an older stamp cannot have moved it, so time is taken not to run back."""
    if not column.known.any():
        return None
    stamps = np.maximum.accumulate(recording.stamps)[column.known]
    return count_jumps(stamps, column.values[column.known], speed)


def _counts(names: Sequence[str]) -> dict[str, int]:
    return {str(name): count for name, count in Counter(names).most_common()}
