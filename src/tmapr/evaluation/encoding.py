"""The percepts of an experiment's sequences: from their caches, or encoded now and cached."""

from functools import cached_property
from pathlib import Path

import numpy as np

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.data.folder import read_folder
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment
from tmapr.perception.opening import open_perceiver
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.settings import OWN
from tmapr.system import Watch


class Encoding:
    """Gives recordings by name. The perceiver is opened when a cache is missing, and not before."""

    def __init__(self, experiment: Experiment, folder: RunFolder, device: str = "auto", watch: Watch = iter) -> None:
        self._experiment = experiment
        self._folder = folder
        self._device = device
        self._watch = watch

    def recording(self, name: str) -> Recording:
        """A sequence's percepts, encoded first if they are not there and ours to make."""
        path = self._folder.percepts(name)
        if not path.exists() and self._experiment.perception.encoder != OWN:
            self._encode(name).save(path)
        return load_recording(self._experiment, self._folder, name)

    def _encode(self, name: str) -> Recording:
        sequence = open_data(self._experiment.data, name)
        percepts = self._perceiver.stream(sequence.frames)
        seen = tuple(next(percepts) for _ in self._watch(range(len(sequence))))
        nowhere = np.full(2, np.nan)
        truth = np.array([nowhere if frame.position is None else frame.position for frame in sequence.frames])
        known = ~np.isnan(truth).any(axis=1)
        return Recording(name, seen, truth, known, sequence.frame, self._experiment.perception.origin)

    @cached_property
    def _perceiver(self) -> Perceiver:
        return open_perceiver(self._experiment.perception, self._device)


def load_recording(experiment: Experiment, folder: RunFolder, name: str) -> Recording:
    """A sequence's percepts from their cache; one that other perception settings made is refused."""
    path = folder.percepts(name)
    if not path.exists():
        raise InputError(f"{path}: no percepts of {name!r}; write them with tmapr.artifacts.percepts.Recording.save")
    recording = Recording.load(path)
    experiment.perception.refuse_others(str(path), recording.origin)
    return recording


def open_data(data: Data, name: str) -> Sequence:
    """A sequence of the experiment's data set."""
    if data.layout != "folder":
        raise InputError(f'data.layout = "{data.layout}" cannot be read yet; convert it to the folder layout')
    return read_folder(Path(data.root), name)
