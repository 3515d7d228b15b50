"""Tables IV and V again: the paper's online half and ours on the same percepts, row by row, beside global retrieval.

    python benchmarks/ablations.py [--choosing] [--workers N] [--only NAME …] [--frames N]

Fifteen rendered worlds, five each of campus, city and valley, each in an odd style of its own and one pose head. It
is trained by day, in rain and in the weather of the labelled drive, and stops where it is best on a night of another
kind, on which each row also chooses its threshold. Mapped by day, adapted to the labelled drive, asked at night. The
perceiver is the default one; `paper` has the settings of experiments/paper, `ours` the defaults; no test is fitted to.
The ablation.json of each world is kept in benchmarks/rows/ablations/METHOD and not computed again.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from ablation_tables import show_loops, show_systems
from proving import ALIASED, CHOOSING, FRAMES, HOME, NIGHTS, REPORTING, TRAINING, Ground, plan_world, train_pose_head
from tmapr.artifacts.documents.studies import Ablation
from tmapr.artifacts.run import RunFolder
from tmapr.experiment import Data, Experiment, read_experiment
from tmapr.running.encoding import Encoding
from tmapr.simulation.record import write_dataset
from tmapr.simulation.traverse import Traverse
from tmapr.studies.ablation import Job, plan_jobs
from tmapr.studies.ablation_summary import summarize_ablation
from tmapr.system import System

METHODS = {
    "paper": read_experiment(HOME / "experiments/paper/ms2-campus.toml").system,
    "ours": System(),
}
ENCODED = ("day", "other", "dim", "night")


def list_traverses(ground: Ground, frames: int) -> list[Traverse]:
    """What is driven in a world; drives that other studies have are the same here."""
    weathers = {
        "day": ground.day,
        "day2": ground.day,
        "other": ground.other,
        "wet": "rain",
        "dim": next(night for night in NIGHTS if night != ground.night),
        "night": ground.night,
    }
    return [ground.plan_traverse(name, weather, frames=frames) for name, weather in weathers.items()]


def plan_experiment(ground: Ground, method: str, home: Path) -> tuple[Experiment, RunFolder]:
    """A world's experiment with one of the methods, and its run folder: the methods share percepts and pose head."""
    roles = Data(
        root=str(home / "data" / ground.name),
        train=("day", "day2", "other", "wet"),
        validation=("dim",),
        reference="day",
        adapt=("other",),
        test=("night",),
    )
    experiment = Experiment(name=ground.name, data=roles, training=TRAINING, system=METHODS[method])
    return experiment, RunFolder(home / "runs" / method / ground.name)


def make_percepts(ground: Ground, home: Path, frames: int) -> str:
    """Render, train and encode what is not there yet; the world's name."""
    experiment, folder = plan_experiment(ground, "ours", home)
    if not all(folder.percepts(name).exists() for name in ENCODED):
        write_dataset(Path(experiment.data.root), plan_world(ground), list_traverses(ground, frames))
        train_pose_head(experiment, folder)
        encoding = Encoding(experiment.with_head(folder), folder)
        for name in ENCODED:
            encoding.recording(name)
        encoding.publish()
    _, other = plan_experiment(ground, "paper", home)
    other.path.mkdir(parents=True, exist_ok=True)
    if not other.percepts_folder.exists():
        other.percepts_folder.symlink_to(folder.percepts_folder.resolve())
    return ground.name


def plan_rows(ground: Ground, method: str, home: Path) -> tuple[Experiment, RunFolder, dict[str, Job]]:
    """A method's rows in a world, all with the one head of that world."""
    experiment, folder = plan_experiment(ground, method, home)
    experiment = experiment.with_head(plan_experiment(ground, "ours", home)[1])
    return experiment, folder, plan_jobs(experiment, folder)


def gather_ablations(grounds: Sequence[Ground], rows: Path, home: Path, workers: int, frames: int) -> None:
    """Make the ablations that are not kept: all worlds at a time, then all rows of all worlds at a time."""
    wanted = [(ground, method) for ground in grounds for method in METHODS if not _path(rows, method, ground).exists()]
    worlds = list(dict.fromkeys(ground for ground, _ in wanted))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(make_percepts, ground, home, frames) for ground in worlds]):
            print(f"{done.result()}: percepts", flush=True)
        plans = {(ground, method): plan_rows(ground, method, home) for ground, method in wanted}
        missing = [job for plan in plans.values() for job in _list_missing(plan[2])]
        # Rows with local verification take longest: they come first, so that nobody waits for one in the end.
        missing.sort(key=lambda job: job.experiment.system.tracking.method != "route")
        for number, done in enumerate(as_completed([pool.submit(job.run) for job in missing]), start=1):
            done.result()
            print(f"{number} of {len(missing)} rows", flush=True)
    for (ground, method), plan in plans.items():
        summarize_ablation(*plan).save(_path(rows, method, ground))


def _list_missing(jobs: dict[str, Job]) -> Iterator[Job]:
    for job in {job.folder.path: job for job in jobs.values()}.values():
        if not job.is_done():
            yield job


def _path(rows: Path, method: str, ground: Ground) -> Path:
    return rows / method / f"{ground.name}.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--choosing", action="store_true", help="even styles, of which nothing is kept or reported")
    parser.add_argument("--workers", type=int, default=2, help="worlds or rows at a time")
    parser.add_argument("--only", nargs="*", help="some worlds")
    parser.add_argument("--frames", type=int, default=FRAMES, help="of a drive; fewer only to try it")
    given = parser.parse_args()
    home = HOME / "runs/ablations"
    rows = home / "rows" if given.choosing or given.frames != FRAMES else HOME / "benchmarks/rows/ablations"
    grounds = [each for each in (CHOOSING if given.choosing else REPORTING) if each.aliasing != ALIASED]
    grounds = [each for each in grounds if not given.only or each.name in given.only]
    gather_ablations(grounds, rows, home, given.workers, given.frames)
    found = {
        method: {ground: Ablation.load(_path(rows, method, ground), "make ablations") for ground in grounds}
        for method in METHODS
    }
    for family in (*dict.fromkeys(ground.family for ground in grounds), "all"):
        chosen = {
            method: [each for ground, each in worlds.items() if family in (ground.family, "all")]
            for method, worlds in found.items()
        }
        show_loops(family, chosen)
        show_systems(family, chosen)


if __name__ == "__main__":
    main()
