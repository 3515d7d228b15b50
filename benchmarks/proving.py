"""The proving grounds: rendered worlds that a method is judged on, how they are made ready, and the rows they leave.

A world is rendered, a pose head is trained where it has one, its drives are encoded, the day is mapped and one labelled
drive of another weather is learned, all with default settings and all kept under data/proving and runs/proving, so that
whatever was interrupted goes on. `proving_rows` keeps what a method does there.

Styles with even numbers are for choosing, odd ones for reporting, for ever.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder, read_head_error
from tmapr.evaluation.decisions import Mapped
from tmapr.experiment import Data, Experiment
from tmapr.localizer import Localizer
from tmapr.perception.recipes import Training
from tmapr.running.encoding import Encoding
from tmapr.running.progressive import RecognisedDrive, adapt, recognise_drive
from tmapr.simulation.record import Plan, write_dataset
from tmapr.simulation.traverse import Course, Traverse
from tmapr.simulation.weather import find_weather
from tmapr.system import Map, System, build, make_map, resume

Result = TypeVar("Result")

HOME = Path(__file__).parents[1]
FRAMES = 600
ALIASED = 0.85

_DAYS, _OTHERS, NIGHTS = ("noon", "overcast", "summer-noon"), ("dusk", "rain", "dawn"), ("night", "winter-night")
TRAINING = Training(epochs=40, patience=10, learning_rate=1e-3, decay_every=4)


@dataclass(frozen=True, slots=True)
class Ground:
    """One world: how it is made, when it is driven, and whether a pose head is trained in it."""

    family: str
    style: int
    seed: int
    day: str
    other: str
    """The weather of the labelled drive that is learned."""
    night: str
    aliasing: float = 0.3
    trained: bool = False
    sabotaged: bool = False
    """Whether it is driven with a U-turn, too."""

    @property
    def kind(self) -> str:
        """The family, with the city of copies as one of its own."""
        return f"aliased {self.family}" if self.aliasing == ALIASED else self.family

    @property
    def name(self) -> str:
        """Of its folders and of its rows."""
        return f"{self.kind.replace(' ', '-')}-{self.style}"

    @property
    def traverses(self) -> list[Traverse]:
        """All that is driven in it."""
        drives: dict[str, tuple[str, Course]] = {
            "day": (self.day, "lap"),
            "other": (self.other, "lap"),
            "night": (self.night, "lap"),
            "away": (self.night, "detour"),
        }
        if self.trained:
            drives |= {"day2": (self.day, "lap"), "wet": ("rain", "lap"), "day3": (self.day, "lap")}
        if self.sabotaged:
            drives |= {"turn": (self.night, "u-turn")}
        return [self.plan_traverse(name, weather, course) for name, (weather, course) in drives.items()]

    def plan_traverse(self, name: str, weather: str, course: Course = "lap", frames: int = FRAMES) -> Traverse:
        """A drive by its name: the same in every study."""
        return Traverse(name, find_weather(weather), zlib.crc32(f"{self.seed}/{name}".encode()), course, frames)


def _list_grounds(first: int, count: int, seed: int) -> tuple[Ground, ...]:
    """So many worlds of every kind in every second style from `first` on; of each kind the last is sabotaged.

    That one has a pose head.
    """
    grounds: list[Ground] = []
    weathers = zip(cycle(_DAYS), cycle(_OTHERS), cycle(NIGHTS), strict=False)
    for family, aliasing in (("campus", 0.3), ("city", 0.3), ("valley", 0.3), ("city", ALIASED)):
        start = first + 2 * count * (aliasing == ALIASED)
        for number in range(count):
            day, other, night = next(weathers)
            own = seed + len(grounds)
            last = number == count - 1
            grounds.append(Ground(family, start + 2 * number, own, day, other, night, aliasing, last, last))
    return tuple(grounds)


REPORTING = _list_grounds(first=1, count=5, seed=401)
CHOOSING = _list_grounds(first=2, count=3, seed=301)


@dataclass(frozen=True)
class ReadyGround:
    """A world that was mapped and adapted to; its percepts are kept."""

    ground: Ground
    experiment: Experiment
    folder: RunFolder

    @property
    def system(self) -> System:
        """The settings, all of them defaults."""
        return self.experiment.system

    def recording(self, name: str) -> Recording:
        """The percepts of a drive."""
        encoding = Encoding(self.experiment, self.folder)
        found = encoding.recording(name)
        encoding.publish()
        return found

    @cached_property
    def environment(self) -> Map:
        """The mapped day."""
        return Map.load(self.folder.map, self.system)

    @cached_property
    def mapped(self) -> Mapped:
        """Its references, and the streets off it that copy mapped ones."""
        memory = self.environment.memory
        return Mapped(memory.positions[memory.order], plan_world(self.ground).build_world().twins)

    def localizer(self) -> Localizer:
        """As adaptation left it."""
        return resume(self.system, self.environment, self.folder.state)

    def recognise(self, name: str) -> RecognisedDrive:
        """A drive, recognised in every usable frame."""
        return recognise_drive(self.localizer(), self.recording(name))

    def adapt(self, environment: Map) -> Localizer:
        """A localizer on a map, after the labelled drive."""
        localizer, other = build(self.system, environment), self.recording("other")
        localizer.expect_head(read_head_error(self.experiment.perception.apr))
        adapt(localizer, other, range(len(other)))
        return localizer


def plan_world(ground: Ground) -> Plan:
    """What the world is made from."""
    asked = {"family": ground.family, "seed": ground.seed, "aliasing": ground.aliasing, "style": ground.style}
    return Plan.model_validate({"layout": "folder"} | asked).fit_style(FRAMES)


def make_ready(ground: Ground, home: Path = HOME) -> ReadyGround:
    """Render, train, encode, map and adapt what is not there yet."""
    root, folder = home / "data/proving" / ground.name, RunFolder(home / "runs/proving" / ground.name)
    roles = Data(
        root=str(root),
        train=("day", "day2", "other", "wet") if ground.trained else (),
        validation=("day3",) if ground.trained else (),
        reference="day",
        adapt=("other",),
        test=("night", "away", "turn") if ground.sabotaged else ("night", "away"),
    )
    experiment = Experiment(name=ground.name, data=roles, training=TRAINING)
    wanted = [str(roles.reference), *roles.adapt, *roles.test]
    if not all(folder.percepts(name).exists() for name in wanted):
        write_dataset(root, plan_world(ground), ground.traverses)
        if ground.trained:
            train_pose_head(experiment, folder)
    ready = ReadyGround(ground, experiment.with_head(folder), folder)
    for name in wanted:
        ready.recording(name)
    if not folder.state.exists():
        map_and_adapt(ready)
    return ready


def map_and_adapt(ready: ReadyGround) -> None:
    """Map the day and learn the labelled drive."""
    environment = make_map(ready.system, ready.recording("day"))
    environment.save(ready.folder.map)
    ready.adapt(environment).save(ready.folder.path)


def work_on_each(work: Callable[[Ground], Result], grounds: Sequence[Ground], workers: int) -> Iterator[Result]:
    """What comes of each world, as it is finished; several at a time, each by one process."""
    if not grounds:
        return
    with ProcessPoolExecutor(min(workers, len(grounds)), mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(work, ground) for ground in grounds]):
            yield done.result()


def train_pose_head(experiment: Experiment, folder: RunFolder) -> None:
    """Train one as far as it is not trained."""
    from tmapr.perception.network import choose_device
    from tmapr.training.checkpoints import Checkpoints, finished
    from tmapr.training.fit import fit
    from tmapr.training.plan import TrainingData, plan_training, prepare_for_training

    settings, device = prepare_for_training(experiment), choose_device("auto")
    checkpoints = Checkpoints(settings, folder, "apr")
    if finished(checkpoints.history(), settings.training):
        return
    plan = plan_training(settings, "apr", TrainingData(settings, "apr", folder, device))
    for _ in fit(plan, checkpoints, device):
        pass
