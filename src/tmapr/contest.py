"""Every method on one experiment: the same data and split, as many images, one rule to stop, the same frames asked.

Networks are trained in `compare/` of the run folder, a folder for each method and seed; all share one cache.
Interrupted, the contest goes on where it stopped.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder, save_json
from tmapr.artifacts.trajectory import load_estimates
from tmapr.evaluation.comparison import Contender, Row, compare
from tmapr.evaluation.encoding import Encoding
from tmapr.evaluation.errors import position_errors
from tmapr.evaluation.running import map_experiment, run_experiment
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.retrieval.memory import Memory
from tmapr.system import Map, Watch
from tmapr.training.checkpoints import Checkpoints, History, best
from tmapr.training.course import Course, Material, plan, trainable
from tmapr.training.fit import Learner, fit

OURS = "full system"
Trunk = Literal["own", "frozen"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A network that takes part; `trunk` is of baselines alone."""

    name: str
    model: str
    trunk: Trunk | None = None

    def label(self, seed: int) -> str:
        """Of its folder."""
        return "-".join(filter(None, (self.model, self.trunk, str(seed))))

    def within(self, experiment: Experiment, seed: int) -> Experiment:
        """The experiment with this entry's trunk and seed."""
        training = experiment.training.model_copy(update={"seed": seed})
        given = experiment.model_copy(update={"training": training})
        if self.trunk is None:
            return given
        recipe = getattr(experiment.baselines, self.model).model_copy(update={"trunk": self.trunk})
        if self.trunk == "frozen":
            recipe = recipe.model_copy(update={"weights": None})
        return given.model_copy(update={"baselines": experiment.baselines.model_copy(update={self.model: recipe})})


APR = Entry("APR", "apr")
NETWORKS = (
    APR,
    *(Entry(name, name.lower(), trunk) for name in ("AtLoc", "RobustLoc", "ThermalLoc") for trunk in ("own", "frozen")),
)


@dataclass(frozen=True, slots=True)
class Places:
    """Where a method puts frames of a sequence, by their numbers."""

    numbers: Int[np.ndarray, " frames"]
    positions: Float[np.ndarray, "frames 2"]


@dataclass(slots=True)
class Method:
    """What a method said of every test sequence, once for each seed."""

    name: str
    about: str = ""
    budget: str = ""
    said: dict[str, list[Places]] = field(default_factory=dict)

    def note(self, sequence: str, places: Places) -> None:
        """Keep what one seed said."""
        self.said.setdefault(sequence, []).append(places)


