"""The root of an experiment file: which sequences play which role, and every setting of the system.

Paths in a file are relative to its folder; in memory, in overrides and in programs to the working directory.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Literal

from pydantic import Field

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.lock import writing
from tmapr.artifacts.results import read_whole, renewing
from tmapr.artifacts.run import RunFolder, copy_head, is_trained_head, read_head_error
from tmapr.baselines.settings import Baselines
from tmapr.config import Settings, changed, dump_toml
from tmapr.config.dump import tree_digest
from tmapr.config.load import override_tree, read_tree
from tmapr.config.paths import from_folder, replace_paths, to_folder
from tmapr.config.tree import AnySettings, Tree, as_tree, from_tree
from tmapr.data.roles import Data, find_home, is_data_there, locate_data, open_data
from tmapr.exceptions import InputError
from tmapr.localizer import Localizer
from tmapr.perception.recipes import Metric, Training
from tmapr.perception.settings import OWN, Perception
from tmapr.plugins import is_plugin
from tmapr.stages import Backend, BeginStream
from tmapr.system import Map, System, build, resume

__all__ = [
    "Data",
    "Experiment",
    "Opener",
    "dump_experiment",
    "experiment_digest",
    "find_home",
    "is_data_there",
    "load",
    "locate_data",
    "open_data",
    "read_experiment",
]

_PATHS = (
    "data.root",
    "data.sources.*",
    "perception.encoder",
    "perception.head",
    "perception.apr",
    "baselines.*.weights",
    "perception.options.*",
    "tracking.options.*",
)
"""The settings that name files and folders; of a plug-in's options those texts that name a file that is there."""


class Experiment(Settings):
    """Everything that an experiment file can say."""

    name: str = Field("experiment", pattern=r"^\w[\w.-]*$", description="names the run folder runs/NAME")
    data: Data = Field(Data(), description="sequences and their roles")
    perception: Perception = Field(Perception(), description="images to percepts")
    training: Training = Field(Training(), description="training of the pose head, and the budget of all others")
    metric: Metric = Field(Metric(), description="training of the descriptor's head")
    baselines: Baselines = Field(Baselines(), description="other methods, to compare with")
    align_apr: Literal["none", "adapt", "oracle"] = Field(
        "none", description="planar fit of the pose head to the truth before fusion: none | adapt | oracle (cheats)"
    )
    system: System = Field(System(), description="the online half; a file writes its sections at the top")

    unnamed = "system"

    def with_head(self, folder: RunFolder) -> "Experiment":
        """With the pose head that was trained in the folder, unless perception has, names or cannot take one.

        The run folder's own experiment file names it by the path it had: if that is gone, the folder was moved or its
        head trained anew, and whether what is there fits the map is seen from its content.
        """
        named = self.perception.apr
        if self.perception.is_whole or (named and (Path(named).is_file() or not is_trained_head(Path(named)))):
            return self
        head = folder.trained_head
        if head is None:
            return self
        return changed(self, {"perception.apr": str(head)})


def read_experiment(
    path: Path | None, overrides: Iterable[str] = (), tell: Callable[[str], None] = lambda _: None
) -> Experiment:
    """Read an experiment file, or take the defaults, and apply overrides of the form `section.key=value`.

    A path that is found from the working directory alone is taken, and told in a line.
    """
    told: dict[tuple[str, str], str] = {}
    place = partial(_place_paths, told=told)
    tree = read_tree(path, place) if path else {}
    if path and isinstance(data := tree.setdefault("data", {}), dict) and "root" not in data:
        default: Tree = {"data": {"root": Data().root}}
        place(default, path)
        data |= default["data"]
    override_tree(tree, overrides)
    experiment = from_tree(Experiment, tree, str(path or "settings"))

    def tell_of(setting: str, value: str) -> str:
        unused = setting.startswith("data.") and experiment.perception.encoder == OWN  # nothing is read from there
        if (setting, value) in told and not unused:
            tell(told[setting, value])
        return value

    replace_paths(as_tree(experiment), _PATHS, tell_of)
    return experiment


def dump_experiment(experiment: Experiment, folder: Path) -> str:
    """The text of an experiment file in a folder, by which links to the file are of no matter."""
    tree = as_tree(experiment)
    replace_paths(tree, _PATHS, lambda name, value: to_folder(value, folder) if _names_file(name, value) else value)
    return dump_toml(_copy_with(experiment, tree))


