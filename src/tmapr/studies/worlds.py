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
from tmapr.studies.study_plan import Kind, StudyPlan, Worlds
from tmapr.types import NANOSECONDS

ALIASED = 0.85
"""Share of the city of copies that is copies."""
_KEPT = "proving"
"""In data/ and runs/: folders of rendered worlds."""
_COURSES: Mapping[str, Course] = {"night": "lap", "away": "detour", "turn": "u-turn"}
_TRAINING = Training(epochs=40, patience=10, learning_rate=1e-3, decay_every=4)
_REAL = {
    "gardens-night": ("gardens", "day_right", "night_right"),
    "gardens-left-night": ("gardens", "day_left", "night_right"),
    "gardens-right-left": ("gardens", "day_right", "day_left"),
    "kaist": ("kaist", "visible", "lwir"),
}
"""Folder, drive that is mapped, and drive that is asked."""
_STREAM = ("stlucia_0845.npz", "stlucia_1410.npz", "stlucia_gt.csv")
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
class StudyPlace:
    """Where a map is made and asked; those of one `site` show the same streets, and share a folder."""

    name: str
    kind: str
    site: str
    drives: tuple[str, ...]
    experiment: Experiment
    """Its drives and their roles; a stream of descriptors has none but the folder."""
    folder: RunFolder
    world: Plan | None = None
    traverses: tuple[Traverse, ...] = ()
    spacing: float = 0.0
    """Metres to which its map is thinned; 0: not at all."""

    @property
    def seed(self) -> int | None:
        """Of its world; None of a real set."""
        return self.world.seed if self.world else None

    @property
    def encoded(self) -> bool:
        """Whether its descriptors are the default encoder's."""
        return bool(self.experiment.data.references)

    def digest(self) -> str:
        """Names what it is made from: the plan of a world, the files of a real set."""
        made = {"perception": self.experiment.perception.model_dump(mode="json"), "spacing": self.spacing}
        if self.world:
            driven = [asdict(each) for each in self.traverses]
            return tree_digest(made | {"plan": self.world.model_dump(mode="json"), "traverses": driven})
        files = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in self._list_files()}
        return tree_digest(made | {name: hashlib.sha256(content).hexdigest() for name, content in files.items()})

    def _list_files(self) -> list[Path]:
        data = self.experiment.data
        root = Path(data.root)
        folders = [root / name for name in (*data.references, *data.test)] or [root]
        absent = [folder for folder in folders if not folder.is_dir()]
        if absent:
            raise InputError(f"real.data: there is no {absent[0]}; name the folder that holds {self.site}")
        files = [path for folder in folders for path in sorted(folder.iterdir())]
        return files if self.encoded else [root / name for name in _STREAM]

    def prepare(self) -> None:
        """Render, train and encode what is not there yet; only one process at a time may."""
        if self.world:
            write_dataset(Path(self.experiment.data.root), self.world, self.traverses)
        if self.experiment.data.train:
            train_pose_head(self.experiment, self.folder)
        encoding, data = Encoding(self.experiment.with_head(self.folder), self.folder), self.experiment.data
        for name in (*data.references, *data.adapt, *data.test):
            encoding.recording(name)
            encoding.publish()

    def open(self) -> OpenPlace:
        """Read what was made."""
        experiment = self.experiment.with_head(self.folder)
        data = experiment.data
        if not self.encoded:
            return open_stream(Path(data.root))
        load = {
            name: load_recording(experiment, self.folder.percepts(name), name)
            for name in (*data.references, *data.adapt, *data.test)
        }
        mapped = load[data.references[0]]
        return OpenPlace(
            thin_recording(mapped, self.spacing) if self.spacing else mapped,
            load[data.adapt[0]] if data.adapt else None,
            {drive: load[name] for drive, name in zip(self.drives, data.test, strict=True)},
            self.world.build_world().twins if self.world else (),
            read_head_error(experiment.perception.apr),
        )


def list_places(plan: StudyPlan, home: Path) -> list[StudyPlace]:
    """All places of a plan; `home` is the folder of data/ and runs/."""
    worlds = list_worlds(plan.worlds, plan.drives, home) if plan.worlds else []
    return worlds + ([make_real(name, Path(plan.real.data), home) for name in plan.real.sets] if plan.real else [])


def list_worlds(worlds: Worlds, drives: Sequence[str], home: Path) -> list[StudyPlace]:
    """So many of every family in every second style, each with a seed and weathers of its own."""
    weathers = zip(cycle(worlds.days), cycle(worlds.others), cycle(worlds.nights), strict=False)
    numbered = [(kind, number) for kind in worlds.families for number in range(worlds.count)]
    made = [
        (number, _make_world(worlds, kind, number, worlds.seed + count, driven, drives, home))
        for count, ((kind, number), driven) in enumerate(zip(numbered, weathers, strict=False))
    ]
    return [world for number, world in made if worlds.only == "all" or number == worlds.count - 1]


