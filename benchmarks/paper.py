"""The paper's experiments on its own data: every stage, then its Tables II to V with our numbers beside.

    python benchmarks/paper.py DATA [--runs DIR] [--weights DIR] [--device NAME] [--set PATH=VALUE …]
                                    [--workers N] [--frames N] [--updates N]

DATA holds ms2/ and sthereo/, or one of them, or is one of them; experiments/paper says which drives are needed. All
that is missing is told before anything long begins. Stages are commands, printed as one would type them. Interrupted,
the same line goes on where it stopped: what is there, and follows from the settings, weights and images as they are
now, is not made again. The tables are printed and go to RUNS/paper/tables.md.
"""

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from paper_tables import describe_tables
from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.run import RunFolder
from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment, experiment_digest, read_experiment
from tmapr.perception.settings import DEFAULT
from tmapr.reports.tables.ablation_runs import load_ablations
from tmapr.running.finished import FinishedRun
from tmapr.system import Map
from tmapr.training.checkpoints import Checkpoints, finished
from tmapr.training.plan import prepare_for_training

EXPERIMENTS = Path(__file__).parents[1] / "experiments/paper"


@dataclass(frozen=True, slots=True)
class PublicSet:
    """A data set of the paper: how its tables call it, how its folder is known, what of a drive must be there."""

    title: str
    recordings: str
    folder: str
    sign: str
    experiment: str
    parts: tuple[str, ...]
    source: str

    def find(self, data: Path) -> Path | None:
        """A folder of that name in DATA, or DATA itself."""
        named = [child for child in sorted(data.iterdir()) if child.name.lower() == self.folder and child.is_dir()]
        return named[0] if named else data if any(data.glob(self.sign)) else None

    def list_missing(self, root: Path, data: Data) -> Iterator[str]:
        """A line for each drive that is not whole."""
        cameras = dict.fromkeys(name.rpartition("/")[::2] for names in data.roles.values() for name in names)
        for drive in dict.fromkeys(drive for drive, _ in cameras):
            sides = [side for of, side in cameras if of == drive]
            parts = dict.fromkeys(part.format(drive=drive, side=side) for part in self.parts for side in sides)
            lacking = [part for part in parts if not holds_files(root / part)]
            if lacking:
                yield f"{self.title}, drive {drive}: {root} lacks {', '.join(lacking)}; {self.source}"


SETS = (
    PublicSet(
        title="MS2",
        recordings="MS2",
        folder="ms2",
        sign="sync_data",
        experiment="ms2-campus.toml",
        parts=("sync_data/{drive}/thr/img_{side}", "sync_data/{drive}/gps_imu/data", "odom/{drive}/thr"),
        source="get the drive's archives of sync_data and odom at sites.google.com/view/multi-spectral-stereo-dataset",
    ),
    PublicSet(
        title="STheReO",
        recordings="STherO Valley",
        folder="sthereo",
        sign="*/image/stereo_thermal_14_left",
        experiment="sthereo-valley.toml",
        parts=("{drive}/image/stereo_thermal_14_{side}", "{drive}/pose/global_pose.csv"),
        source="get the drive's image.tar and pose.tar of STheReO at sites.google.com/view/rpmsthereo",
    ),
)


@dataclass(frozen=True, slots=True)
class PaperRun:
    """An experiment of the paper on a data set that is there."""

    of: PublicSet
    file: Path
    folder: RunFolder
    overrides: tuple[str, ...]

    def load(self) -> Experiment:
        """The experiment with the pose head, once that is trained."""
        return read_experiment(self.file, self.overrides).with_head(self.folder)

    @property
    def latency(self) -> Path:
        """What `bench` measured."""
        return self.folder.path / "latency.json"

    @property
    def asked(self) -> str:
        """The sequence that the paper's tables are about: the last one."""
        return self.load().data.scored[-1]


def is_trained(run: PaperRun) -> bool:
    experiment = prepare_for_training(run.load())
    return finished(Checkpoints(experiment, run.folder, "apr").history(), experiment.training)


def is_mapped(run: PaperRun) -> bool:
    """With these settings and weights; whether images changed since, `run` sees."""
    experiment, where = run.load(), run.folder.map
    made = read_experiment(run.folder.experiment)
    environment = Map.load(where, experiment.system, experiment.data.references)
    experiment.perception.refuse_others(str(where), environment.origin)
    # A head is known by its content, which was looked at, and not by its path.
    return bool(made == changed(experiment, {"perception.apr": made.perception.apr}))


def is_run(run: PaperRun) -> bool:
    done = FinishedRun.load(run.folder)
    for name in run.load().data.scored:
        done.trial(name)
    return is_mapped(run)


def is_evaluated(run: PaperRun) -> bool:
    return run.folder.errors.exists()  # which the next `run` removes


def is_ablated(run: PaperRun) -> bool:
    return load_ablations([run.folder.path])[0].ablation.settings_sha256 == experiment_digest(run.load())


def is_timed(run: PaperRun) -> bool:
    return run.latency.stat().st_mtime >= run.folder.provenance.stat().st_mtime


