"""Upkeep of run folders: the new map, its settings, its percepts and what was learned lie in a new folder.

The old folders are read and locked, and stay as they are.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.lock import writing
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.results import read_whole, renewing, share_file
from tmapr.artifacts.run import RunFolder, copy_head, is_trained_head
from tmapr.config import changed
from tmapr.data.coordinates import LOCAL
from tmapr.exceptions import InputError, TmaprError
from tmapr.experiment import Experiment, dump_experiment, is_data_there, locate_data, read_experiment
from tmapr.journal.joining import refuse_taken
from tmapr.perception.settings import OWN
from tmapr.running.encoding import Encoding
from tmapr.system import Map
from tmapr.types import Watch
from tmapr.upkeep.carrying import Carried, carry_learned
from tmapr.upkeep.changing import Changed, MapOf, drop, extend, join
from tmapr.upkeep.regions import choose_references

_WAY_OUT = "name another run, or wait until the drive ends"
_ONE = "only maps of one encoder are joined"
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class MappedRun:
    """A run folder with its settings and its map."""

    folder: RunFolder
    experiment: Experiment
    environment: Map

    @property
    def traverses(self) -> tuple[str, ...]:
        """As they were mapped."""
        return self.experiment.data.references or tuple(sorted(set(self.environment.memory.sequences.tolist())))

    def hold(self) -> MapOf:
        """The map with the percepts that are still there."""
        there = [name for name in self.traverses if self.folder.percepts(name).exists()]
        recordings = {name: Recording.load(self.folder.percepts(name)) for name in there}
        return MapOf(str(self.folder.path), self.environment, recordings)


def open_mapped(path: Path) -> MappedRun:
    """The map of a run folder."""
    folder = RunFolder(path)
    if not folder.map.exists():
        raise InputError(f"{path}: holds no map.npz; make one with `tmapr map EXPERIMENT`")
    return read_whole(folder, lambda: _read(folder))


def _read(folder: RunFolder) -> MappedRun:
    experiment = read_experiment(folder.experiment).with_head(folder)
    environment = Map.load(folder.map, experiment.system, experiment.data.references)
    experiment.perception.refuse_others(str(folder.map), environment.origin)
    return MappedRun(folder, experiment, environment)


def extend_run(
    run: Path, sequences: Sequence[str], out: Path, tell: Tell, watch: Watch = iter, device: str = "auto"
) -> Map:
    """Map further sequences of the run's experiment, encoded if need be, behind those that are mapped."""
    refuse_taken(out)
    with _holding([run]):
        old = open_mapped(run)
        if not sequences:
            raise InputError(f"{run}: name the sequences that it is to be extended by")
        encoding = Encoding(old.experiment, old.folder, device, watch, tell=tell)
        recordings = [replace(encoding.recording(name), sequence=name) for name in sequences]
        made = extend(old.experiment.system, old.hold(), recordings, watch)
        experiment = _assign(old.experiment, (*old.traverses, *sequences), tell)
        _write(out, old, made, experiment, [(old.folder, name) for name in _list_named(experiment)], tell, encoding)
    return made.environment


def join_runs(first: Path, second: Path, out: Path, tell: Tell, watch: Watch = iter) -> Map:
    """Put the map of one run and that of another, of the same frame, together."""
    refuse_taken(out)
    with _holding([first, second]):
        ours, theirs = open_mapped(first), open_mapped(second)
        _refuse_perception(ours, theirs)
        made = join(ours.experiment.system, ours.hold(), theirs.hold(), watch)
        new = tuple(name for name in theirs.traverses if name not in ours.traverses)
        experiment = _assign(_with_sources(ours.experiment, theirs.experiment, new), (*ours.traverses, *new), tell)
        if theirs.folder.state.exists():
            tell(f"{second}: what it had learned stays with it; `tmapr state merge` joins states of one map")
        percepts = [(ours.folder, name) for name in _list_named(experiment)] + [(theirs.folder, name) for name in new]
        _write(out, ours, made, experiment, percepts, tell)
    return made.environment


def drop_region(
    run: Path,
    out: Path,
    corners: Float[np.ndarray, "corners 2"] | None,
    traverses: Sequence[str],
    tell: Tell,
    watch: Watch = iter,
) -> Map:
    """Map without what lies in a polygon, of all traverses or of some; or without some traverses."""
    refuse_taken(out)
    with _holding([run]):
        old = open_mapped(run)
        gone = choose_references(old.environment.memory, corners, traverses)
        left = set(old.environment.memory.sequences[~gone].tolist())
        if left:
            _refuse_lost_frame(old, left)
        made = drop(old.experiment.system, old.hold(), gone, _describe(gone, corners, traverses), watch)
        experiment = _assign(old.experiment, tuple(name for name in old.traverses if name in left), tell)
        _write(out, old, made, experiment, [(old.folder, name) for name in _list_named(experiment)], tell)
    return made.environment


def _holding(runs: Iterable[Path]) -> ExitStack:
    """Nobody else changes what is read; one that is named twice is held once."""
    stack = ExitStack()
    try:
        for path in {run.resolve(): run for run in runs}.values():
            if not RunFolder(path).map.exists():
                raise InputError(f"{path}: holds no map.npz; make one with `tmapr map EXPERIMENT`")
            stack.enter_context(writing(path, _WAY_OUT))
    except BaseException:
        stack.close()
        raise
    return stack


