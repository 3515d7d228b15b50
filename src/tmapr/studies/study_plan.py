"""The plan of a study: which worlds, which drives at which rates, what is done to them, and which methods are asked.

Styles with even numbers are for choosing a method or its settings, odd ones for reporting, for ever.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, model_validator

from tmapr.config import Settings, changed
from tmapr.config.load import override_tree, read_tree
from tmapr.config.paths import from_folder, replace_paths
from tmapr.config.tree import Tree, from_tree
from tmapr.exceptions import InputError
from tmapr.plugins import TRACKING, choose_offer, is_plugin
from tmapr.simulation.weather import find_weather
from tmapr.studies.disturbances import DisturbanceName, needs_another_place
from tmapr.system import System

Kind = Literal["campus", "city", "valley", "aliased city"]
DriveName = Literal["night", "away", "turn"]
RealName = Literal["gardens-night", "gardens-left-night", "gardens-right-left", "kaist", "st-lucia"]
_PARITY = {"choose": 0, "report": 1}
_SHIPPED = "experiments/studies"


class Worlds(Settings):
    """Rendered worlds: `count` of each family in every second style, mapped by day, adapted to another weather."""

    families: tuple[Kind, ...] = Field(
        get_args(Kind), min_length=1, description="campus | city | valley | aliased city"
    )
    first_style: int = Field(description="of each family; the city of copies begins behind the plain one", ge=1)
    count: int = Field(1, ge=1, le=100, description="worlds of each family")
    seed: int = Field(ge=0, description="of the first world; each has the next one")
    only: Literal["all", "last"] = Field("all", description="which of each family's worlds are asked: all | last")
    frames: int = Field(600, ge=20, le=100_000, description="of each drive")
    aliasing: float = Field(0.3, ge=0, le=1, description="share of a world that is copies, but for the city of copies")
    days: tuple[str, ...] = Field(("noon", "overcast", "summer-noon"), min_length=1, description="weathers mapped in")
    others: tuple[str, ...] = Field(("dusk", "rain", "dawn"), min_length=1, description="weathers adapted to")
    nights: tuple[str, ...] = Field(("night", "winter-night"), min_length=1, description="weathers asked in")
    pose_head: Literal["none", "last", "all"] = Field("none", description="which worlds have one trained")
    spacing: float = Field(0.0, ge=0, description="metres to which maps are thinned; 0: every frame is a reference")


class RealSets(Settings):
    """Real traverses with invented positions."""

    data: str = Field(description="folder with gardens/, kaist/ and descriptors/")
    sets: tuple[RealName, ...] = Field(get_args(RealName), min_length=1, description="which of them")


class Disturb(Settings):
    """What is done to drives, each time to the drive as it was recorded."""

    name: DisturbanceName = Field(description="what happens")
    drives: tuple[str, ...] = Field(("night", "query"), description="to which drives; a real set's is its query")
    begin: float = Field(0.4, ge=0, lt=1, description="where it begins, a share of the drive")
    end: float = Field(0.6, gt=0, le=1, description="where it ends")


class Method(Settings):
    """A way to localize: the default with other settings, or a baseline."""

    name: str = Field("default", pattern=r"^\w[\w.-]*$", description="of the folder of its rows")
    baseline: Literal["none", "first", "sequence"] = Field("none", description="plain candidates, or ten-frame lines")
    set: tuple[str, ...] = Field((), description="settings, as --set has them: 'places.cell = 20'")

    @property
    def system(self) -> System:
        """Its settings."""
        tree: Tree = {}
        override_tree(tree, self.set)
        return from_tree(System, tree, f"method {self.name!r}")


class StudyPlan(Settings):
    """Everything that a plan's file can say."""

    name: str = Field(pattern=r"^\w[\w.-]*$", description="of the folder of its rows")
    purpose: Literal["choose", "report"] = Field(description="choose: even styles alone; report: odd ones alone")
    worlds: Worlds | None = None
    real: RealSets | None = None
    drives: tuple[DriveName, ...] = Field(("night", "away"), description="in a world: a lap, with a detour, u-turns")
    every: tuple[int, ...] = Field((1,), min_length=1, description="every so many frames are shown, each rate anew")
    foreign: bool = Field(False, description="whether every map is asked with the drives of all other places")
    disturbance: tuple[Disturb, ...] = Field((), description="what is done to drives")
    method: tuple[Method, ...] = Field((Method(),), min_length=1, description="what is asked")

    @model_validator(mode="after")
    def _check(self) -> "StudyPlan":
        if not self.worlds and not self.real:
            raise ValueError("neither [worlds] nor [real] is given; name at least one")
        if self.worlds and self.worlds.first_style % 2 != _PARITY[self.purpose]:
            wanted = "even styles, odd ones are for reporting" if self.purpose == "choose" else "odd styles alone"
            raise ValueError(
                f"worlds.first_style = {self.worlds.first_style}: purpose = {self.purpose!r} takes {wanted}"
            )
        if any(rate < 1 for rate in self.every):
            raise ValueError(f"every = {list(self.every)}: give whole numbers from 1 on")
        names = [each.name for each in self.method]
        twice = [name for name in names if names.count(name) > 1] + [
            each.name for each in self.disturbance if [other.name for other in self.disturbance].count(each.name) > 1
        ]
        if twice:
            raise ValueError(f"{twice[0]!r} is there twice; give each method and each disturbance once")
        lone = next((each.name for each in self.disturbance if needs_another_place(each.name)), None)
        if (self.foreign or lone) and self._count_places() < 2:
            what = f"disturbance {lone!r}" if lone else "foreign = true"
            raise ValueError(f"{what} needs another place; ask two worlds or more")
        return self

    def _count_places(self) -> int:
        worlds, real = self.worlds, self.real
        each = len(worlds.families) * (worlds.count if worlds.only == "all" else 1) if worlds else 0
        return each + len({name.split("-")[0] for name in real.sets if name != "st-lucia"} if real else ())


