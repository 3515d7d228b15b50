"""A finished run read back: its settings, its map, and what it said of every scored frame beside what was true.

A run whose experiment, map or percepts changed after its estimates were made is refused.
"""

from dataclasses import dataclass, field

import numpy as np

from tmapr.artifacts.beliefs import RouteBeliefs, load_beliefs
from tmapr.artifacts.candidates import RankedReferences
from tmapr.artifacts.documents.runs import Provenance
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.results import name_published, read_whole
from tmapr.artifacts.run import RunFolder, file_digest
from tmapr.artifacts.trajectory import load_estimates
from tmapr.evaluation.trial import Trial
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, read_experiment
from tmapr.running.current import load_current
from tmapr.system import Map


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run's settings, how its estimates came about, and its map; `remarks` are lines on what was read so far."""

    folder: RunFolder
    experiment: Experiment
    provenance: Provenance
    environment: Map
    published: str
    remarks: list[str] = field(default_factory=list, repr=False, compare=False)
    _trials: dict[str, Trial] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def load(cls, folder: RunFolder) -> "FinishedRun":
        """Read a run folder."""
        return read_whole(folder, lambda: cls._load(folder))

    @classmethod
    def _load(cls, folder: RunFolder) -> "FinishedRun":
        require_run(folder)
        remarks = list[str]()
        experiment = read_experiment(folder.experiment, tell=remarks.append)
        if not folder.provenance.exists():
            raise InputError(f"{folder.path}: holds no finished run; make one with `tmapr run EXPERIMENT`")
        provenance = Provenance.load(folder.provenance, f"tmapr run {folder.experiment}")
        if provenance.experiment_sha256 != file_digest(folder.experiment):
            raise InputError(f"{folder.experiment}: has changed since its estimates were made; run `tmapr run` again")
        for name in set(experiment.data.scored) - set(provenance.sequences):
            raise InputError(f"{folder.provenance}: knows nothing of {name!r}; run `tmapr run` again")
        environment = Map.load(folder.map, experiment.system, experiment.data.references)
        if provenance.map != environment.digest:
            raise InputError(f"{folder.path}: its estimates were made with another map; run `tmapr run` again")
        run = cls(folder, experiment, provenance, environment, name_published(folder), remarks)
        # How streamed sequences did when they were asked again was found with the truth of then, too.
        data = experiment.data
        for name in dict.fromkeys((*data.references, *data.adapt, *data.stream)):
            if folder.percepts(name).exists():
                run._refuse_changed(name, run._load_recording(name), learned=True)
        return run

    def trial(self, name: str) -> Trial:
        """One of the sequences that it scored, beside what was true; without any true position it is refused."""
        trial = self.sequence(name)
        if not trial.recording.known.any():
            raise InputError(f"{trial.recording.sequence}: no frame has a true position; nothing to compare with")
        return trial

    @property
    def compared(self) -> list[str]:
        """The sequences that it scored and of which some true positions are known."""
        return [name for name in self.experiment.data.scored if self.sequence(name).recording.known.any()]

    def sequence(self, name: str) -> Trial:
        """One of the sequences that it scored, read once, whether or not anybody knows where it was recorded."""
        if name not in self._trials:
            self._trials[name] = self._load_trial(name)
            self._refuse_rewritten()
        return self._trials[name]

    def load_candidates(self, name: str) -> RankedReferences:
        """What the frames of a sequence that it scored look most like."""
        frames, references = len(self.sequence(name).recording), len(self.environment.memory)
        path, digest = self.folder.candidates(name), self.environment.digest
        ranked = RankedReferences.load(path, digest, references, frames)
        self._refuse_rewritten()
        return ranked

    def _refuse_rewritten(self) -> None:
        if name_published(self.folder) != self.published:
            raise InputError(f"{self.folder.path}: was written while it was read; read it again")

    def _load_trial(self, name: str) -> Trial:
        path = self.folder.estimates(name)
        table = load_estimates(path)
        recording = self._load_recording(name)
        if not np.array_equal(table.stamps, recording.stamps):
            raise InputError(f"{path}: its frames are not those of the percepts; run again")
        system = self.experiment.system
        self._refuse_changed(
            name, recording, learned=system.labels.mode == "truth" or self.experiment.align_apr == "oracle"
        )
        threshold = system.tracking.gates.min_similarity
        return Trial(table, recording, self.environment.memory, threshold, self._load_beliefs(name, len(table.stamps)))

    def _load_recording(self, name: str) -> Recording:
        return load_current(self.experiment, self.folder, name, self.environment.frame, self.remarks.append)

    def _refuse_changed(self, name: str, recording: Recording, *, learned: bool) -> None:
        """Refuse a sequence that the estimates no longer follow from; its true positions only if they were learned."""
        made_from, now = self.provenance.made_from.get(name), recording.marks
        if made_from is None:
            raise InputError(f"{self.folder.provenance}: does not say what {name} was made from; run `tmapr run` again")
        if made_from.percepts != now.percepts or (learned and made_from.truth != now.truth):
            what = "percepts" if made_from.percepts != now.percepts else "positions"
            raise InputError(f"{name}: its {what} have changed since the estimates were made; run `tmapr run` again")

    def _load_beliefs(self, name: str, frames: int) -> RouteBeliefs | None:
        """None for a run with the paper's method."""
        path = self.folder.beliefs(name)
        if not path.exists():
            return None
        beliefs = load_beliefs(path, self.environment.digest, len(self.environment.memory))
        if len(beliefs) != frames:
            raise InputError(f"{path}: has {len(beliefs)} frames, the estimates have {frames}; run again")
        return beliefs


def require_run(folder: RunFolder) -> None:
    """Refuse what is no run folder at all."""
    if not folder.path.is_dir():
        raise InputError(f"{folder.path}: no such run folder; make one with `tmapr run EXPERIMENT`")
    if not folder.experiment.exists():
        raise InputError(f"{folder.path}: holds no experiment.toml; is it a run folder, as `tmapr run` makes them?")
