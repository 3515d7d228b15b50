"""The places of a study: rendered worlds and real sets, made ready under data/ and runs/, and opened to be asked.

A world is rendered, a pose head is trained where it has one, and its drives are encoded, each once for all methods and
all studies; what was interrupted goes on.
"""

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder, read_head_error
from tmapr.config.dump import tree_digest
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment
from tmapr.perception.recipes import Training
from tmapr.running.encoding import Encoding, load_recording
from tmapr.simulation.record import Plan, write_dataset
from tmapr.simulation.traverse import Course, Traverse
from tmapr.simulation.weather import find_weather
from tmapr.studies.disturbances import thin_recording
from tmapr.studies.study_plan import RealSets, StudyPlan, Worlds
from tmapr.types import NANOSECONDS, Watch

ALIASED = 0.85
"""Share of the city of copies that is copies."""
_KEPT = "proving"
"""In data/ and runs/: folders of rendered worlds."""
_COURSES: Mapping[str, Course] = {"night": "lap", "away": "detour", "turn": "u-turn"}
_TRAINING = Training(epochs=40, patience=10, learning_rate=1e-3, decay_every=4)
_METRES, _SECONDS = 2.0, 0.2
"""From one sampled frame of a stream of descriptors to the next: a car at 10 m/s."""


@dataclass(frozen=True, slots=True)
class OpenPlace:
    """What is mapped, what is adapted to, if anything, and what is asked."""

    reference: Recording
    adapted: Recording | None
    drives: Mapping[str, Recording]
    twins: tuple[Float[np.ndarray, "2 2"], ...] = ()
    """Streets off the map that copy mapped ones."""
    head_error: float | None = None
    """What validation says of its pose head, metres."""


@dataclass(frozen=True, slots=True)
class WorldPlace:
    """A rendered world: how it is made, when it is driven, and whether a pose head is trained in it."""

    family: str
    style: int
    seed: int
    day: str
    other: str
    """The weather of the labelled drive that is learned."""
    night: str
    aliasing: float
    frames: int
    drives: tuple[str, ...]
    trained: bool = False
    spacing: float = 0.0

    encoded = True

    @property
    def kind(self) -> str:
        """The family, with the city of copies as one of its own."""
        return f"aliased {self.family}" if self.aliasing == ALIASED else self.family

    @property
    def site(self) -> str:
        """The name of its folders."""
        return f"{self.kind.replace(' ', '-')}-{self.style}"

    @property
    def name(self) -> str:
        """Of its rows."""
        return f"{self.site}-{self.spacing:g}m" if self.spacing else self.site

    @property
    def plan(self) -> Plan:
        """What the world is made from."""
        asked = {"family": self.family, "seed": self.seed, "aliasing": self.aliasing, "style": self.style}
        return Plan.model_validate({"layout": "folder"} | asked).fit_style(self.frames)

    @property
    def traverses(self) -> list[Traverse]:
        """All that is driven in it."""
        driven: dict[str, tuple[str, Course]] = {"day": (self.day, "lap"), "other": (self.other, "lap")}
        driven |= {name: (self.night, _COURSES[name]) for name in self.drives}
        if self.trained:
            driven |= {"day2": (self.day, "lap"), "wet": ("rain", "lap"), "day3": (self.day, "lap")}
        return [
            Traverse(name, find_weather(weather), zlib.crc32(f"{self.seed}/{name}".encode()), course, self.frames)
            for name, (weather, course) in driven.items()
        ]

    def digest(self) -> str:
        """Of the plan of the world, of its drives, and of what is done to its map."""
        traverses = [asdict(each) for each in self.traverses]
        made = {"plan": self.plan.model_dump(mode="json"), "traverses": traverses, "spacing": self.spacing}
        return tree_digest(made | {"perception": self._experiment(Path()).perception.model_dump(mode="json")})

    def _experiment(self, home: Path) -> Experiment:
        roles = Data(
            root=str(home / "data" / _KEPT / self.site),
            train=("day", "day2", "other", "wet") if self.trained else (),
            validation=("day3",) if self.trained else (),
            reference="day",
            adapt=("other",),
            test=self.drives,
        )
        return Experiment(name=self.site, data=roles, training=_TRAINING)

    def _folder(self, home: Path) -> RunFolder:
        """One with a pose head has percepts of its own."""
        return RunFolder(home / "runs" / _KEPT / (f"{self.site}-head" if self.trained else self.site))

    def prepare(self, home: Path, watch: Watch = iter) -> None:
        """Render, train and encode."""
        experiment, folder = self._experiment(home), self._folder(home)
        write_dataset(Path(experiment.data.root), self.plan, self.traverses, watch)
        if self.trained:
            train_pose_head(experiment, folder)
        encoding = Encoding(experiment.with_head(folder), folder, watch=watch)
        for name in ("day", "other", *self.drives):
            encoding.recording(name)
            encoding.publish()

    def open(self, home: Path) -> OpenPlace:
        """The percepts."""
        folder = self._folder(home)
        experiment = self._experiment(home).with_head(folder)

        def load(name: str) -> Recording:
            return load_recording(experiment, folder.percepts(name), name)

        day = thin_recording(load("day"), self.spacing) if self.spacing else load("day")
        drives = {name: load(name) for name in self.drives}
        twins, error = self.plan.build_world().twins, read_head_error(experiment.perception.apr)
        return OpenPlace(day, load("other"), drives, twins, error)


