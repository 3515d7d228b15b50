"""The section `[data]` of an experiment: which recordings there are, where they lie, and which role each plays."""

from collections.abc import Collection, Iterable, Mapping
from itertools import product
from pathlib import Path

from pydantic import Field, field_validator, model_validator

from tmapr.artifacts.names import refuse_names
from tmapr.config import Settings
from tmapr.config.tree import shorten
from tmapr.data.bag import Topics
from tmapr.data.drives import Drives, Layout, Mark, find_marks, find_path_marks, find_recording, locate
from tmapr.data.opening import open_path, open_sequence
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame


class Data(Settings):
    """Which sequences play which role."""

    layout: Layout = Field("folder", description="ms2 | sthereo | folder | bag")
    root: str = Field("data", description="folder that holds the sequences")
    sources: Mapping[str, str] = Field(
        {}, description='where sequences lie that are not in root, as { night = "../bags/night.mcap" }'
    )
    topics: Topics = Field(Topics(), description="of bags")
    topics_of: Mapping[str, Topics] = Field(
        {}, description='of single bags that have others, as { night = { image = "/flir/image" } }'
    )
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

    def choose_topics(self, name: str) -> Topics:
        """Those of a sequence, if it is a bag."""
        return self.topics_of.get(name, self.topics)

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
        return Drives({name: self._find_marks(name) for name in names}, self.drives)

    def _find_marks(self, name: str) -> dict[Mark, str]:
        if name in self.sources:
            return find_path_marks(Path(self.sources[name]))
        return find_marks(self.layout, Path(self.root), name)


def _refuse_lists(drives: Mapping[str, tuple[str, ...]], named: Collection[str]) -> None:
    """A list that means nothing is a misspelt name, and a leak."""
    drive_of: dict[str, str] = {}
    for drive, name in ((drive, name) for drive, names in drives.items() for name in names):
        if name not in named:
            raise ValueError(f"data.drives: {drive!r} has {name!r}, which no role names; write it as the role does")
        if drive_of.setdefault(name, drive) != drive:
            raise ValueError(f"data.drives: {name!r} is in {drive_of[name]!r} and in {drive!r}; name it once")


def open_data(data: Data, name: str, frame: CoordinateFrame | None = None) -> Sequence:
    """A sequence of the experiment's data set; positions are placed in the frame, if there is one."""
    if name in data.sources:
        return open_path(Path(data.sources[name]), data.choose_topics(name), name, frame)
    return open_sequence(data.layout, Path(data.root), name, frame, data.choose_topics(name))


def locate_data(data: Data, name: str) -> Path:
    """The folder or the file that holds a sequence, or would."""
    if name in data.sources:
        return find_recording(Path(data.sources[name]))
    return locate(data.layout, Path(data.root), name)


def is_data_there(data: Data, name: str) -> bool:
    """Whether a sequence of the experiment's data set is on this machine; a run folder may have come without it."""
    return locate_data(data, name).exists()


def find_home(data: Data, name: str) -> Path:
    """The folder in which a sequence's files are known by their names: moved with it, they stay the same."""
    return locate_data(data, name) if name in data.sources else Path(data.root)
