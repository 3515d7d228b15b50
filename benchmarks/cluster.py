"""How far a map made in parts is from `tmapr map`, and what its steps cost.

`python benchmarks/cluster.py WORLD --out FOLDER` maps and runs the experiment of a rendered world twice, in turn and in
parts of some frames by processes. It prints how far K and W are from the recursion that is given the same rows and the
recorded weights, how far they are from mapping in turn, whose weights are others, what that does to the estimates, and
the seconds of each step. The last line is the same as JSON.
"""

import argparse
import platform
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import perf_counter, thread_time
from typing import TypeVar

import numpy as np

from measure import Metric, conclude, show
from tmapr.artifacts.arrays import digest, load_arrays, take
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.artifacts.trajectory import load_estimates
from tmapr.cluster.mapping import ClusterMapping
from tmapr.cluster.pool import Pool
from tmapr.experiment import Experiment, read_experiment
from tmapr.places.analytic import Ridge
from tmapr.places.classifier import Classifier, Places
from tmapr.places.projection import Projector
from tmapr.places.sums import Part, Sums, make_rows, sum_part
from tmapr.running.encoding import Encoding
from tmapr.running.running import map_experiment, run_experiment
from tmapr.traverses import list_mapped

TOLERANCE = 1e-8
Result = TypeVar("Result")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("world", type=Path, help="what `tmapr simulate` wrote")
    parser.add_argument("--out", type=Path, required=True, help="where run folders go; it is emptied")
    parser.add_argument("--frames", type=int, default=64, help="of a part")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    shutil.rmtree(given.out, ignore_errors=True)
    experiment = read_experiment(given.world / "experiment.toml")
    metrics = compare_maps(experiment, given.out, given.frames, given.processes)
    metrics += compare_recursion(experiment, RunFolder(given.out / "turn"), given.frames)
    metrics += compare_estimates(experiment, given.out)
    conclude("cluster", metrics, {"machine": platform.machine(), "frames": given.frames, "processes": given.processes})


def compare_maps(experiment: Experiment, out: Path, frames: int, processes: int) -> list[Metric]:
    began = perf_counter()
    map_experiment(experiment, RunFolder(out / "turn"))
    between = perf_counter()
    folder = RunFolder(out / "parts")
    with closing(Pool(processes)) as pool:
        ClusterMapping(experiment, folder, pool, frames=frames).make(Encoding(experiment, folder))
    ended = perf_counter()
    turn, parts = (load_arrays(out / run / "map.npz", "map", 1)[1] for run in ("turn", "parts"))
    others = [name for name in turn if not name.startswith("initial.ridge.") and name != "lessons.weights"]
    differing = [name for name in others if digest({name: turn[name]}) != digest({name: parts[name]})]
    K = [Ridge.from_arrays(take(each, "initial.ridge.")) for each in (turn, parts)]
    return show(
        "in parts, beside in turn",
        [
            Metric("arrays of the map that differ, K, W and weights aside", len(differing), "", bound=0),
            Metric("K, relative difference", relate(K[1].covariance, K[0].covariance), ""),
            Metric("W, relative difference", relate(K[1].weights, K[0].weights), ""),
            Metric("in turn, all of it", between - began, "s"),
            Metric(f"in parts by {processes} processes, all of it", ended - between, "s"),
        ],
    )