def _write(
    out: Path,
    old: MappedRun,
    made: Changed,
    experiment: Experiment,
    percepts: Sequence[tuple[RunFolder, str]],
    tell: Tell,
    encoding: Encoding | None = None,
) -> None:
    """Publish everything together; what the disk or a kill does not let through leaves no run folder."""
    for line in made.told:
        tell(line)
    carried = _carry(old, experiment, made.environment, tell)
    folder, head = RunFolder(out), experiment.perception.apr
    publishing: AbstractContextManager[RunFolder] = encoding.publishing(folder) if encoding else renewing(folder)
    with writing(out, "name another folder"):
        with publishing as staged:
            if head and is_trained_head(Path(head)):
                copy_head(Path(head), folder)
            for source, name in percepts:
                _share(source, staged, name)
            made.environment.save(staged.map)
            write_text(staged.experiment, dump_experiment(experiment, folder.path))
            if carried:
                carried.save(staged.state)
        if carried:
            journaled = carried.begin_journal(out)
            tell(f"{old.folder.path}: its {carried.lessons} lessons go along; {journaled} of them can be unlearned")


def _share(source: RunFolder, staged: RunFolder, name: str) -> None:
    """Percepts and their keypoints, where they are; those that were made just now stay."""
    if source.percepts(name).exists() and not staged.percepts(name).exists():
        for find in (RunFolder.percepts, RunFolder.keypoints):
            if find(source, name).exists():
                share_file(find(source, name), find(staged, name))


def _carry(old: MappedRun, experiment: Experiment, new: Map, tell: Tell) -> Carried | None:
    try:
        return carry_learned(old.folder, experiment, old.environment, new)
    except TmaprError as error:
        tell(f"{old.folder.path}: what it had learned stays with it ({error})")
        return None


def _assign(experiment: Experiment, references: Sequence[str], tell: Tell) -> Experiment:
    """The settings of the new run: what is mapped is no test any more."""
    data = experiment.data
    left = {role: [name for name in data.roles[role] if name not in references] for role in ("test", "stream")}
    for role in left:
        if gone := [name for name in data.roles[role] if name in references]:
            tell(f"{', '.join(gone)}: taken out of data.{role}; what is mapped is no test")
    named = {name for role, names in data.roles.items() if role not in ("reference", *left) for name in names}
    named |= {*references, *left["test"], *left["stream"]}
    drives = {drive: [name for name in names if name in named] for drive, names in data.drives.items()}
    values = {"data.reference": list(references), "data.test": left["test"], "data.stream": left["stream"]}
    return changed(experiment, values | {"data.drives": {drive: names for drive, names in drives.items() if names}})


def _list_named(experiment: Experiment) -> list[str]:
    return list(dict.fromkeys(name for names in experiment.data.roles.values() for name in names))


def _with_sources(ours: Experiment, theirs: Experiment, new: Sequence[str]) -> Experiment:
    """Where the other run's traverses lie, where that is not where ours would."""
    moved = [name for name in new if is_data_there(theirs.data, name)]
    elsewhere = {name: str(locate_data(theirs.data, name)) for name in moved}
    elsewhere = {name: path for name, path in elsewhere.items() if path != str(locate_data(ours.data, name))}
    if not elsewhere or OWN in (ours.perception.encoder, theirs.perception.encoder):
        return ours
    return changed(ours, {"data.sources": {**ours.data.sources, **elsewhere}})


def _refuse_perception(ours: MappedRun, theirs: MappedRun) -> None:
    """Descriptors of two encoders cannot be compared."""
    where, origins = str(theirs.folder.path), (ours.environment.origin, theirs.environment.origin)
    whose = ["an encoder of tmapr's" if origin.settings else "a program of somebody's own" for origin in origins]
    if whose[0] != whose[1]:
        raise InputError(f"{where}: its percepts are of {whose[1]}, those of {ours.folder.path} of {whose[0]}; {_ONE}")
    changes = ours.experiment.perception.changes_since(theirs.environment.origin, where)
    if changes:
        raise InputError(f"{where}: was made with {'; '.join(changes)} in {ours.folder.path}; {_ONE}")


def _refuse_lost_frame(old: MappedRun, left: set[str]) -> None:
    """Recordings are placed by the first traverse: without it nobody could be placed on the map any more."""
    first, kind = old.traverses[0], old.environment.frame.kind
    if first not in left and kind != LOCAL and old.experiment.perception.encoder != OWN:
        raise InputError(
            f"{old.folder.path}: its coordinates begin at {first}, of which nothing would be left; keep a part of it,"
            " or map the others again without it"
        )


def _describe(gone: np.ndarray, corners: Float[np.ndarray, "corners 2"] | None, traverses: Sequence[str]) -> str:
    parts = [f"{int(gone.sum())} references"]
    if traverses:
        parts.append(f"of {', '.join(traverses)}")
    if corners is not None:
        (left, bottom), (right, top) = corners.min(axis=0), corners.max(axis=0)
        parts.append(f"between x {left:g} and {right:g}, y {bottom:g} and {top:g}")
    return " ".join(parts)
