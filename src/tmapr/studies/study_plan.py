"""The plan of a study: which worlds, which drives at which rates, what is done to them, and which methods are asked.

Styles with even numbers are for choosing a method or its settings, odd ones for reporting, for ever.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, model_validator

from tmapr.config import Settings, changed
from tmapr.config.load import override_tree, read_tree
from tmapr.config.paths import from_folder, replace_paths
from tmapr.config.tree import Tree, from_tree
from tmapr.exceptions import InputError
from tmapr.plugins import TRACKING, choose_offer, is_plugin
from tmapr.simulation.weather import NAMED
from tmapr.studies.disturbances import DISTURBANCES
from tmapr.system import System

Kind = Literal["campus", "city", "valley", "aliased city"]
DriveName = Literal["night", "away", "turn"]
RealName = Literal["gardens-night", "gardens-left-night", "gardens-right-left", "kaist", "st-lucia"]
_NAME = r"^\w[\w.-]*$"


class Worlds(Settings):
    """Rendered worlds: `count` of each family in every second style, mapped by day, adapted to another weather."""

    families: tuple[Kind, ...] = Field(
        get_args(Kind), min_length=1, description="campus | city | valley | aliased city"
    )
    first_style: int = Field(ge=1, description="of each family; the city of copies begins behind the plain one")
    count: int = Field(1, ge=1, le=100, description="worlds of each family")
    seed: int = Field(ge=0, description="of the first world; each has the next one")
    only: Literal["all", "last"] = Field("all", description="which of each family's worlds are asked")
    frames: int = Field(600, ge=20, le=100_000, description="of each drive")
    aliasing: float = Field(0.3, ge=0, le=1, description="share of a world that is copies, but for the city of copies")
    days: tuple[str, ...] = Field(("noon", "overcast", "summer-noon"), min_length=1, description="weathers mapped in")
    others: tuple[str, ...] = Field(("dusk", "rain", "dawn"), min_length=1, description="weathers adapted to")
    nights: tuple[str, ...] = Field(("night", "winter-night"), min_length=1, description="weathers asked in")
    pose_head: Literal["none", "last", "all"] = Field("none", description="which of each family's worlds have one")
    spacing: float = Field(0.0, ge=0, description="metres to which maps are thinned; 0: not at all")

    @model_validator(mode="after")
    def _check(self) -> "Worlds":
        unknown = [name for name in (*self.days, *self.others, *self.nights) if name not in NAMED]
        if unknown:
            raise ValueError(f"worlds: weather {unknown[0]!r} is not known; known are {', '.join(NAMED)}")
        return self


class RealSets(Settings):
    """Real traverses with invented positions."""

    data: str = Field(description="folder with gardens/, kaist/ and descriptors/")
    sets: tuple[RealName, ...] = Field(get_args(RealName), min_length=1, description="which of them")


class Disturb(Settings):
    """What is done to drives, each time to the drive as it was recorded."""

    name: str = Field(description="what happens")
    drives: tuple[DriveName | Literal["query"], ...] = Field(
        ("night", "query"), description="a real set's is its query"
    )
    begin: float = Field(0.4, ge=0, lt=1, description="where it begins, a share of the drive")
    end: float = Field(0.6, gt=0, le=1, description="where it ends")

    @model_validator(mode="after")
    def _check(self) -> "Disturb":
        if self.name not in DISTURBANCES:
            raise ValueError(f"disturbance.name = {self.name!r}: is not known; known are {', '.join(DISTURBANCES)}")
        if self.begin >= self.end:
            raise ValueError(f"disturbance {self.name!r}: begin = {self.begin:g} must be less than end = {self.end:g}")
        return self


class AskedMethod(Settings):
    """A way to localize: the default with other settings, or a baseline."""

    name: str = Field("default", pattern=_NAME, description="of the folder of its rows")
    baseline: Literal["none", "first", "sequence"] = Field(
        "none", description="first candidates, or lines of ten frames"
    )
    set: tuple[str, ...] = Field((), description="settings, as --set has them: 'places.cell = 20'")

    @property
    def system(self) -> System:
        """Its settings."""
        tree: Tree = {}
        override_tree(tree, self.set)
        return from_tree(System, tree, "set")


class StudyPlan(Settings):
    """Everything that a plan's file can say."""

    name: str = Field(pattern=_NAME, description="of the folder of its rows")
    purpose: Literal["choose", "report"] = Field(description="choose: even styles alone; report: odd ones alone")
    worlds: Worlds | None = None
    real: RealSets | None = None
    drives: tuple[DriveName, ...] = Field(("night", "away"), description="a lap, with a detour, with u-turns")
    every: tuple[int, ...] = Field((1,), min_length=1, description="every so many frames are shown, each rate anew")
    foreign: bool = Field(False, description="whether every map is asked with the drives of all other places")
    disturbance: tuple[Disturb, ...] = Field((), description="what is done to drives")
    method: tuple[AskedMethod, ...] = Field((AskedMethod(),), min_length=1, description="what is asked")

    @model_validator(mode="after")
    def _check(self) -> "StudyPlan":
        if not self.worlds and not self.real:
            raise ValueError("neither [worlds] nor [real] is given; name at least one")
        first, parity = self.worlds.first_style if self.worlds else None, "odd" if self.purpose == "report" else "even"
        if first is not None and first % 2 != (parity == "odd"):
            raise ValueError(f"worlds.first_style = {first}: purpose = {self.purpose!r} takes {parity} styles alone")
        if min(self.every) < 1:
            raise ValueError(f"every = {list(self.every)}: give whole numbers from 1 on")
        for names in ([each.name for each in self.method], [each.name for each in self.disturbance]):
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ValueError(f"{twice[0]!r} is there twice; name each method and each disturbance once")
        return self


