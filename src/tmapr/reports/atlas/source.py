"""A map from a run folder, with the experiment that it was made by, or from a file that lies alone."""

import json
from dataclasses import dataclass
from pathlib import Path

from tmapr.artifacts.arrays import load_arrays
from tmapr.artifacts.documents.notes import MapNotes
from tmapr.artifacts.results import read_whole
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, read_experiment
from tmapr.places.classifier import Places
from tmapr.retrieval.memory import MAPPED
from tmapr.system import MAP_KIND, MAP_VERSION, Map, System

_MAKE = "make one with `tmapr map EXPERIMENT`"


@dataclass(frozen=True, slots=True)
class MapSource:
    """A map and where it came from; one that lies alone has no experiment, and so no images."""

    path: Path
    environment: Map
    folder: RunFolder | None = None
    experiment: Experiment | None = None

    @property
    def name(self) -> str:
        """By which a reader knows it."""
        return self.experiment.name if self.experiment else self.path.stem

    @property
    def page(self) -> Path:
        """Where its page goes by default."""
        return self.folder.page.with_name("map.html") if self.folder else self.path.with_suffix(".html")


def read_map(path: Path) -> MapSource:
    """The map of a run folder, or the one in a file; whatever else a run left is not needed."""
    if path.is_dir():
        if not RunFolder(path).map.exists():
            raise InputError(f"{path}: holds no map.npz; {_MAKE}")
        return read_map(RunFolder(path).map)
    if not path.exists():
        raise InputError(f"{path}: no such run folder or map; {_MAKE}")
    folder = RunFolder(path.parent)
    if path.name == folder.map.name and folder.experiment.exists():
        return read_whole(folder, lambda: _read_with_experiment(folder))
    return _read_alone(path)


def _read_with_experiment(folder: RunFolder) -> MapSource:
    experiment = read_experiment(folder.experiment)
    environment = Map.load(folder.map, experiment.system, experiment.data.references)
    return MapSource(folder.map, environment, folder, experiment)


def _read_alone(path: Path) -> MapSource:
    """With the settings that the file itself names; all others are of no matter to a map."""
    header, _ = load_arrays(path, MAP_KIND, MAP_VERSION, mapped=MAPPED)
    notes = MapNotes.from_notes(path, header.notes)
    try:
        system = System(places=Places.model_validate_json(json.dumps(notes.places)))
    except ValueError:
        raise InputError(f"{path}: was made with settings that this version does not know; {_MAKE}") from None
    return MapSource(path, Map.load(path, system))