def compare_recursion(experiment: Experiment, folder: RunFolder, frames: int) -> list[Metric]:
    """K and W from sums, beside the recursion with the weights that these recorded, and beside learning in turn."""
    places, clock = experiment.system.places, Clock()
    references = load_references(experiment, folder)
    classifier = clock.time("fit", lambda: Classifier.fit(places, *references))
    parts = clock.time("follow", lambda: follow(classifier, *references, frames))
    projector = places.projection.load(classifier.projection_arrays())
    sum_part(places, projector, parts[0])  # compiled by now
    sums = clock.time("sum", lambda: [sum_part(places, projector, part) for part in parts])
    clock.time("solve", lambda: classifier.complete(sums))
    recursion = learn_recorded(places, projector, parts, sums, len(classifier.grid))
    in_turn, pairs = Classifier.fit(places, *references), list(zip(*references, strict=True))
    lessons = clock.time("learn", lambda: [in_turn.learn(*pair) for pair in pairs])
    weights = np.concatenate([each.weights for each in sums])
    apart = np.abs(weights - [lesson.weights for lesson in lessons])
    K, W = classifier.ridge.covariance, classifier.ridge.weights
    count, held = len(pairs), sum(array.nbytes for array in sums[0].arrays().values())
    return show(
        f"{count} references, {len(classifier.grid)} places, parts of {frames}",
        [
            Metric("K, given the recorded weights", relate(K, recursion.covariance), "", bound=TOLERANCE),
            Metric("W, given the recorded weights", relate(W, recursion.weights), "", bound=TOLERANCE),
            Metric("largest difference of a weight from that in turn", float(apart.max()), ""),
            Metric("to follow a frame (its place, U and G), in order", 1e3 * clock.taken["follow"] / count, "ms"),
            Metric("to sum a frame, anywhere", 1e3 * clock.taken["sum"] / count, "ms"),
            Metric("to learn a frame, in turn", 1e3 * clock.taken["learn"] / count, "ms"),
            Metric("to solve, once", clock.taken["solve"], "s"),
            Metric("to fit grid and projections, once", clock.taken["fit"], "s"),
            Metric("working files of a frame to be summed", 2 * references[0][0].nbytes / 1e3, "kB"),
            Metric("the sums of a part", held / 1e6, "MB"),
        ],
    )


class Clock:
    """What steps took of this thread's time."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}

    def time(self, step: str, work: Callable[[], Result]) -> Result:
        """What the work gives."""
        began = thread_time()
        found = work()
        self.taken[step] = thread_time() - began
        return found


def load_references(experiment: Experiment, folder: RunFolder) -> tuple[np.ndarray, np.ndarray]:
    """Descriptors and positions of the first traverse."""
    name = experiment.data.references[0]
    recording = Recording.load(folder.percepts(name))
    rows = list_mapped(name, recording.known, np.array([bool(each.fault) for each in recording.percepts]))
    return np.array([recording.percepts[row].descriptor for row in rows]), recording.truth[rows]


def follow(classifier: Classifier, descriptors: np.ndarray, positions: np.ndarray, frames: int) -> list[Part]:
    found = [classifier.follow(*each) for each in zip(descriptors, positions, strict=True)]
    steps = None if found[0][1] is None else np.array([step for _, step in found])
    places = np.array([place for place, _ in found])
    cuts = [slice(begin, begin + frames) for begin in range(0, len(places), frames)]
    return [Part(descriptors[cut], None if steps is None else steps[cut], places[cut]) for cut in cuts]


def learn_recorded(places: Places, projector: Projector, parts: list[Part], sums: list[Sums], classes: int) -> Ridge:
    recursion, targets = Ridge(projector.dimension, places.ridge, classes), np.eye(classes)
    for part, summed in zip(parts, sums, strict=True):
        for rows, weights, place in zip(make_rows(places, projector, part), summed.weights, part.places, strict=True):
            recursion.learn(rows, np.tile(targets[place], (len(rows), 1)), weights)
    return recursion


def compare_estimates(experiment: Experiment, out: Path) -> list[Metric]:
    """What both maps say of the test drives."""
    errors, tables = {}, {}
    for run in ("turn", "parts"):
        folder = RunFolder(out / run)
        run_experiment(experiment, folder)
        name = experiment.data.test[0]
        truth = Recording.load(folder.percepts(name))
        tables[run] = load_estimates(folder.estimates(name)).positions
        errors[run] = np.hypot(*(tables[run] - truth.truth)[truth.known].T)
    apart = np.hypot(*(tables["turn"] - tables["parts"]).T)
    medians = {run: float(np.median(each)) for run, each in errors.items()}
    tails = {run: float(np.quantile(each, 0.95)) for run, each in errors.items()}
    return show(
        "localized with either map",
        [
            *(Metric(f"median error, mapped in {run}", median, "m") for run, median in medians.items()),
            *(Metric(f"95 % of errors within, mapped in {run}", tail, "m") for run, tail in tails.items()),
            Metric("estimates apart, median", float(np.median(apart)), "m"),
            Metric("estimates apart, largest", float(apart.max()), "m"),
        ],
    )


def relate(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


if __name__ == "__main__":
    main()