@dataclass(frozen=True, slots=True)
class RealPlace:
    """A real set: two drives of images, or, without a folder of them, St Lucia's stream of descriptors."""

    name: str
    data: str
    folder: str = ""
    reference: str = ""
    query: str = ""

    kind = "real"
    style = None
    seed = None
    drives = ("query",)

    @property
    def site(self) -> str:
        """The same for all drives of a place."""
        return self.folder or self.name

    @property
    def encoded(self) -> bool:
        """Whether its descriptors are the default encoder's."""
        return bool(self.folder)

    @property
    def _files(self) -> list[Path]:
        root = Path(self.data)
        if not self.folder:
            return [root / "descriptors" / name for name in _ST_LUCIA]
        return [
            path for drive in (self.reference, self.query) for path in sorted((root / self.folder / drive).iterdir())
        ]

    def digest(self) -> str:
        """Of the files."""
        root, found = Path(self.data), hashlib.sha256(self.name.encode())
        there = root / self.folder / self.reference if self.folder else root / "descriptors" / _ST_LUCIA[0]
        if not there.exists():
            raise InputError(
                f"real.data = {self.data!r}: holds no {there.relative_to(root)}; name the folder that does"
            )
        for path in self._files:
            found.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
        return found.hexdigest()

    def prepare(self, home: Path, watch: Watch = iter) -> None:
        """Encode the images."""
        if self.folder:
            encoding = Encoding(self._experiment, self._folder(home), watch=watch)
            for name in (self.reference, self.query):
                encoding.recording(name)
                encoding.publish()

    def open(self, home: Path) -> OpenPlace:
        """The percepts; nothing is adapted to."""
        if not self.folder:
            return _open_st_lucia(Path(self.data) / "descriptors")
        folder = self._folder(home)
        mapped, query = (
            load_recording(self._experiment, folder.percepts(name), name) for name in (self.reference, self.query)
        )
        return OpenPlace(mapped, None, {"query": query})

    @property
    def _experiment(self) -> Experiment:
        roles = Data(root=str(Path(self.data) / self.folder), reference=self.reference, test=(self.query,))
        return Experiment(name=self.folder, data=roles)

    def _folder(self, home: Path) -> RunFolder:
        return RunFolder(home / "runs" / _KEPT / self.folder)


_DRIVES = {
    "gardens-night": ("gardens", "day_right", "night_right"),
    "gardens-left-night": ("gardens", "day_left", "night_right"),
    "gardens-right-left": ("gardens", "day_right", "day_left"),
    "kaist": ("kaist", "visible", "lwir"),
    "st-lucia": ("", "", ""),
}
_ST_LUCIA = ("stlucia_0845.npz", "stlucia_1410.npz", "stlucia_gt.csv")


def _open_st_lucia(folder: Path) -> OpenPlace:
    """Positions are invented along a line; of two frames one was kept, so two frame numbers are one sampled frame."""
    pairs = np.char.partition(np.loadtxt(folder / _ST_LUCIA[2], dtype=str, delimiter=",", skiprows=1), ".")[..., 0]
    shown = {int(query): int(reference) for query, reference in pairs[:, :2].tolist()}

    def record(file: str, number: Mapping[int, int] | None) -> Recording:
        with np.load(folder / file) as stored:
            frames = [int(Path(str(name)).stem) for name in stored["files"]]
            descriptors = stored["rp768"].astype(float)
        along = np.array([number[frame] if number else frame for frame in frames]) * _METRES / 2
        stamps = np.rint(np.arange(len(along)) * _SECONDS * NANOSECONDS).astype(np.int64)
        truth = np.stack([along, np.zeros_like(along)], axis=1)
        unit = descriptors / np.linalg.norm(descriptors, axis=1, keepdims=True)
        return Recording.from_arrays(Path(file).stem, stamps, unit, truth=truth)

    return OpenPlace(record(_ST_LUCIA[0], None), None, {"query": record(_ST_LUCIA[1], shown)})


Place = WorldPlace | RealPlace
"""Places of one `site` show the same streets."""


def list_places(plan: StudyPlan) -> list[Place]:
    """All places of a plan."""
    worlds: list[Place] = [*list_worlds(plan.worlds, plan.drives)] if plan.worlds else []
    return worlds + (list_real(plan.real) if plan.real else [])


def list_real(real: RealSets) -> list[Place]:
    """The real sets."""
    return [RealPlace(name, real.data, *_DRIVES[name]) for name in real.sets]


def list_worlds(worlds: Worlds, drives: Sequence[str]) -> list[WorldPlace]:
    """So many of every family in every second style, each with a seed and weathers of its own."""
    found: list[WorldPlace] = []
    weathers = zip(cycle(worlds.days), cycle(worlds.others), cycle(worlds.nights), strict=False)
    for number, kind in enumerate(kind for kind in worlds.families for _ in range(worlds.count)):
        family, place, last = kind.removeprefix("aliased "), number % worlds.count, (number + 1) % worlds.count == 0
        copies = kind != family
        day, other, night = next(weathers)
        world = WorldPlace(
            family=family,
            style=worlds.first_style + 2 * place + 2 * worlds.count * copies,
            seed=worlds.seed + number,
            day=day,
            other=other,
            night=night,
            aliasing=ALIASED if copies else worlds.aliasing,
            frames=worlds.frames,
            drives=tuple(drives),
            trained=worlds.pose_head == "all" or (worlds.pose_head == "last" and last),
            spacing=worlds.spacing,
        )
        if last or worlds.only == "all":
            found.append(world)
    return found


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
