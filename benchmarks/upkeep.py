"""Extending, joining and dropping beside mapping anew: CPU seconds, and how far K and W are apart.

    OMP_NUM_THREADS=1 python benchmarks/upkeep.py [--references N] [--width N]

A street with a reference every two metres at noon, made-up descriptors, and another one at dusk, half on the first.

The oracle learns the same references one by one, by the recursion, with the weights that the map has noted.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from jaxtyping import Bool

from tmapr.artifacts.percepts import Recording
from tmapr.places.classifier import Classifier
from tmapr.places.lessons import Lesson
from tmapr.places.repeating import forget_all
from tmapr.simulation.percepts import CONDITIONS, DescriptorField
from tmapr.system import Map, System, make_map
from tmapr.types import NANOSECONDS
from tmapr.upkeep.changing import MapOf, drop, extend, join
from tmapr.upkeep.parts import take_apart

Made = TypeVar("Made")
SYSTEM = System()
SPACING = 2.0
"""Metres between references."""


def drive(name: str, start: float, count: int, seed: int, width: int) -> Recording:
    """A street that begins so many metres along a line."""
    rng = np.random.default_rng(seed)
    positions = np.stack([start + SPACING * np.arange(count), np.zeros(count)], axis=1)
    looks = DescriptorField.from_seed(3, dimension=width).descriptors(positions, CONDITIONS[name], rng)
    return Recording.from_arrays(name, np.arange(count) * NANOSECONDS // 5, looks, truth=positions)


def timed(make: Callable[[], Made]) -> tuple[Made, float]:
    """What is made, and the seconds of processors that it took: others may use this machine, too."""
    began = time.process_time()
    made = make()
    return made, time.process_time() - began


def hold(environment: Map, *recordings: Recording) -> MapOf:
    names = tuple(recording.sequence for recording in recordings)
    return MapOf("-".join(names), environment, names, dict(zip(names, recordings, strict=True)))


def learn_plainly(made: Map, held: MapOf) -> Classifier:
    """One reference after the other with the weights noted, on the grid and the projections of the map."""
    part, rounded = take_apart(made, held.traverses).exactly(held.recordings)
    if rounded or part.weights is None:
        raise ValueError(f"{rounded or 'weights'} are not known exactly")
    untaught = forget_all(made.places, made.fitted, made.initial)
    classifier = Classifier.from_arrays(made.places, made.fitted, untaught)
    ghost = Classifier.from_arrays(made.places, made.fitted, untaught)
    rows = zip(part.traverses.descriptors, part.traverses.positions, part.weights, strict=True)
    for descriptor, position, weights in rows:
        # The ghost learns what it finds itself: of its lesson, the rows are those that U's steps give here, too.
        lesson = ghost.learn(descriptor, position)
        classifier.adopt(Lesson(lesson.rows, weights, *_rest(lesson)), descriptor)
    return classifier


def _rest(lesson: Lesson) -> tuple[object, ...]:
    return lesson.place, lesson.cell, lesson.name, lesson.after, lesson.descriptor, lesson.step


def measure(made: Map, plain: Classifier) -> tuple[float, float]:
    """The largest differences of K and of W."""
    ridge = made.classifier().ridge
    K, W = np.abs(ridge.covariance - plain.ridge.covariance), np.abs(ridge.weights - plain.ridge.weights)
    return float(K.max()), float(W.max())


def tell(what: str, references: int, seconds: float, made: Map, held: MapOf) -> None:
    apart = measure(made, learn_plainly(made, held))
    print(f"| {what} | {references} | {seconds:.1f} | {apart[0]:.1e} | {apart[1]:.1e} |", flush=True)


def choose(environment: Map, low: float, high: float) -> Bool[np.ndarray, " refs"]:
    x = environment.memory.positions[:, 0]
    return np.asarray((x >= low) & (x < high))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, default=1000)
    parser.add_argument("--width", type=int, default=2000)
    given = parser.parse_args(arguments)
    count, few = given.references, given.references // 5
    noon = drive("noon", 0.0, count, 1, given.width)
    dusk = drive("dusk", SPACING * (count - few // 2), few, 2, given.width)
    print("| what | references learned | CPU s | K apart by at most | W apart by at most |")
    print("|---|---:|---:|---:|---:|")
    make_map(SYSTEM, drive("dusk", 0.0, 20, 4, given.width))  # what is compiled is compiled now
    first, seconds = timed(lambda: make_map(SYSTEM, noon))
    tell("map", count, seconds, first, hold(first, noon))
    longer, seconds = timed(lambda: extend(SYSTEM, hold(first, noon), [dusk]).environment)
    both = hold(longer, noon, dusk)
    tell("extend", few, seconds, longer, both)
    apart = make_map(SYSTEM, dusk)
    joined, seconds = timed(lambda: join(SYSTEM, hold(first, noon), hold(apart, dusk)).environment)
    tell("join, another grid", few, seconds, joined, hold(joined, noon, dusk))
    gone = choose(longer, SPACING * count / 2, SPACING * (count / 2 + few))
    shorter, seconds = timed(lambda: drop(SYSTEM, both, gone, "a street").environment)
    tell(f"drop {int(gone.sum())}", int((~gone).sum()), seconds, shorter, hold(shorter, noon, dusk))
    rest = drop(SYSTEM, both, ~gone, "all but a street").environment
    whole, seconds = timed(lambda: join(SYSTEM, hold(shorter, noon, dusk), hold(rest, noon, dusk)).environment)
    tell("join, one grid", int(gone.sum()), seconds, whole, hold(whole, noon, dusk))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "map.npz"
        first.save(path)
        lessons = first.lessons
        size = sum(array.nbytes for array in lessons.arrays().values()) if lessons else 0
        print(f"\nmap.npz: {path.stat().st_size / 1e6:.1f} MB, of which lessons {size / 1e3:.1f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