Words = Sequence[object]
STAGES: Mapping[str, tuple[Callable[[PaperRun], bool], Callable[[PaperRun, argparse.Namespace], Words]]] = {
    # Before the first long one, and not again once that is over.
    "check": (is_trained, lambda run, _: [run.file, *list_sets(run)]),
    "train": (is_trained, lambda run, given: [run.file, *locate(run), "--device", given.device]),
    "map": (is_mapped, lambda run, given: [run.file, *locate(run), "--device", given.device]),
    "run": (is_run, lambda run, given: [run.file, *locate(run), "--device", given.device]),
    "evaluate": (is_evaluated, lambda run, _: [run.folder.path]),
    "ablate": (is_ablated, lambda run, given: [run.file, *locate(run), *list_options(given, "device", "workers")]),
    "bench": (
        is_timed,
        lambda run, given: [
            run.folder.path,
            *("--out", run.latency),
            *list_options(given, "device", "frames", "updates"),
        ],
    ),
}
"""In this order: whether a stage has nothing to do, and what its command is given."""


def list_sets(run: PaperRun) -> list[str]:
    return [word for each in run.overrides for word in ("--set", each)]


def locate(run: PaperRun) -> list[object]:
    return ["--run", run.folder.path, *list_sets(run)]


def list_options(given: argparse.Namespace, *names: str) -> list[str]:
    options = {name: vars(given)[name] for name in names}
    return [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]


def holds_files(path: Path) -> bool:
    return path.is_file() or (path.is_dir() and any(path.iterdir()))


def has_nothing_to_do(is_done: Callable[[PaperRun], bool], run: PaperRun) -> bool:
    """What cannot be read, or was made from something else, is to be made."""
    try:
        return is_done(run)
    except (InputError, FileNotFoundError):
        return False


def plan(given: argparse.Namespace) -> tuple[list[PaperRun], list[str], list[str]]:
    """The runs on what is there, lines on data sets that are left out, and on what is missing of the others."""
    if not given.data or not Path(given.data).is_dir():
        raise InputError(f"DATA={given.data}: is no folder; name the one that holds ms2/ and sthereo/, or either")
    data = Path(given.data)
    runs, left_out, missing = [], [], list[str]()
    for one in SETS:
        root = one.find(data)
        if root is None:
            left_out.append(f"{one.title} is left out: {data} has no {one.folder}/; {one.source}")
            continue
        run = plan_run(one, root, given)
        experiment = run.load()
        missing += [*list_missing_weights(experiment), *one.list_missing(root, experiment.data)]
        runs.append(run)
    return runs, left_out, list(dict.fromkeys(missing))


def plan_run(one: PublicSet, root: Path, given: argparse.Namespace) -> PaperRun:
    file = EXPERIMENTS / one.experiment
    settings = read_experiment(file, given.sets)
    named = find_weights(settings).items()
    moved = [f"perception.{key}={json.dumps(str(given.weights / path.name))}" for key, path in named]
    overrides = (f"data.root={json.dumps(str(root.resolve()))}", *moved, *given.sets)
    return PaperRun(one, file, RunFolder(given.runs / settings.name), overrides)


def find_weights(experiment: Experiment) -> dict[str, Path]:
    """The files that perception names, by their setting."""
    named = {"encoder": experiment.perception.encoder, "head": experiment.perception.head}
    return {key: Path(name) for key, name in named.items() if name and name != DEFAULT}


def list_missing_weights(experiment: Experiment) -> Iterator[str]:
    for key, path in find_weights(experiment).items():
        if not path.is_file():
            pull = f"tmapr weights pull anythermal --out {shlex.quote(str(path.parent))}"
            yield f"{path}: no such file; AnyThermal's {key} is expected there: {pull}"


def work_through(run: PaperRun, given: argparse.Namespace) -> int:
    """Every stage that has something to do; the exit code of the first that fails, else 0."""
    for verb, (is_done, list_words) in STAGES.items():
        if has_nothing_to_do(is_done, run):
            print(f"{run.of.title}: {verb} is done", flush=True)
            continue
        words = [verb, *map(str, list_words(run, given))]
        print(f"\n$ tmapr {shlex.join(words)}", flush=True)
        code = subprocess.run([sys.executable, "-m", "tmapr", *words], check=False).returncode
        if code:
            return code
    return 0


def find_device() -> str:
    """By name, since a GPU also multiplies with M₀ and K where it is named."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", nargs="?", default="")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where run folders and tables go")
    parser.add_argument("--weights", type=Path, default=Path("weights"), help="folder of AnyThermal's files")
    parser.add_argument("--device", default=find_device(), help="cpu | cuda, which a GPU is the default for")
    parser.add_argument("--set", dest="sets", action="append", default=[], metavar="PATH=VALUE", help="for every stage")
    parser.add_argument("--workers", type=int, help="of `tmapr ablate`")
    parser.add_argument("--frames", type=int, help="of `tmapr bench`")
    parser.add_argument("--updates", type=int, help="of `tmapr bench`")
    return parser.parse_args()


def main() -> int:
    given = parse_arguments()
    try:
        runs, left_out, missing = plan(given)
        if missing or not runs:
            print("\n".join([*missing, *left_out]), file=sys.stderr)
            return 2
        where = f"network in float32, classifier and references on {given.device}"
        print("\n".join([*left_out, *(f"{run.of.title}: {run.folder.path}; {where}" for run in runs)]), flush=True)
        for run in runs:
            if code := work_through(run, given):
                return code
        asked = {run.of.recordings: run.asked for run in runs}
        text = describe_tables([run.folder.path for run in runs], [run.latency for run in runs], asked, left_out)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    out = given.runs / "paper/tables.md"
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, text)
    print(f"\n{text}\n{out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