def read_plan(path: Path, overrides: Sequence[str] = (), method: str | None = None) -> StudyPlan:
    """A plan, changed: what an override says of the plan's own sections holds there, all else for every method.

    With such settings `method` names them, and without it asks the one method of that name alone.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such plan; those that come with tmapr are in {_SHIPPED}")
    tree = read_tree(path, _place_data)
    own = [each for each in overrides if each.split("=")[0].split(".")[0].strip() in StudyPlan.model_fields]
    override_tree(tree, own)
    plan = from_tree(StudyPlan, tree, str(path))
    chosen = _choose_methods(plan, [each for each in overrides if each not in own], method, path)
    return plan.model_copy(update={"method": tuple(map(_check_method, chosen))})


def _place_data(tree: Tree, file: Path) -> None:
    replace_paths(tree, ("real.data",), lambda _, value: from_folder(value, file.parent))


def _choose_methods(plan: StudyPlan, overrides: Sequence[str], name: str | None, path: Path) -> Iterable[Method]:
    if overrides:
        if name is None:
            raise InputError(f"--set {overrides[0]}: changes the method; give it a name of its own with --method NAME")
        changing = [each for each in plan.method if each.baseline == "none"]
        return [
            changed(
                each, {"name": name if len(changing) == 1 else f"{name}-{each.name}", "set": [*each.set, *overrides]}
            )
            for each in changing
        ]
    if name is None:
        return plan.method
    found = [each for each in plan.method if each.name == name]
    if not found:
        raise InputError(
            f"--method {name}: {path} has {', '.join(each.name for each in plan.method)}; name one of them"
        )
    return found


def _check_method(method: Method) -> Method:
    """What cannot be asked is refused before anything is rendered."""
    system = method.system
    if system.labels.mode != "off":
        raise InputError(
            f"method {method.name!r}: labels.mode = {system.labels.mode!r}: a study asks, and learns nothing"
        )
    if is_plugin(system.tracking.method):
        choose_offer("tracking.method", system.tracking.method, TRACKING)
    return method


def check_weathers(worlds: Worlds) -> None:
    """Refuse the name of a weather that there is not."""
    for name in (*worlds.days, *worlds.others, *worlds.nights):
        find_weather(name)
