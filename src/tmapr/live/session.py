"""What a robot keeps of its drives: a run folder with the map, what was learned, and where it was last.

    RUN/map.npz, state.npz, experiment.toml, …    as `tmapr.load` reads them; the state is that of the last clean end
    RUN/journal/                                  what was learned since, and where the robot was seconds ago

A drive that ended less than ten minutes ago goes on where it was; otherwise, or when the clock says that it ends in the
future, the place has to be found anew. What was learned stays.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tmapr.artifacts.lock import writing
from tmapr.artifacts.run import RunFolder
from tmapr.device import open_backend
from tmapr.exceptions import InputError
from tmapr.experiment import load
from tmapr.live.events import Health, Part, Scene, Sink, Source
from tmapr.live.keeper import KEEPING, Keeper, Keeping
from tmapr.live.learner import Learner
from tmapr.live.outlet import Outlet
from tmapr.live.pipeline import Pipeline
from tmapr.localizer import Localizer
from tmapr.running.streams import open_streams

_log = logging.getLogger("tmapr")


@dataclass(slots=True)
class Session:
    """A localizer on a robot, the only writer of its run folder."""

    localizer: Localizer
    map_folder: Path
    run_folder: Path
    keeper: Keeper
    learns: bool

    def drive(self, source: Source, sinks: Sequence[Sink], capacity: int = 4, frames: int | None = None) -> "Drive":
        """A drive from a source, ready to be run."""
        learner = Learner(self.localizer, self.keeper, self.learns)
        outlets = [Outlet(sink, source.waits) for sink in sinks]
        watched = _Watched(self.map_folder / "map.npz")
        pipeline = Pipeline(self.localizer, source, learner, outlets, capacity, frames, watched.list_parts)
        return Drive(pipeline, Scene(self.localizer, self.map_folder, self.run_folder, source.name))


@dataclass(frozen=True, slots=True)
class Drive:
    """One drive of a session."""

    pipeline: Pipeline
    scene: Scene

    def run(self) -> Health:
        """Until the source ends or is stopped."""
        return self.pipeline.run(self.scene)


@contextmanager
def begin_session(
    map_folder: Path,
    run: Path | None = None,
    learn: Literal["off", "fused"] = "off",
    device: str = "auto",
    settings: Sequence[str] = (),
    keeping: Keeping = KEEPING,
) -> Iterator[Session]:
    """The localizer of a run folder that continues from where it was, or of a map, which is then shared with a folder.

    Whatever ends the session, the state is saved.
    """
    folder = run or map_folder / "live"
    localizer = _found(map_folder, folder, device, [*settings, f"labels.mode={learn}"])
    with writing(folder):
        keeper = Keeper(localizer, folder, keeping)
        try:
            yield Session(localizer, map_folder, folder, keeper, learn != "off")
        finally:
            keeper.close()
            _log.info("%s: state saved", folder)


def _found(map_folder: Path, folder: Path, device: str, overrides: Sequence[str]) -> Localizer:
    """The localizer of the run folder, which gets the map if it has none."""
    if os.path.realpath(map_folder) == os.path.realpath(folder):
        raise InputError(f"{folder}: is the map's own folder, which stays as it is; name another one with --run")
    opener = open_streams(device)
    mapped = load(map_folder, opener, overrides)
    if not RunFolder(folder).map.exists():
        mapped.new_drive().save(folder)
    localizer = load(folder, opener, overrides, open_backend(device))
    if localizer.stages.map_digest != mapped.stages.map_digest:
        raise InputError(
            f"{folder}: its drives were on another map than {map_folder} has now; name another folder with --run"
        )
    return localizer


class _Watched:
    """Notices that a map is made anew while a drive is on it, which goes on with the one that it began with."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = self._look()
        self._told = False

    def _look(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def list_parts(self) -> list[Part]:
        """What is to be said of the map: nothing, unless it has changed."""
        if self._look() == self._before:
            return []
        said = f"{self._path}: was replaced; this drive goes on with the map that it began with"
        if not self._told:
            self._told = True
            _log.warning(said)
        return [Part("map", 0, note=said)]
