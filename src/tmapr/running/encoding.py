"""The percepts of an experiment's sequences: from their caches, or encoded now and cached."""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.data.health import Detector
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, open_data
from tmapr.perception.opening import open_perceiver
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.settings import OWN
from tmapr.types import CoordinateFrame, Fault, Frame, Watch


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
        data = self._experiment.data
        sequence = open_data(data, name, None if name in data.references[:1] else self._frame)
        truth, headings = np.full((len(sequence), 2), np.nan), np.full(len(sequence), np.nan)

        def note_truth() -> Iterator[Frame]:
            for row, frame in enumerate(sequence):
                truth[row] = np.nan if frame.position is None else frame.position
                headings[row] = np.nan if frame.heading is None else frame.heading
                yield frame

        percepts = self._perceiver.with_inspection(Detector().inspect).stream(note_truth())
        seen = tuple(next(percepts) for _ in self._watch(range(len(sequence))))
        if all(percept.fault for percept in seen):
            _refuse(sequence, [percept.fault for percept in seen if percept.fault])
        known = ~np.isnan(truth).any(axis=1)
        return Recording(name, seen, truth, known, sequence.frame, self._experiment.perception.origin, headings)

    @cached_property
    def _frame(self) -> CoordinateFrame | None:
        """What the map's positions are relative to, those of its first traverse: all others are placed there too."""
        data = self._experiment.data
        if not data.references:
            return None
        path = self._folder.percepts(data.references[0])
        return (Recording.load(path) if path.exists() else open_data(data, data.references[0])).frame

    @cached_property
    def _perceiver(self) -> Perceiver:
        return open_perceiver(self._experiment.perception, self._device)


def _refuse(sequence: Sequence, faults: list[Fault]) -> None:
    """Say why no image can be used: the first one's own refusal if it has one."""
    next(iter(sequence)).image()
    counts = ", ".join(f"{count} {fault}" for fault, count in Counter(faults).items())
    raise InputError(f"{sequence.name}: none of its images can be used ({counts}); look with `tmapr check`")


def load_recording(experiment: Experiment, folder: RunFolder, name: str) -> Recording:
    """A sequence's percepts from their cache; one that other perception settings made is refused."""
    path = folder.percepts(name)
    if not path.exists():
        raise InputError(f"{path}: no percepts of {name!r}; write them with tmapr.artifacts.percepts.Recording.save")
    recording = Recording.load(path)
    experiment.perception.refuse_others(str(path), recording.origin)
    return recording