def _make_world(
    worlds: Worlds,
    kind: Kind,
    number: int,
    seed: int,
    weathers: tuple[str, str, str],
    drives: Sequence[str],
    home: Path,
) -> StudyPlace:
    day, other, night = weathers
    family, aliasing = kind.removeprefix("aliased "), ALIASED if kind == "aliased city" else worlds.aliasing
    # The city of copies has styles of its own.
    style = worlds.first_style + 2 * (number + worlds.count * (kind != family))
    asked = {"layout": "folder", "family": family, "seed": seed, "aliasing": aliasing, "style": style}
    trained = worlds.pose_head == "all" or (worlds.pose_head == "last" and number == worlds.count - 1)
    driven: dict[str, tuple[str, Course]] = {"day": (day, "lap"), "other": (other, "lap")}
    driven |= {name: (night, _COURSES[name]) for name in drives}
    driven |= {"day2": (day, "lap"), "wet": ("rain", "lap"), "day3": (day, "lap")} if trained else {}
    site = f"{kind.replace(' ', '-')}-{style}"
    data = Data(
        root=str(home / "data" / _KEPT / site),
        train=("day", "day2", "other", "wet") if trained else (),
        validation=("day3",) if trained else (),
        reference="day",
        adapt=("other",),
        test=tuple(drives),
    )
    return StudyPlace(
        name=f"{site}-{worlds.spacing:g}m" if worlds.spacing else site,
        kind=kind,
        site=site,
        drives=tuple(drives),
        experiment=Experiment(name=site, data=data, training=_TRAINING),
        # With a pose head percepts are others.
        folder=RunFolder(home / "runs" / _KEPT / (f"{site}-head" if trained else site)),
        world=Plan.model_validate(asked).fit_style(worlds.frames),
        traverses=tuple(
            Traverse(name, find_weather(weather), zlib.crc32(f"{seed}/{name}".encode()), course, worlds.frames)
            for name, (weather, course) in driven.items()
        ),
        spacing=worlds.spacing,
    )


def make_real(name: str, data: Path, home: Path) -> StudyPlace:
    """A real set: two drives of images, or St Lucia's stream of descriptors."""
    if name not in _REAL:
        root = str(data / "descriptors")
        return StudyPlace(name, name, name, ("query",), Experiment(data=Data(root=root)), RunFolder(home))
    site, reference, query = _REAL[name]
    roles = Data(root=str(data / site), reference=reference, test=(query,))
    folder = RunFolder(home / "runs" / _KEPT / site)
    return StudyPlace(name, name, site, ("query",), Experiment(name=site, data=roles), folder)


def open_stream(folder: Path) -> OpenPlace:
    """Positions are invented along a line; of two frames one was kept, so two frame numbers are one sampled frame."""
    table = np.loadtxt(folder / _STREAM[2], dtype=str, delimiter=",", skiprows=1)
    shown = {int(Path(query).stem): int(Path(reference).stem) for query, reference in table[:, :2].tolist()}

    def record(file: str, numbers: Mapping[int, int] | None) -> Recording:
        with np.load(folder / file) as stored:
            frames, descriptors = (
                [int(Path(name).stem) for name in stored["files"].tolist()],
                stored["rp768"].astype(float),
            )
        along = np.array([numbers[frame] if numbers else frame for frame in frames]) * _METRES / 2
        stamps = np.rint(np.arange(len(along)) * _SECONDS * NANOSECONDS).astype(np.int64)
        return Recording.from_arrays(
            Path(file).stem,
            stamps,
            descriptors / np.linalg.norm(descriptors, axis=1, keepdims=True),
            truth=np.stack([along, np.zeros_like(along)], axis=1),
        )

    return OpenPlace(record(_STREAM[0], None), None, {"query": record(_STREAM[1], shown)})


def train_pose_head(experiment: Experiment, folder: RunFolder) -> None:
    """Train one as far as it is not trained."""
    from tmapr.perception.network import choose_device
    from tmapr.training.checkpoints import Checkpoints, finished
    from tmapr.training.fit import fit
    from tmapr.training.plan import TrainingData, plan_training, prepare_for_training

    settings, device = prepare_for_training(experiment), choose_device("auto")
    checkpoints = Checkpoints(settings, folder, "apr")
    if not finished(checkpoints.history(), settings.training):
        plan = plan_training(settings, "apr", TrainingData(settings, "apr", folder, device))
        for _ in fit(plan, checkpoints, device):
            pass