def read_plan(path: Path, overrides: Sequence[str] = (), method: str | None = None) -> StudyPlan:
    """A plan, changed: what an override says of the plan's own sections holds there, all else for every method.

    With such settings `method` names them, and without it asks the one method of that name alone.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such plan; those that come with tmapr are in experiments/studies")
    tree = read_tree(path, _place_data)
    own = [each for each in overrides if each.split("=")[0].split(".")[0].strip() in StudyPlan.model_fields]
    override_tree(tree, own)
    plan = from_tree(StudyPlan, tree, str(path))
    methods = _choose_methods(plan, [each for each in overrides if each not in own], method, path)
    for each in methods:
        try:
            _check_method(each)
        except InputError as error:
            raise InputError(f"{path}: method {each.name!r}: {error}") from None
    return plan.model_copy(update={"method": tuple(methods)})


def _place_data(tree: Tree, file: Path) -> None:
    replace_paths(tree, ("real.data",), lambda _, value: from_folder(value, file.parent))


def _choose_methods(plan: StudyPlan, overrides: list[str], name: str | None, path: Path) -> Sequence[AskedMethod]:
    if overrides and name is None:
        raise InputError(f"--set {overrides[0]}: changes the method; give it a name with --method NAME")
    if overrides:
        changing = [each for each in plan.method if each.baseline == "none"]
        names = [str(name) if len(changing) == 1 else f"{name}-{each.name}" for each in changing]
        pairs = zip(changing, names, strict=True)
        return [changed(each, {"name": called, "set": [*each.set, *overrides]}) for each, called in pairs]
    found = [each for each in plan.method if name in (None, each.name)]
    if not found:
        raise InputError(f"--method {name}: is not in {path}; there are {', '.join(each.name for each in plan.method)}")
    return found


def _check_method(method: AskedMethod) -> None:
    """What cannot be asked is refused before anything is rendered."""
    system = method.system
    if system.labels.mode != "off":
        raise InputError(f"labels.mode = {system.labels.mode!r}: a study learns nothing; leave it off")
    if is_plugin(system.tracking.method):
        choose_offer("tracking.method", system.tracking.method, TRACKING)
