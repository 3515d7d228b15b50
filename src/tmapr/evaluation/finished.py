"""A finished run read back: what it said of every test frame, beside what was true.

A run whose experiment, map or percepts changed after its estimates were made is refused.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder, file_digest, load_json
from tmapr.artifacts.trajectory import Column, EstimateTable, load_estimates
from tmapr.config import load_settings
from tmapr.evaluation.encoding import load_recording
from tmapr.evaluation.errors import reference_speed
from tmapr.evaluation.loops import correct_candidates, opportunities
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.retrieval.memory import Memory
from tmapr.system import Map


@dataclass(frozen=True, slots=True)
class Queries:
    """The frames with a true position as queries for loops, see `loops`."""

    similarity: Float[np.ndarray, " n"]
    found: Bool[np.ndarray, " n"]
    correct: Bool[np.ndarray, " n"]
    opportunity: Bool[np.ndarray, " n"]

    def accepted(self, threshold: float) -> Bool[np.ndarray, " n"]:
        """Whether each query's candidate reaches the threshold."""
        return self.found & (self.similarity >= threshold)


@dataclass(frozen=True, slots=True)
class Trial:
    """One test sequence, a row per frame: the estimates, and the percepts and truth they were made from."""

    table: EstimateTable
    recording: Recording

    @property
    def fused(self) -> Column:
        """The filter's positions: every frame has one."""
        return Column(self.table.positions, np.ones(len(self.recording), dtype=bool))

    def queries(self, memory: Memory) -> Queries:
        """What the first candidates are worth."""
        known = self.recording.known
        truth: Float[np.ndarray, "n 2"] = self.recording.truth[known]
        return Queries(
            similarity=self.table.similarities.values[known],
            found=self.table.similarities.known[known],
            correct=correct_candidates(self.table.reference_positions.values[known], truth),
            opportunity=opportunities(truth, memory.positions),
        )


def mapped_speed(memory: Memory) -> float:
    """The speed of the traverse that was mapped, whose frames the memory keeps sorted by place."""
    order = np.argsort(memory.frames)
    return reference_speed(memory.stamps[order], memory.positions[order])


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run's settings, how its estimates came about, and its map."""

    folder: RunFolder
    experiment: Experiment
    provenance: dict[str, Any]
    environment: Map

    @classmethod
    def load(cls, folder: RunFolder) -> "FinishedRun":
        """Read a run folder."""
        experiment = load_settings(Experiment, folder.experiment)
        if not folder.provenance.exists():
            raise InputError(f"{folder.path}: holds no finished run; make one with `tmapr run EXPERIMENT`")
        provenance = load_json(folder.provenance)
        if provenance["experiment_sha256"] != file_digest(folder.experiment):
            raise InputError(f"{folder.experiment}: has changed since its estimates were made; run `tmapr run` again")
        environment = Map.load(folder.map, experiment.system)
        if provenance["map"] != environment.digest:
            raise InputError(f"{folder.path}: its estimates were made with another map; run `tmapr run` again")
        return cls(folder, experiment, provenance, environment)

    def trial(self, name: str) -> Trial:
        """One of its test sequences; without any true position it is refused."""
        table = load_estimates(self.folder.estimates(name))
        recording = load_recording(self.experiment, self.folder, name)
        if not np.array_equal(table.stamps, recording.stamps):
            raise InputError(f"{self.folder.estimates(name)}: its frames are not those of the percepts; run again")
        if not recording.known.any():
            raise InputError(f"{recording.sequence}: no frame has a true position; nothing to compare with")
        return Trial(table, recording)
