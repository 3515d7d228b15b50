"""Every method on one experiment: the same data and split, as many images, one rule to stop, the same frames asked.

Networks are trained in `compare/` of the run folder, a folder for each method and seed; all share one cache.
Interrupted, the contest goes on where it stopped.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.documents.runs import Provenance
from tmapr.artifacts.documents.studies import ComparedMethod, Comparison
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.artifacts.trajectory import load_estimates
from tmapr.baselines.settings import Trunk
from tmapr.config import changed
from tmapr.evaluation.errors import position_errors
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.retrieval.memory import Memory
from tmapr.running.encoding import Encoding
from tmapr.running.running import map_experiment, run_experiment
from tmapr.studies.comparison import Contender, compare_contenders
from tmapr.system import Map
from tmapr.training.checkpoints import Checkpoints, Epochs, find_best
from tmapr.training.fit import Learner, fit
from tmapr.training.plan import TrainingData, TrainingPlan, plan_training, prepare_for_training
from tmapr.types import Watch

OURS = "full system"


@dataclass(frozen=True, slots=True)
class Entry:
    """A network that takes part; `trunk` is of baselines alone."""

    name: str
    model: str
    trunk: Trunk | None = None

    def label(self, seed: int) -> str:
        """Of its folder."""
        return "-".join(filter(None, (self.model, self.trunk, str(seed))))

    def configure(self, experiment: Experiment, seed: int) -> Experiment:
        """The experiment with this entry's trunk and seed."""
        values: dict[str, str | int | None] = {"training.seed": seed}
        if self.trunk is not None:
            values[f"baselines.{self.model}.trunk"] = self.trunk
        if self.trunk == "frozen":
            values[f"baselines.{self.model}.weights"] = None
        return changed(experiment, values)


APR = Entry("APR", "apr")
NETWORKS = (
    APR,
    *(Entry(name, name.lower(), trunk) for name in ("AtLoc", "RobustLoc", "ThermalLoc") for trunk in ("own", "frozen")),
)


@dataclass(frozen=True, slots=True)
class Placements:
    """Where a method puts frames of a sequence, by their numbers."""

    numbers: Int[np.ndarray, " frames"]
    positions: Float[np.ndarray, "frames 2"]


