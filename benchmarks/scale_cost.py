"""What a map costs, from a corridor to a continent: bytes, seconds of a core, and money.

`python benchmarks/scale_cost.py RUN` measures the coefficients on the map and the recordings of a run folder (encoding,
learning in parts, shards), takes those of a robot's frame from benchmarks/rows/scale/search.json, and extrapolates.
Seconds are those of one core; what is beyond the million references of those rows was not tried. Lengths and prices
are assumptions: other prices by `--core-hour` and `--gigabyte-month`.
"""

import argparse
import json
from dataclasses import dataclass
from itertools import islice
from math import floor, log10
from pathlib import Path
from tempfile import TemporaryDirectory
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
from tmapr.shards.writing import write_shards
from tmapr.store.folder import FolderStore
from tmapr.system import Map

ROWS = Path(__file__).parent / "rows/scale/search.json"
KILOMETRES = {"corridor": 0.2, "campus": 10.0, "city": 2e3, "country": 6.5e5, "continent": 6e6}
"""Assumed ways."""
PER_KILOMETRE = 1000.0
"""References, one a metre, as in the rows."""
SMALL, LARGE = 10_000, 1_000_000
"""References of the rows that are read."""
CODE = 256
"""Bytes: a bit a dimension."""
PART = 512
FRAMES = 64


@dataclass(frozen=True)
class Coefficients:
    """Of a reference, of a place, and of a whole map: bytes and seconds of a core."""

    row_bytes: float
    keypoint_bytes: float
    place_bytes: float
    map_bytes: float
    encode: float
    learn: float
    solve: float
    places: float
    """Of a reference."""
    frame_ms: float
    lost_least: float
    lost_seconds: float
    """Of the smallest map, and of every further reference."""


def measure(experiment: Experiment, folder: RunFolder) -> Coefficients:
    row, keypoint, place, rest = weigh_shards(Map.load(folder.map, experiment.system))
    learn, solve = time_learning(experiment, folder)
    rows = json.loads(ROWS.read_text())["references"]
    smallest, largest = (rows[str(size)] for size in (SMALL, LARGE))
    return Coefficients(
        *(row, keypoint, place, rest, time_encoding(experiment), learn, solve),
        largest["places"] / LARGE,
        largest["frame_p50_ms"],
        smallest["lost_p50_s"],
        (largest["lost_p50_s"] - smallest["lost_p50_s"]) / (LARGE - SMALL),
    )


def weigh_shards(environment: Map) -> tuple[float, float, float, float]:
    """Bytes of a reference's row and keypoints, of a place's column of W, and of everything else."""
    with TemporaryDirectory() as folder:
        manifest = write_shards(environment, FolderStore(Path(folder)))
    references, places = len(environment.memory), environment.memory.place_count
    keypoints = sum(shard.keypoints.bytes for shard in manifest.shards if shard.keypoints)
    columns = sum(shard.weights.bytes for shard in manifest.shards)
    rows = sum(shard.bytes for shard in manifest.shards)
    rest = sum(size for _, size in manifest.objects()) - keypoints - columns - rows
    return rows / references, keypoints / references, columns / places, rest


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


def say(number: float) -> str:
    """Three digits that count, and no exponent."""
    if number == 0:
        return "0"
    decimals = 2 - floor(log10(abs(number)))
    return f"{round(number, decimals):,.{max(decimals, 0)}f}"


def extrapolate(found: Coefficients, core_hour: float, gigabyte_month: float) -> str:
    """The table in Markdown."""
    lines = ["| | " + " | ".join(KILOMETRES) + " |", "|---|" + "---|" * len(KILOMETRES)]
    table: dict[str, list[str]] = {}
    for kilometres in KILOMETRES.values():
        references = kilometres * PER_KILOMETRE
        each = found.row_bytes + found.keypoint_bytes + found.places * found.place_bytes
        gigabytes = (references * each + found.map_bytes) / 1e9
        hours = (references * (found.encode + found.learn) + found.solve) / 3600
        for name, told in {
            "way, km": f"{kilometres:,g}" if kilometres < 1 else f"{kilometres:,.0f}",
            "references": f"{references:,.0f}",
            "shards, GB": say(gigabytes),
            "mapping, hours of a core": say(hours),
            "… of these encoding": f"{100 * references * found.encode / (3600 * hours):.0f} %",
            "mapping, dollars": say(hours * core_hour),
            "shards in a store, dollars a month": say(gigabytes * gigabyte_month),
            "a frame within reach, ms of a core": f"{found.frame_ms:.1f}",
            "codes for a robot that is lost, GB": say(references * CODE / 1e9),
            "to find it anywhere, s": say(found.lost_least + references * found.lost_seconds),
        }.items():
            table.setdefault(name, []).append(told)
    return "\n".join([*lines, *(f"| {name} | {' | '.join(told)} |" for name, told in table.items())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run folder whose recordings are on this machine")
    parser.add_argument("--core-hour", type=float, default=0.04, help="dollars")
    parser.add_argument("--gigabyte-month", type=float, default=0.02, help="dollars")
    given = parser.parse_args()
    folder = RunFolder(given.run)
    found = measure(read_experiment(folder.experiment).with_head(folder), folder)
    metrics = show(
        "coefficients",
        [
            Metric("a reference: descriptor, position and the like", found.row_bytes, "B"),
            Metric("a reference: keypoints", found.keypoint_bytes, "B"),
            Metric("a place: its column of W", found.place_bytes, "B"),
            Metric("a map: K, projections, what is small", found.map_bytes / 1e6, "MB"),
            Metric("a frame encoded, keypoints among it", 1e3 * found.encode, "ms"),
            Metric("a frame followed and summed", 1e3 * found.learn, "ms"),
            Metric("a map solved", found.solve, "s"),
        ],
    )
    print(extrapolate(found, given.core_hour, given.gigabyte_month))
    conclude("scale_cost", metrics, {"core_hour": given.core_hour, "gigabyte_month": given.gigabyte_month})


if __name__ == "__main__":
    main()