def experiment_digest(experiment: Experiment) -> str:
    """SHA-256 of the settings, in which files and folders are known by their names alone, wherever they lie."""
    tree = as_tree(experiment)

    def name(setting: str, value: str) -> str:
        plain = _is_option(setting) and not _names_file(setting, value)
        return value if plain else os.path.basename(os.path.normpath(value))

    replace_paths(tree, _PATHS, name)
    return tree_digest(tree)


def _place_paths(tree: Tree, file: Path, told: dict[tuple[str, str], str]) -> None:
    """Make the paths that a file names those of the working directory; `told` is of those that are so already."""

    def place(setting: str, value: str) -> str:
        placed = from_folder(value, file.parent)
        if not _names_file(setting, placed if _is_option(setting) else value):
            return value
        if os.path.lexists(placed) or not os.path.lexists(value):
            return placed
        told[setting, value] = (
            f"{file}: {setting} is {value!r}, which is found from the working directory, not from the file's folder;"
            f" write {to_folder(value, file.parent)!r}"
        )
        return value

    replace_paths(tree, _PATHS, place)


def _copy_with(settings: AnySettings, tree: Tree) -> AnySettings:
    """The settings with the texts that a tree of theirs has, not validated: these paths are not those of this place."""
    values: dict[str, object] = {}
    for key, value in settings.__dict__.items():
        if isinstance(value, Settings) and key != settings.unnamed:
            values[key] = _copy_with(value, tree[key])
        elif isinstance(value, str) or key == "sources":
            values[key] = tree[key]
        elif key == "options":  # lists among them are tuples here, and stay so
            texts = {name for name, each in value.items() if isinstance(each, str)}
            values[key] = {**value, **{name: tree[key][name] for name in texts}}
    return settings.model_copy(update=values)


def _names_file(setting: str, value: str) -> bool:
    """Whether it is a path: an encoder may also be known by its name, and an option may be any text."""
    if _is_option(setting):
        return os.path.isfile(value)
    named = "/" in value or bool(re.search(r"\.\w+$", value))
    return not setting.startswith("perception.") or (named and not is_plugin(value))


def _is_option(setting: str) -> bool:
    return ".options." in setting


Opener = Callable[[Perception], BeginStream]
"""Opens the perceiver that settings ask for."""


def load(
    directory: str | Path,
    opener: Opener | None = None,
    overrides: Sequence[str] = (),
    backend: Backend | None = None,
) -> Localizer:
    """The localizer of a run folder: its map, what it learned, every setting; `opener` opens its perceiver."""
    folder = RunFolder(Path(directory))
    return read_whole(folder, lambda: _load(folder, opener, overrides, backend))


def _load(folder: RunFolder, opener: Opener | None, overrides: Sequence[str], backend: Backend | None) -> Localizer:
    if not folder.map.exists():
        raise InputError(f"{folder.path}: holds no map.npz; make one with `tmapr map EXPERIMENT`")
    experiment = read_experiment(folder.experiment, overrides).with_head(folder)
    environment = Map.load(folder.map, experiment.system, experiment.data.references)
    experiment.perception.refuse_others(str(folder.map), environment.origin)
    fixed = _fix_paths(experiment)
    begin_stream = _open_lazily(opener, fixed.perception) if opener else None
    found = partial(_found, fixed, environment)
    if folder.state.exists():
        return resume(experiment.system, environment, folder.state, begin_stream, found, backend)
    localizer = build(experiment.system, environment, None, begin_stream, found, backend)
    localizer.expect_head(read_head_error(experiment.perception.apr))
    return localizer


def _fix_paths(experiment: Experiment) -> Experiment:
    """For what happens later, when a program may have another working directory."""
    tree = as_tree(experiment)
    replace_paths(tree, _PATHS, lambda name, value: os.path.abspath(value) if _names_file(name, value) else value)
    return _copy_with(experiment, tree)


def _open_lazily(opener: Opener, settings: Perception) -> BeginStream | None:
    """Opens with the first frame: a program that has percepts of its own need not wait for a network."""
    if settings.encoder == OWN:
        return None
    opened = cache(lambda: opener(settings))
    return lambda: opened()()


def _found(experiment: Experiment, environment: Map, target: Path, save_state: Callable[[Path], None]) -> None:
    """Make another run folder with the same map: it, its settings and a state are published together."""
    folder, head = RunFolder(target), experiment.perception.apr
    with writing(folder.path, "name another folder"), renewing(folder) as staged:
        if head and is_trained_head(Path(head)):
            copy_head(Path(head), folder)
        environment.save(staged.map)
        write_text(staged.experiment, dump_experiment(experiment, folder.path))
        save_state(staged.map.parent)
