"""What `map`, `run` and `evaluate` will make of a sequence, said beforehand by the functions that they use.

An image that was not read may still turn out to be a fault, so what follows from such images is said as a bound.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.clock import list_late
from tmapr.data.examination import Examination
from tmapr.data.fitting import refuse_elsewhere
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, is_data_there
from tmapr.perception.settings import OWN
from tmapr.running.encoding import Encoding, describe_absence, load_recording
from tmapr.running.faults import describe_faults
from tmapr.running.renewal import Attempt
from tmapr.system import Map
from tmapr.traverses import list_mapped
from tmapr.types import CoordinateFrame, Fault

SCORED = ("stream", "test")


@dataclass(frozen=True, slots=True)
class Outlook:
    """A sequence as the verbs will find it; `faults` has the frames whose image is known, by row."""

    name: str
    frame: CoordinateFrame
    placed: Bool[np.ndarray, " frames"]
    late: Bool[np.ndarray, " frames"]
    faults: Mapping[int, Fault | None]
    read: int
    """Images whose pixels were read, if not all are known."""
    encoded: int = 0
    """Images that have to be, before anything else."""

    @classmethod
    def of(cls, sequence: Sequence, found: Examination) -> "Outlook":
        """From what was found in a recording."""
        return cls(sequence.name, sequence.frame, found.placed, found.late, found.faults, found.read, found.frames)

    @classmethod
    def kept(cls, recording: Recording, name: str) -> "Outlook":
        """From percepts that are used as they are."""
        late = list_late(recording.stamps)
        faults = {row: percept.fault for row, percept in enumerate(recording.percepts)}
        return cls(name, recording.frame, recording.known, late, faults, len(faults))

    @property
    def faulty(self) -> list[Fault]:
        """What is known to be wrong with images."""
        return [fault for fault in self.faults.values() if fault]

    @property
    def known(self) -> bool:
        """Whether every image is."""
        return len(self.faults) == len(self.placed)

    @property
    def usable(self) -> Bool[np.ndarray, " frames"]:
        """Which images are not known to be faults."""
        usable = np.ones(len(self.placed), bool)
        usable[[row for row, fault in self.faults.items() if fault]] = False
        return usable

    def describe_mapping(self) -> str:
        """What becomes of it as a reference."""
        count, total = int((self.placed & self.usable).sum()), len(self.placed)
        return f"{self._bound('at most ')}{count} of {total} frames become references{self._list_lost()}"

    def describe_lessons(self) -> str:
        """What becomes of it where true positions are learned."""
        count, total = int((self.placed & self.usable).sum()), len(self.placed)
        return f"{self._bound('at most ')}{count} of {total} frames are learned from{self._list_lost()}"

    def describe_localizing(self) -> str:
        """What becomes of it as a drive to localize."""
        told = f"{len(self.placed)} frames are answered"
        if self.faulty:
            named = f"({describe_faults(self.faulty)})"
            told += f", {self._bound('at least ')}{len(self.faulty)} of them passed over as faults {named}"
        elif not self.known:
            told += ", none passed over as a fault"
        late = int(self.late.sum())
        return f"{told}{self._sample()}{f'; {late} with an older or repeated stamp move nothing' if late else ''}"

    def describe_evaluating(self) -> str:
        """What it can be compared with."""
        located = int(self.placed.sum())
        if not located:
            return "no frame has a position: it can be localized and reported, not evaluated"
        return f"{located} of {len(self.placed)} frames have a true position to compare with"

    def _list_lost(self) -> str:
        missing = int((~self.placed).sum())
        lost = [f"{missing} without a position"] if missing else []
        if self.faulty:
            lost.append(f"{len(self.faulty)} whose image cannot be used ({describe_faults(self.faulty)})")
        return f"; not: {', '.join(lost)}{self._sample()}" if lost else self._sample()

    def _bound(self, words: str) -> str:
        return "" if self.known else words

    def _sample(self) -> str:
        return "" if self.known else f", of {self.read} images read"


class Forecaster:
    """Of an experiment with the run folder that it has, or will have; nothing is written."""

    def __init__(self, experiment: Experiment, folder: RunFolder) -> None:
        self._experiment = experiment
        self._folder = folder
        self._encoding = Encoding(experiment, folder, "auto")

    def open(self, name: str) -> Sequence | Recording:
        """The recording as it is now; where the verbs would use nothing but what is kept of it, that."""
        path = self._folder.percepts(name)
        own = self._experiment.perception.encoder == OWN
        if own or (path.exists() and not is_data_there(self._experiment.data, name)):
            return load_recording(self._experiment, path, name)
        return self._encoding.open(name)

    def look(self, sequence: Sequence, found: Examination) -> Outlook:
        """What the verbs will find; of an image that is encoded, what was found then."""
        outlook = Outlook.of(sequence, found)
        if not self._encoding.is_begun(sequence.name):
            return outlook
        attempt = self._encoding.plan(sequence.name, sequence)
        faults = dict(outlook.faults) | self._list_kept_faults(attempt, sequence)
        return replace(outlook, faults=faults, encoded=attempt.renewal.encoded if attempt else 0)

    def describe_kept(self, outlook: Outlook) -> str:
        """What is encoded already, and what will be."""
        total = len(outlook.placed)
        if outlook.encoded == total:
            return f"nothing of it in {self._folder.path}; {total} images will be encoded"
        left = f"; {outlook.encoded} will be encoded" if outlook.encoded else ""
        return f"{total - outlook.encoded} of {total} images are encoded in {self._folder.path}{left}"

    def describe_absence(self, name: str) -> str:
        """In the words of the verbs: what is used in place of a recording that is not here."""
        path = self._folder.percepts(name)
        if self._experiment.perception.encoder == OWN:
            return f"{name}: the percepts in {path} are a program's own, and used as they are"
        return describe_absence(self._experiment.data, name, path)

    def find_stops(self, outlook: Outlook, roles: tuple[str, ...]) -> Iterator[str]:
        """What `map` or `run` would refuse of a sequence that can be encoded, in their words."""
        if not outlook.usable.any():
            return
        try:
            if "reference" in roles:
                list_mapped(outlook.name, outlook.placed, ~outlook.usable)
            if self._encoding.frame and {"reference", "adapt", *SCORED} & set(roles):
                refuse_elsewhere(outlook.name, outlook.frame, bool(outlook.placed.any()), self._encoding.frame)
        except InputError as error:
            yield str(error)

    def find_general_stops(self, encoded: bool) -> Iterator[str]:
        """What would be refused of the experiment as a whole, once an image has to be `encoded`."""
        try:
            if encoded:
                self._encoding.perceiver  # noqa: B018 (refused as an encoding refuses it)
        except InputError as error:
            yield str(error)

    def describe_map(self) -> str:
        """The map that there is."""
        if not self._folder.map.exists():
            return f"{self._folder.map}: not there yet; `tmapr map` makes it"
        try:
            found = Map.load(self._folder.map, self._experiment.system, self._experiment.data.references)
        except InputError as error:
            return f"{error}; `tmapr run` refuses it until `tmapr map` has made it again"
        return f"{self._folder.map}: {len(found.memory)} references in {found.memory.place_count} places"

    def describe_training(self) -> str:
        """The pose head that the verbs will use."""
        named = self._experiment.with_head(self._folder).perception.apr
        if named:
            return f"the pose head in {named}"
        if not self._experiment.data.train:
            return "no pose head, and data.train names no sequence for one; a map works without"
        return "no pose head yet; `tmapr train` makes one, and a map works without"

    def _list_kept_faults(self, attempt: Attempt | None, sequence: Sequence) -> dict[int, Fault | None]:
        """Of the images that need not be encoded: what was found when they were."""
        source = attempt.source if attempt else self._folder.percepts(sequence.name)
        if source is None:
            return {}
        percepts = Recording.load(Path(source)).percepts
        rows = attempt.renewal.rows.tolist() if attempt else range(len(sequence))
        return {place: percepts[row].fault for place, row in enumerate(rows) if row >= 0}