@dataclass(slots=True)
class Method:
    """What a method said of every test sequence, once for each seed."""

    name: str
    about: str = ""
    budget: str = ""
    said: dict[str, list[Placements]] = field(default_factory=dict)

    def note(self, sequence: str, places: Placements) -> None:
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
        if not data.scored or not data.references:
            raise InputError("data.test (or data.stream) and data.reference: a comparison needs both; name them")

    def hold(self, entries: Sequence[Entry], seeds: int, other_seeds: int) -> Comparison:
        """Train what is not trained, ask everyone about every test sequence, compare; also into comparison.json."""
        truth: dict[str, Placements] = {}
        marks: dict[str, str] = {}
        networks = [self._ask(entry, range(seeds if entry == APR else other_seeds)) for entry in entries]
        methods = [*self._run_systems(range(seeds), truth, marks), *networks]
        protocols = self._read_protocols()
        tests = {name: tuple(_compare(name, methods, truth[name], protocols[name])) for name in truth}
        comparison = Comparison(test=tests, truth=marks)
        comparison.save(self.folder.comparison_json)
        for name, places in truth.items():
            self._write(name, methods, places)
        return comparison

    def _ask(self, entry: Entry, seeds: Sequence[int]) -> Method:
        """Train a network with each seed and ask it about the test sequences."""
        method, budgets = Method(entry.name), []
        for seed in seeds:
            experiment = entry.configure(prepare_for_training(self.experiment), seed)
            data = TrainingData(experiment, entry.model, self.folder, self.device, self.watch)
            plan = plan_training(experiment, entry.model, data)
            checkpoints = Checkpoints(experiment, self._room(entry, seed), entry.model)
            began, before = perf_counter(), len(checkpoints.history())
            for _ in fit(plan, checkpoints, self.device):
                pass
            history = checkpoints.history()
            learner = Learner(plan.model, plan.settings, plan.feed, self.device)
            checkpoints.load_best(learner.network, plan.model)
            for name in self.experiment.data.scored:
                examples = data.load_plain_examples(name)
                method.note(name, Placements(examples.numbers, learner.poses(examples)[0]))
            method.about = plan.model.description
            budgets.append((plan, history))
            self.tell(_describe_training(entry, seed, plan, history, len(history) - before, perf_counter() - began))
        method.budget = _describe_budget(budgets)
        return method

    def _run_systems(
        self, seeds: Sequence[int], truth: dict[str, Placements], marks: dict[str, str]
    ) -> Iterator[Method]:
        """The system with each seed's pose head; what it sees also gives the retrieval and the constant."""
        ours, retrieval, constant = Method(OURS), Method("global retrieval"), Method("constant")
        for seed in seeds:
            room = self._room(APR, seed)
            experiment = APR.configure(self.experiment, seed).with_head(room)
            encoding = Encoding(experiment, room, self.device, self.watch, tell=self.tell)
            environment = map_experiment(experiment, room, self.watch, encoding)
            run_experiment(experiment, room, self.watch, encoding)
            for name in experiment.data.scored:
                recording = encoding.recording(name)
                everything = np.arange(len(recording))
                ours.note(name, Placements(everything, load_estimates(room.estimates(name)).positions))
                truth[name] = Placements(everything[recording.known], recording.truth[recording.known])
                marks[name] = recording.marks.truth
                if seed == seeds[0]:
                    retrieval.note(name, _retrieve(recording, environment.memory))
                    constant.note(name, Placements(everything, np.tile(_middle(environment), (len(recording), 1))))
            self.tell(f"{OURS}, seed {seed}: {room.path}")
        yield from (ours, retrieval, constant)

    def _read_protocols(self) -> dict[str, str]:
        """How the system's first run went through each sequence."""
        made = Provenance.load(self._room(APR, 0).provenance, f"tmapr compare {self.folder.experiment}")
        return {name: entry.protocol_name for name, entry in made.sequences.items()}

    def _room(self, entry: Entry, seed: int) -> RunFolder:
        return RunFolder(self.folder.comparison / entry.label(seed))

    def _write(self, sequence: str, methods: Sequence[Method], truth: Placements) -> None:
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


def _compare(sequence: str, methods: Sequence[Method], truth: Placements, protocol: str) -> list[ComparedMethod]:
    """Errors on the frames that have a true position and that every method places; only ours learns from a stream."""
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
    compared = compare_contenders(contenders, OURS)
    return [each.model_copy(update={"protocol": protocol if each.name == OURS else "test"}) for each in compared]


def _at(places: Placements, frames: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 2"]:
    return places.positions[np.searchsorted(places.numbers, frames)]


def _retrieve(recording: Recording, memory: Memory) -> Placements:
    """The reference whose descriptor is nearest, anywhere in the map."""
    seen = np.array([number for number, percept in enumerate(recording.percepts) if not percept.fault])
    rows = [int(memory.similarities(recording.percepts[number].descriptor).argmax()) for number in seen]
    return Placements(seen, memory.positions[rows])


def _middle(environment: Map) -> Float[np.ndarray, " 2"]:
    """The one answer that is least wrong, in the square, everywhere on the reference traverses."""
    middle: Float[np.ndarray, " 2"] = environment.memory.positions.mean(axis=0)
    return middle


def _describe_budget(trained: Sequence[tuple[TrainingPlan, Epochs]]) -> str:
    images = [len(plan.train) * len(history) for plan, history in trained]
    epochs = ", ".join(f"{find_best(history).number} of {len(history)}" for _, history in trained)
    spans = f"{min(images):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    if max(images) > min(images):
        spans += f" to {max(images):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{spans} images seen, {trained[0][0].weights:,} weights, best epoch {epochs}"


def _describe_training(
    entry: Entry, seed: int, plan: TrainingPlan, history: Epochs, epochs: int, seconds: float
) -> str:
    chosen = find_best(history)
    return (
        f"{entry.name} on {plan.model.description}, seed {seed}: best epoch {chosen.number} of {len(history)},"
        f" validation {chosen.median:.2f} m; {epochs} epochs in {seconds:.0f} s"
    )
