"""The percepts of an experiment's sequences: from their caches, or encoded where they are missing or have changed."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.results import renewing, share_file
from tmapr.artifacts.run import SO_FAR, RunFolder
from tmapr.artifacts.sources import Trust
from tmapr.data.drives import locate
from tmapr.data.sequence import Sequence
from tmapr.data.survey import survey
from tmapr.device import choose_precision, open_backend, open_perceiver
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment, find_home, is_data_there, open_data
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.settings import OWN
from tmapr.running.assembly import Assembly, stream_new
from tmapr.running.faults import refuse_unusable
from tmapr.running.keypoints import KeypointCache, attach_keypoints
from tmapr.running.renewal import Attempt, Renewal, compare, is_unchanged_whole, renew_all
from tmapr.stages import Backend
from tmapr.types import CoordinateFrame, Watch

_SAVED_EVERY = 2000
"""Frames after which what is encoded so far is kept, so that an interrupted encoding goes on."""
_log = logging.getLogger("tmapr")


class Encoding:
    """Gives recordings by name, each as its images and positions are now; the perceiver is opened when it is needed.

    `trust` says what of a cache is believed; what changed since is told in one line.
    """

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        device: str = "auto",
        watch: Watch = iter,
        *,
        trust: Trust = "stamps",
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._experiment = experiment
        self._folder = folder
        self._device = device
        self._watch = watch
        self._trust: Trust = trust
        self._checked = set[str]()
        self._made: dict[str, Path] = {}
        self._keypoints = KeypointCache(experiment, folder, watch, trust)
        self.tell = tell

    def recording(self, name: str) -> Recording:
        """A sequence's percepts. A program's own, and those of a recording that is not on this machine, are as kept."""
        path, data = self._folder.percepts(name), self._experiment.data
        absent = False
        if self._experiment.perception.encoder != OWN and name not in self._checked:
            believed, there = self._trust == "everything", is_data_there(data, name)
            if not path.exists() or (there and not believed):
                with self._noting():
                    self._renew(name, path)
                    self._keypoints.renew(name, self._load(name))
            absent = not there and not believed
            self._checked.add(name)
        recording = self._load(name)
        if absent:  # told once the percepts are known to be good for something
            self.tell(describe_absence(data, name, path))
        return recording

    def _load(self, name: str) -> Recording:
        path = self._made.get(name, self._folder.percepts(name))
        return load_recording(self._experiment, path, name, self._keypoints.locate(name))

    def lacks(self, name: str) -> bool:
        """Whether a recording that is on this machine has to be encoded from its first image to its last."""
        if self._experiment.perception.encoder == OWN or not is_data_there(self._experiment.data, name):
            return False
        return self._find_usable(self._folder.percepts(name)) is None

    def adopt(self, name: str, percepts: Path, keypoints: Path | None) -> None:
        """Take files that somebody has made of a sequence as it is now, to be published as if they were made here."""
        self._made[name] = percepts
        if keypoints:
            self._keypoints.adopt(name, keypoints)
        self._checked.add(name)

    @contextmanager
    def publishing(self, folder: RunFolder) -> Iterator[RunFolder]:
        """The results of a run folder, to be changed, and with them the percepts that were made since."""
        with self._noting(), renewing(folder) as staged:
            for name, made in self._made.items():
                share_file(made, staged.percepts(name))
            self._keypoints.share(staged)
            yield staged
        for made in self._made.values():
            made.unlink(missing_ok=True)
        self._made.clear()
        self._keypoints.forget()

    def publish(self) -> None:
        """Nothing but the percepts that were made since."""
        if self._made or self._keypoints:
            with self.publishing(self._folder):
                pass

    def open(self, name: str) -> Sequence:
        """A sequence as it is now, placed in the map's frame."""
        data = self._experiment.data
        refuse_absent(data, name)
        return open_data(data, name, None if name in data.references[:1] else self.frame)

    def is_begun(self, name: str) -> bool:
        """Whether anything is kept of a sequence."""
        path = self._folder.percepts(name)
        return path.exists() or _name_so_far(path).exists()

    def plan(self, name: str, sequence: Sequence) -> Attempt | None:
        """What can be kept of a sequence's percepts; None where it is a whole that has not changed."""
        path = self._folder.percepts(name)
        kept = self._find_usable(path)
        if kept and self._trust == "stamps" and is_unchanged_whole(kept, sequence):
            return None
        attempt = self._compare(path, kept, sequence)
        left = None if attempt.is_current else self._find_usable(_name_so_far(path))
        if left:
            other = self._compare(_name_so_far(path), left, sequence)
            attempt = min(attempt, other, key=lambda each: each.renewal.encoded)
        return attempt

    def _renew(self, name: str, path: Path) -> None:
        """Bring percepts up to date, in a file of their own: those that the last results came from are not touched."""
        sequence, so_far = self.open(name), _name_so_far(path)
        attempt = self.plan(name, sequence)
        if attempt is None:
            return
        if attempt.is_current and attempt.source == path:
            so_far.unlink(missing_ok=True)
            return
        if attempt.renewal.encoded:
            self.perceiver  # noqa: B018 (what cannot be opened is refused before anything is told)
        self._tell_changes(name, attempt, path)
        _log.info("%s: %d images to encode, %d kept", name, attempt.renewal.encoded, attempt.renewal.kept)
        precision = self.precision if attempt.renewal.encoded else None
        assembly = Assembly(name, attempt.now, self._experiment, attempt.source, precision)
        self._encode(sequence, attempt.renewal, assembly, so_far)
        assembly.save(so_far)
        self._made[name] = so_far

    def _compare(self, source: Path, kept: Recording | None, sequence: Sequence) -> Attempt:
        """What could be made of some percepts.

        Images that were renamed are known by their contents. Of percepts that are not whole, and of none, nobody asks:
        what is new there is read once, to be encoded.
        """
        known, later = kept.sources if kept else None, kept is None or source.name.endswith(SO_FAR)
        home = find_home(self._experiment.data, sequence.name)
        now = survey(sequence, home, known, self._trust, later=later)
        renewal = compare(kept, known, now) if kept and known else None
        # Percepts of one sequence are of one precision. As long as none is missing, it may be another than here.
        if not renewal or (renewal.encoded and kept and kept.precision != self.precision):
            return Attempt(None, now, renew_all(now))
        return Attempt(source, now, renewal)

    def _tell_changes(self, name: str, attempt: Attempt, path: Path) -> None:
        if attempt.source and attempt.source != path:
            left = f"{attempt.renewal.encoded} of {len(attempt.now)} images are left"
            self.tell(f"{name}: goes on where an encoding was interrupted; {left}")
        elif path.exists() and self._trust != "nothing" and not attempt.renewal.current:
            self.tell(f"{name}: {attempt.renewal.describe() if attempt.source else self._explain(path)}")

    def _find_usable(self, path: Path) -> Recording | None:
        """Kept percepts that say what they were made from, with this perception; no program's own."""
        if not path.exists():
            return None
        try:
            kept = Recording.load(path)
        except InputError:
            if path.name.endswith(SO_FAR) or self._trust == "nothing":
                return None
            raise
        changes = self._experiment.perception.changes_since(kept.origin, str(path))
        return None if changes or kept.sources is None or self._trust == "nothing" else kept

    def _explain(self, path: Path) -> str:
        """Why nothing of kept percepts can be used."""
        kept = Recording.load(path)
        changes = self._experiment.perception.changes_since(kept.origin, str(path))
        if changes:
            why = f"made with {'; '.join(changes)}"
        elif kept.sources is None:
            why = "kept without what they were made from"
        else:
            why = f"made in {kept.precision}, images changed, and here it is {self.precision}"
        return f"its percepts were {why}; all images are encoded again"

    def _encode(self, sequence: Sequence, renewal: Renewal, assembly: Assembly, so_far: Path) -> None:
        """Put together all percepts of a recording, kept or made now."""
        rows, name = renewal.rows.tolist(), sequence.name
        reader, keeping = self._keypoints.begin(name), self._keeping(name, assembly, renewal, so_far)
        with closing(stream_new(lambda: self.perceiver, sequence, renewal, reader)) as wanted, keeping:
            for place in self._watch(range(len(rows))) if renewal.encoded else range(len(rows)):
                if rows[place] < 0:
                    percept, note = next(wanted), reader.take(place)
                    self._keypoints.add(name, note)
                    assembly.add(percept, note.content)
                else:
                    assembly.keep(rows[place])
                if len(assembly) % _SAVED_EVERY == 0 and len(assembly) > renewal.kept:
                    self._save_so_far(name, assembly, so_far)
        if all(percept.fault for percept in assembly.percepts):
            refuse_unusable(sequence, [percept.fault for percept in assembly.percepts if percept.fault])

    def _save_so_far(self, name: str, assembly: Assembly, so_far: Path) -> None:
        self._keypoints.save_so_far(name)
        assembly.save(so_far)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Say of an interruption which sequences the next attempt will find encoded."""
        try:
            yield
        except KeyboardInterrupt as stop:
            for name in self._made:
                stop.add_note(f"all images of {name} are kept; the same command goes on")
            raise

    @contextmanager
    def _keeping(self, name: str, assembly: Assembly, renewal: Renewal, so_far: Path) -> Iterator[None]:
        """Save what is encoded so far when the work is interrupted, and note what the next attempt will find."""
        try:
            yield
        except KeyboardInterrupt as stop:
            kept = renewal.kept
            if len(assembly) > kept:  # else what it began with is worth more
                with suppress(InputError, OSError):  # a disk that is full
                    self._save_so_far(name, assembly, so_far)
                    kept = len(assembly)
            stop.add_note(f"{kept} of {len(renewal.rows)} images of {name} are kept; the same command goes on")
            raise

    @cached_property
    def frame(self) -> CoordinateFrame | None:
        """What the map's positions are relative to, those of its first traverse: all others are placed there too."""
        data = self._experiment.data
        if not data.references:
            return None
        first = data.references[0]
        path = self._folder.percepts(first)
        if path.exists() and (self._experiment.perception.encoder == OWN or not is_data_there(data, first)):
            return Recording.load(path).frame
        refuse_absent(data, first)
        return open_data(data, first).frame

    @cached_property
    def precision(self) -> str:
        """In which images are encoded here."""
        return choose_precision(self._experiment.perception, self._device)

    @cached_property
    def backend(self) -> Backend | None:
        """What localizes where images are encoded; None: the CPU."""
        return open_backend(self._device)

    @cached_property
    def perceiver(self) -> Perceiver:
        """What images are encoded with; refused where it cannot be opened."""
        return open_perceiver(self._experiment.perception, self._device).with_full_batches().without_keypoints()


def _name_so_far(path: Path) -> Path:
    return path.with_name(f".{path.name}{SO_FAR}")


def refuse_absent(data: Data, name: str) -> None:
    """Say where a sequence was looked for that is not there."""
    if not is_data_there(data, name):
        looked = locate(data.layout, Path(data.root), name).absolute()
        raise InputError(
            f"{name}: there is no {looked}; data.root = {data.root!r} must name the folder that holds the sequence"
        )


def describe_absence(data: Data, name: str, path: Path) -> str:
    """In a line: the recording cannot be looked at, so that nobody knows whether it has changed."""
    return f"{name}: is not in {find_home(data, name)}; the percepts and positions kept in {path} are used"


def load_recording(experiment: Experiment, path: Path, name: str, keypoints: Path | None = None) -> Recording:
    """A sequence's percepts, and keypoints if there are any, from their caches; what other settings made is refused."""
    if not path.exists():
        raise InputError(f"{path}: no percepts of {name!r}; write them with tmapr.artifacts.percepts.Recording.save")
    recording = Recording.load(path)
    experiment.perception.refuse_others(str(path), recording.origin)
    beside = keypoints or path.with_name(f"{path.stem}.keypoints.npz")
    return attach_keypoints(recording, beside, experiment.perception.image)
