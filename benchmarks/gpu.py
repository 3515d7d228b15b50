"""Whether a GPU learns and says what the CPU does; how long it takes is `tmapr bench --device cuda`.

    python benchmarks/gpu.py learn --write w.npz                  # W of 10 000 updates by the CPU, in ten minutes
    python benchmarks/gpu.py learn --reference w.npz              # the same by the GPU, and how far W is from it
    python benchmarks/gpu.py verdicts runs/demo [RUN …]           # every verdict along the drives of run folders

Rows of `learn` have the same bits on every machine: uniform numbers and single operations on them. A pool of triples is
rolled by as many columns as chance wants, so no lesson is repeated. Percepts of `verdicts` are those that the folders
keep; each drive begins from the state that adaptation left, and each estimate is learned at its own position, by both.
`--device cpu` runs the GPU's code by torch on the CPU.
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from measure import Metric, conclude, show
from tmapr.artifacts.run import RunFolder
from tmapr.experiment import read_experiment
from tmapr.gpu.backend import GpuBackend
from tmapr.localizer import Localizer
from tmapr.places.analytic import Ridge
from tmapr.places.matrices import MakeMatrices, TiledMatrices
from tmapr.places.triangle import RANK
from tmapr.running.encoding import Encoding
from tmapr.running.finished import FinishedRun
from tmapr.system import resume
from tmapr.types import Estimate, Percept

DIM, CLASSES, POOL, RIDGE, SEED = 8448, 125, 256, 0.01, 22
WEIGHTS = np.array([1.0, 0.35, 0.35])
MAX_ERROR, MIN_SHARE = 1e-9, 0.999


def learn(make_matrices: MakeMatrices, updates: int, dim: int) -> Ridge:
    """So many lessons of three rows that show one place."""
    rng = np.random.default_rng(SEED)
    rows = rng.random((POOL, 1, dim)) - 0.5 + 0.3 * (rng.random((POOL, RANK, dim)) - 0.5)
    pool, places = np.maximum(rows, 0.0) * np.sqrt(22.0 / dim), np.eye(CLASSES)
    ridge = Ridge(dim, RIDGE, CLASSES, make_matrices)
    for triple, columns, place in np.random.default_rng(SEED + 1).integers((POOL, dim, CLASSES), size=(updates, 3)):
        ridge.learn(np.roll(pool[triple], columns, axis=1), np.tile(places[place], (RANK, 1)), WEIGHTS)
    return ridge


def compare_learning(given: argparse.Namespace) -> list[Metric]:
    """W, and how long its updates took with the rows made on the way."""
    make = TiledMatrices if given.write else GpuBackend(given.device).make_matrices
    start = perf_counter()
    weights = learn(make, given.updates, given.dim).weights
    taken = 1e3 * (perf_counter() - start) / given.updates
    found = [Metric(f"an update of {given.updates}, with the making of its rows", taken, "ms")]
    if given.write:
        np.savez_compressed(given.write, weights=weights)
    if given.reference:
        wanted = np.load(given.reference)["weights"]
        error = float(np.linalg.norm(weights - wanted) / np.linalg.norm(wanted))
        found.append(Metric("W from the CPU's, relative", error, "", bound=MAX_ERROR))
    return found


def follow(localizer: Localizer, percepts: tuple[Percept, ...]) -> list[Estimate]:
    """The answers, each learned right away."""
    answers = []
    for percept in percepts:
        answers.append(localizer.observe(percept))
        if not percept.fault and answers[-1].recognition:
            localizer.learn(answers[-1], answers[-1].position, scored=False)
    return answers


def compare_run(folder: Path, device: str) -> dict[str, list[tuple[Estimate, Estimate]]]:
    """Of each scored drive, what the device says of its frames beside what the CPU says."""
    home, run = RunFolder(folder), FinishedRun.load(RunFolder(folder))
    experiment = read_experiment(home.experiment, ()).with_head(home)
    encoding, backends = Encoding(experiment, home, "cpu", trust="everything"), (GpuBackend(device), None)
    found = {}
    for name in experiment.data.scored:
        percepts = encoding.recording(name).percepts
        answers = (
            follow(resume(experiment.system, run.environment, home.state, backend=backend), percepts)
            for backend in backends
        )
        found[f"{folder.name} {name}"] = list(zip(*answers, strict=True))
    return found


def compare_verdicts(given: argparse.Namespace) -> list[Metric]:
    """Verdicts, statuses and references that are the same."""
    drives = {name: pairs for folder in given.runs for name, pairs in compare_run(folder, given.device).items()}
    for name, pairs in drives.items():
        statuses = sum(mine.status == other.status for mine, other in pairs)
        apart = max(float(np.hypot(*(mine.position - other.position))) for mine, other in pairs)
        print(f"{name}: {statuses} of {len(pairs)} statuses the same, positions at most {apart:.2g} m apart")
    pairs = [pair for each in drives.values() for pair in each]
    same = sum(mine.verdict.reason == other.verdict.reason for mine, other in pairs)
    return [Metric(f"share of {len(pairs)} verdicts that are the same", same / len(pairs), "", "higher", MIN_SHARE)]


def main() -> None:
    """One of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    kinds = parser.add_subparsers(required=True)
    learning = kinds.add_parser("learn")
    learning.add_argument("--updates", type=int, default=10_000)
    learning.add_argument("--dim", type=int, default=DIM)
    learning.add_argument("--write", type=Path)
    learning.add_argument("--reference", type=Path)
    learning.set_defaults(compare=compare_learning)
    verdicts = kinds.add_parser("verdicts")
    verdicts.add_argument("runs", nargs="+", type=Path)
    verdicts.set_defaults(compare=compare_verdicts)
    given = parser.parse_args()
    metrics = show("beside the CPU", given.compare(given))
    conclude("gpu", metrics, {"device": given.device, "torch": torch.__version__})


if __name__ == "__main__":
    main()
