"""The root of an experiment file: which sequences play which role, and every setting of the system."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from tmapr.artifacts.names import refuse_names
from tmapr.artifacts.results import read_whole
from tmapr.artifacts.run import RunFolder, is_trained_head, read_head_error
from tmapr.baselines.settings import Baselines
from tmapr.config import Settings, changed, load_settings
from tmapr.config.tree import shorten
from tmapr.data.bag import Topics
from tmapr.data.drives import Drives, Layout, find_marks
from tmapr.data.opening import is_there, open_sequence
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.localizer import Localizer, Perceive
from tmapr.perception.recipes import Metric, Training
from tmapr.perception.settings import OWN, Perception
from tmapr.system import Map, System, build, resume
from tmapr.types import CoordinateFrame


class Data(Settings):
    """Which sequences play which role."""

    layout: Layout = Field("folder", description="ms2 | sthereo | folder | bag")
    root: str = Field("data", description="folder that holds the sequences")
    topics: Topics = Field(Topics(), description="of bags")
    train: tuple[str, ...] = Field((), description="sequences that train networks")
    validation: tuple[str, ...] = Field((), description="sequences for early stopping and calibration")
    reference: str | tuple[str, ...] | None = Field(None, description="the traverse that is mapped, or a list of them")
    adapt: tuple[str, ...] = Field((), description="sequences learned with labels before anything is localized")
    stream: tuple[str, ...] = Field(
        (), description="sequences localized in this order, each learned with late labels while it is scored"
    )
    test: tuple[str, ...] = Field((), description="sequences that are localized and evaluated")
    drives: Mapping[str, tuple[str, ...]] = Field(
        {}, description='sequences of one drive that their folders do not tell, as { tower = ["front", "rear"] }'
    )

    @property
    def references(self) -> tuple[str, ...]:
        """The traverses that are mapped; none where none is named. The first one's frame is the map's."""
        named = self.reference
        return (named,) if isinstance(named, str) else named or ()

    @property
    def scored(self) -> tuple[str, ...]:
        """What is localized and evaluated, in the order in which it is: a test finds what the stream has learned."""
        return (*self.stream, *self.test)

    @property
    def roles(self) -> Mapping[str, tuple[str, ...]]:
        """The sequences of each role, by the setting that names them."""
        learned = {"train": self.train, "validation": self.validation, "reference": self.references}
        return learned | {"adapt": self.adapt, "stream": self.stream, "test": self.test}

    def trained_on(self, name: str) -> bool:
        """Whether networks were trained on the sequence's drive, by this camera or by another."""
        find = self._find_drives((name, *self.train)).explain
        return any(find(name, other) for other in self.train)

    @field_validator("reference", mode="before")
    @classmethod
    def _check_reference(cls, given: object) -> object:
        """A list of one is that one, so that settings which mean the same are the same."""
        if given is None or isinstance(given, str):
            return given
        if not isinstance(given, list | tuple) or not given or not all(isinstance(name, str) for name in given):
            raise ValueError(f"data.reference: must be a traverse's name or a list of names, got {shorten(given)}")
        return given[0] if len(given) == 1 else tuple(given)

    @model_validator(mode="after")
    def _check_names(self) -> "Data":
        """Files are named after sequences: two of one name would overwrite one another."""
        names = [name for named in self.roles.values() for name in named]
        try:
            refuse_names(names, "data")
        except InputError as error:
            raise ValueError(str(error)) from None
        return self

    @model_validator(mode="after")
    def _check_roles(self) -> "Data":
        others = {role: names for role, names in self.roles.items() if role != "test"}
        for role, names in others.items():
            shared = sorted(set(self.test) & set(names))
            if shared and role != "reference":
                raise ValueError(f"data.test and data.{role} share {shared[0]!r}; a test sequence must be unseen")
        for role in ("stream", "test"):
            mapped = sorted(set(self.roles[role]) & set(self.references))
            if mapped:
                raise ValueError(f"data.{role} names the reference {mapped[0]!r}; every frame would match itself")
        for role in ("reference", "stream", "test"):
            names = self.roles[role]
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise ValueError(f"data.{role} names {repeated[0]!r} twice")
        return self

    @model_validator(mode="after")
    def _check_drives(self) -> "Data":
        """A test drive is unseen by every camera and under every name."""
        named = [(role, name) for role, names in self.roles.items() for name in names]
        _refuse_lists(self.drives, {name for _, name in named})
        drives = self._find_drives({name for _, name in named} if self.test else ())
        for test, (role, name) in product(self.test, named):
            if role != "test" and (reason := drives.explain(test, name)):
                raise ValueError(
                    f"data.test names {test!r} and data.{role} {name!r}, which are one drive: {reason};"
                    " a test drive must be unseen, so take one of them out"
                )
        return self

    def _find_drives(self, names: Iterable[str]) -> Drives:
        root = Path(self.root)
        return Drives({name: find_marks(self.layout, root, name) for name in names}, self.drives)


def _refuse_lists(drives: Mapping[str, tuple[str, ...]], named: Collection[str]) -> None:
    """A list that means nothing is a misspelt name, and a leak."""
    drive_of: dict[str, str] = {}
    for drive, name in ((drive, name) for drive, names in drives.items() for name in names):
        if name not in named:
            raise ValueError(f"data.drives: {drive!r} has {name!r}, which no role names; write it as the role does")
        if drive_of.setdefault(name, drive) != drive:
            raise ValueError(f"data.drives: {name!r} is in {drive_of[name]!r} and in {drive!r}; name it once")


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


def open_data(data: Data, name: str, frame: CoordinateFrame | None = None) -> Sequence:
    """A sequence of the experiment's data set."""
    return open_sequence(data.layout, Path(data.root), name, frame, data.topics)


def is_data_there(data: Data, name: str) -> bool:
    """Whether a sequence of the experiment's data set is on this machine; a run folder may have come without it."""
    return is_there(data.layout, Path(data.root), name)


Opener = Callable[[Perception], Perceive]
"""Opens the perceiver that settings ask for."""


def load(directory: str | Path, opener: Opener | None = None) -> Localizer:
    """The localizer of a run folder: its map, what it learned, every setting; `opener` opens its perceiver."""
    folder = RunFolder(Path(directory))
    return read_whole(folder, lambda: _load(folder, opener))


def _load(folder: RunFolder, opener: Opener | None) -> Localizer:
    if not folder.map.exists():
        raise InputError(f"{folder.path}: holds no map.npz; make one with `tmapr map EXPERIMENT`")
    experiment = load_settings(Experiment, folder.experiment).with_head(folder)
    environment = Map.load(folder.map, experiment.system, experiment.data.references)
    experiment.perception.refuse_others(str(folder.map), environment.origin)
    perceive = _open_lazily(opener, experiment.perception) if opener else None
    if folder.state.exists():
        return resume(experiment.system, environment, folder.state, perceive)
    localizer = build(experiment.system, environment, perceive=perceive)
    localizer.expect_head(read_head_error(experiment.perception.apr))
    return localizer


def _open_lazily(opener: Opener, settings: Perception) -> Perceive | None:
    """Opens with the first frame: a program that has percepts of its own need not wait for a network."""
    if settings.encoder == OWN:
        return None
    opened = cache(lambda: opener(settings))
    return lambda frame: opened()(frame)