@dataclass(frozen=True, slots=True)
class Contest:
    """An experiment in which networks are trained and compared with the whole system."""

    experiment: Experiment
    folder: RunFolder
    device: str = "cpu"
    watch: Watch = iter
    tell: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        data = self.experiment.data
        if not data.test or data.reference is None:
            raise InputError("data.test and data.reference: a comparison needs both; name them")

    def held(self, entries: Sequence[Entry], seeds: int, other_seeds: int) -> dict[str, list[Row]]:
        """Train what is not trained, ask everyone about every test sequence, compare; also into comparison.json."""
        truth: dict[str, Places] = {}
        networks = [self._asked(entry, range(seeds if entry == APR else other_seeds)) for entry in entries]
        methods = [*self._whole(range(seeds), truth), *networks]
        results = {name: _compared(name, methods, truth[name]) for name in self.experiment.data.test}
        rows = {name: [row.as_dict() for row in found] for name, found in results.items()}
        save_json(self.folder.comparison / "comparison.json", {"test": rows})
        for name, places in truth.items():
            self._write(name, methods, places)
        return results

    def _asked(self, entry: Entry, seeds: Sequence[int]) -> Method:
        """Train a network with each seed and ask it about the test sequences."""
        method, budgets = Method(entry.name), []
        for seed in seeds:
            experiment = entry.within(trainable(self.experiment), seed)
            material = Material(experiment, entry.model, self.folder, self.device, self.watch)
            course = plan(experiment, entry.model, material)
            checkpoints = Checkpoints(experiment, self._room(entry, seed), entry.model)
            began, before = perf_counter(), len(checkpoints.history())
            for _ in fit(course, checkpoints, self.device):
                pass
            history = checkpoints.history()
            learner = Learner(course.subject, course.settings, course.feed, self.device)
            checkpoints.recall(learner.network, course.subject)
            for name in self.experiment.data.test:
                examples = material.recorded(name)
                method.note(name, Places(examples.numbers, learner.poses(examples)[0]))
            method.about = course.subject.described
            budgets.append((course, history))
            self.tell(_told(entry, seed, course, history, len(history) - before, perf_counter() - began))
        method.budget = _budget(budgets)
        return method

    def _whole(self, seeds: Sequence[int], truth: dict[str, Places]) -> Iterator[Method]:
        """The system with each seed's pose head; what it sees also gives the retrieval and the constant."""
        ours, retrieval, constant = Method(OURS), Method("global retrieval"), Method("constant")
        for seed in seeds:
            room = self._room(APR, seed)
            experiment = APR.within(self.experiment, seed).with_head(room)
            encoding = Encoding(experiment, room, self.device, self.watch)
            environment = map_experiment(experiment, room, self.watch, encoding)
            run_experiment(experiment, room, self.watch, encoding)
            for name in experiment.data.test:
                recording = encoding.recording(name)
                everything = np.arange(len(recording))
                ours.note(name, Places(everything, load_estimates(room.estimates(name)).positions))
                truth[name] = Places(everything[recording.known], recording.truth[recording.known])
                if seed == seeds[0]:
                    retrieval.note(name, _nearest(recording, environment.memory))
                    constant.note(name, Places(everything, np.tile(_middle(environment), (len(recording), 1))))
            self.tell(f"{OURS}, seed {seed}: {room.path}")
        yield from (ours, retrieval, constant)

    def _room(self, entry: Entry, seed: int) -> RunFolder:
        return RunFolder(self.folder.comparison / entry.label(seed))

    def _write(self, sequence: str, methods: Sequence[Method], truth: Places) -> None:
        """What everyone said, for programs that draw: one line a frame, method and seed."""
        lines = ["number,method,variant,seed,x,y,true_x,true_y"]
        known = dict(zip(truth.numbers.tolist(), truth.positions.tolist(), strict=True))
        for method in methods:
            for seed, places in enumerate(method.said[sequence]):
                for number, (x, y) in zip(places.numbers.tolist(), places.positions.tolist(), strict=True):
                    if number in known:
                        true_x, true_y = known[number]
                        name = f"{method.name},{method.about.replace(',', ';')}"
                        lines.append(f"{number},{name},{seed},{x:.3f},{y:.3f},{true_x:.3f},{true_y:.3f}")
        write_text(self.folder.placements(sequence), "\n".join(lines) + "\n")


def _compared(sequence: str, methods: Sequence[Method], truth: Places) -> list[Row]:
    """Errors on the frames that have a true position and that every method places."""
    frames = truth.numbers
    for method in methods:
        for places in method.said[sequence]:
            frames = np.intersect1d(frames, places.numbers)
    if not len(frames):
        raise InputError(f"{sequence}: no frame has a true position and a usable image; nothing to compare")
    true = _at(truth, frames)
    contenders = [
        Contender(
            method.name,
            method.about,
            tuple(position_errors(_at(places, frames), true) for places in method.said[sequence]),
            method.budget,
        )
        for method in methods
    ]
    return compare(contenders, OURS)


def _at(places: Places, frames: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 2"]:
    return places.positions[np.searchsorted(places.numbers, frames)]


def _nearest(recording: Recording, memory: Memory) -> Places:
    """The reference whose descriptor is nearest, anywhere in the map."""
    seen = np.array([number for number, percept in enumerate(recording.percepts) if not percept.fault])
    rows = [int(memory.similarities(recording.percepts[number].descriptor).argmax()) for number in seen]
    return Places(seen, memory.positions[rows])


def _middle(environment: Map) -> Float[np.ndarray, " 2"]:
    """The one answer that is least wrong, in the square, everywhere on the reference traverse."""
    middle: Float[np.ndarray, " 2"] = environment.memory.positions.mean(axis=0)
    return middle


def _budget(trained: Sequence[tuple[Course, History]]) -> str:
    images = [len(course.train) * len(history) for course, history in trained]
    epochs = ", ".join(f"{best(history).number} of {len(history)}" for _, history in trained)
    spans = f"{min(images):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    if max(images) > min(images):
        spans += f" to {max(images):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{spans} images seen, {trained[0][0].weights:,} weights, best epoch {epochs}"


def _told(entry: Entry, seed: int, course: Course, history: History, epochs: int, seconds: float) -> str:
    chosen = best(history)
    return (
        f"{entry.name} on {course.subject.described}, seed {seed}: best epoch {chosen.number} of {len(history)},"
        f" validation {chosen.median:.2f} m; {epochs} epochs in {seconds:.0f} s"
    )
