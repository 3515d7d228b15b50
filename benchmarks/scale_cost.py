"""What a map costs: bytes of a reference, of a place and of the rest, and seconds of a core to make it.

`python benchmarks/scale_cost.py RUN` measures them on the map and the recordings of a run folder: its bytes, encoding,
learning in parts.
"""

import argparse
from itertools import islice
from pathlib import Path
from time import process_time

import numpy as np

from cluster import Clock, follow, load_references
from measure import Metric, conclude, show
from tmapr.artifacts.run import RunFolder
from tmapr.data.health import Detector
from tmapr.experiment import Experiment, open_data, read_experiment
from tmapr.perception.opening import open_perceiver
from tmapr.places.classifier import Classifier
from tmapr.places.sums import sum_part
from tmapr.retrieval.keypoints import BESIDE_MAP
from tmapr.system import Map

PART = 512
FRAMES = 64
WEIGHTS = "initial.ridge.weights"


def measure(experiment: Experiment, folder: RunFolder) -> list[Metric]:
    row, keypoint, place, rest = weigh(Map.load(folder.map, experiment.system), folder.map.with_name(BESIDE_MAP))
    learn, solve = time_learning(experiment, folder)
    return [
        Metric("a reference: descriptor, position and the like", row, "B"),
        Metric("a reference: keypoints", keypoint, "B"),
        Metric("a place: its column of W", place, "B"),
        Metric("a map: K, projections, what is small", rest / 1e6, "MB"),
        Metric("a frame encoded, keypoints among it", 1e3 * time_encoding(experiment), "ms"),
        Metric("a frame followed and summed", 1e3 * learn, "ms"),
        Metric("a map solved", solve, "s"),
    ]


def weigh(environment: Map, keypoints: Path) -> tuple[float, float, float, float]:
    """Bytes of a reference's row and keypoints, of a place's column of W, and of everything else."""
    contents, references = environment.contents(), len(environment.memory)
    rows = sum(array.nbytes for name, array in contents.items() if name.startswith("memory."))
    columns = contents[WEIGHTS].nbytes
    rest = sum(array.nbytes for array in contents.values()) - rows - columns
    beside = keypoints.stat().st_size if keypoints.exists() else 0
    return rows / references, beside / references, columns / contents[WEIGHTS].shape[1], rest


def time_encoding(experiment: Experiment) -> float:
    """Seconds of a core for a frame, its keypoints among them, from a file on disk."""
    sequence = open_data(experiment.data, experiment.data.references[0])
    perceiver = open_perceiver(experiment.perception, "cpu").with_inspection(Detector().inspect)
    frames = list(islice(sequence, 2 * FRAMES))
    for part in (frames[:FRAMES], frames[FRAMES:]):  # of which the first is to warm up
        began = process_time()
        for percept in perceiver.stream(part):
            if percept.keypoints:
                percept.keypoints()
        taken = process_time() - began
    return taken / len(frames[FRAMES:])


def time_learning(experiment: Experiment, folder: RunFolder) -> tuple[float, float]:
    """Seconds of a core to follow and to sum a frame, and to solve once."""
    places, clock = experiment.system.places, Clock()
    descriptors, positions = load_references(experiment, folder)
    many = [np.concatenate([each, each])[:PART] for each in (descriptors, positions)]
    classifier = Classifier.fit(places, descriptors, positions)
    parts = clock.time("follow", lambda: follow(classifier, *many, len(many[0])))
    projector = places.projection.load(classifier.projection_arrays())
    sum_part(places, projector, parts[0])  # compiled by now
    sums = clock.time("sum", lambda: [sum_part(places, projector, part) for part in parts])
    clock.time("solve", lambda: classifier.complete(sums))
    return (clock.taken["follow"] + clock.taken["sum"]) / len(many[0]), clock.taken["solve"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run folder whose recordings are on this machine")
    folder = RunFolder(parser.parse_args().run)
    found = measure(read_experiment(folder.experiment).with_head(folder), folder)
    conclude("scale_cost", show("coefficients", found), {"frames": FRAMES, "part": PART})


if __name__ == "__main__":
    main()
