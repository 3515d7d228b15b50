"""What an update and a step cost: against their floor, against other ways, and after a long stream.

`python benchmarks/update.py` prints a table and, as its last line, the same as JSON. A missed bound is marked
MISSED and does not change the exit status: a benchmark reports, tests decide.

Every contender owns its arrays. A round passes through all of them, so that each finds its own out of the cache:
cold for everybody, equally. Where the triangle fits into the cache (2048), the floor's second trip finds it there.
"""

import os

os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP", "BLIS")})

import argparse
import platform
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count, islice

import numba
import numpy as np
import scipy
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from contenders import CLASSES, AsWritten, Floor, OnePass, Ours, Sample, SymmetricBlas, read, samples
from measure import Metric, conclude, in_turn, memory_gained, milliseconds, ratio, show, speed_kept
from tmapr.artifacts.percepts import Recording
from tmapr.localizer import Localizer
from tmapr.places.analytic import Ridge
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.simulation.route import block_loop, drive
from tmapr.system import Map, System, build, make_map
from tmapr.types import NANOSECONDS, Percept

LIFT = 2048
SMALL = 512
HOMES = 5
_MOST_SHARED = 2.6
"""Floors that observing and learning one frame may cost the classifier, with U, G and H."""

Label = tuple[Percept, Float[np.ndarray, "2"]]
Contenders = dict[str, Callable[[Sample], object]]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured; the bounds are the same for all efforts."""

    rounds: int = 40
    aged_small: int = 20_000
    aged_large: int = 3_000
    aged_steps: int = 3_000
    alternations: int = 200
    windows: int = 9
    steps: int = 200


EFFORTS = {
    "quick": Effort(8, aged_small=2_000, aged_large=200, aged_steps=300, alternations=60, windows=3, steps=50),
    "default": Effort(),
    "full": Effort(60, aged_small=100_000, aged_large=10_000, aged_steps=20_000, windows=15, steps=800),
}


def against_others(dim: int, rounds: int) -> Iterator[Metric]:
    """The update beside its floors and other ways of doing it."""
    ours, blas, written, floor = Ours(dim), SymmetricBlas(dim), AsWritten(dim), Floor(dim)
    contenders: Contenders = {"ours": ours, "floor": floor, "pass": OnePass(dim), "blas": blas, "written": written}
    inputs = islice(samples(dim, np.random.default_rng(dim)), rounds + 2)
    taken = in_turn(contenders, inputs)
    read_and_rewritten = 3 * floor.triangle.nbytes / 1e6
    yield Metric(f"d={dim}: update", milliseconds(taken, "ours"), "ms")
    yield Metric(f"d={dim}: floor", milliseconds(taken, "floor"), "ms")
    yield Metric(f"d={dim}: floor's bandwidth", read_and_rewritten / milliseconds(taken, "floor"), "GB/s", "higher")
    yield Metric(
        f"d={dim}: update / floor (triangle read, then rewritten)", ratio(taken, "ours", "floor"), "×", bound=2
    )
    yield Metric(f"d={dim}: update / one rewriting pass over triangle and W", ratio(taken, "ours", "pass"), "×")
    yield Metric(f"d={dim}: 3 (dsymv + dsyr) / update", ratio(taken, "blas", "ours"), "×", "higher", 2)
    yield Metric(f"d={dim}: eq. (2) in NumPy with W = KQ / update", ratio(taken, "written", "ours"), "×", "higher", 15)
    W = ours.ridge.weights
    differences = [np.abs(W - other.W).max() / np.abs(W).max() for other in (blas, written)]
    yield Metric(f"d={dim}: largest relative difference from their W", float(max(differences)), "", bound=1e-8)


def aged_update(dim: int, age: int, alternations: int) -> Iterator[Metric]:
    """An update of a state that has seen `age` of them beside a fresh one's, and the memory they left behind.

    Two equal states differ by up to 8 % for as long as they live, by where their pages happen to lie. So copies of the
    aged one are timed with as many fresh ones, each at home elsewhere.
    """
    stream = samples(dim, np.random.default_rng(0))
    aged = Ours(dim)
    growth = memory_gained(aged, stream, age)
    contenders: Contenders = {}
    for home in range(HOMES):
        contenders |= {f"aged {home}": Ours(dim, Ridge.from_arrays(aged.ridge.arrays())), f"fresh {home}": Ours(dim)}
    taken = in_turn(contenders, islice(stream, alternations // HOMES))
    ratios = [taken[f"aged {home}"] / taken[f"fresh {home}"] for home in range(HOMES)]
    yield Metric(f"d={dim}: update after {age} / fresh", float(np.median(ratios)), "×", bound=1.1)
    yield Metric(f"d={dim}: resident memory gained by {age} updates", growth, "MiB", bound=2)


def aged_step(street: "Street", age: int, alternations: int) -> Iterator[Metric]:
    """The same for a whole step, observe and learn."""
    stream = street.drives()
    aged, fresh = street.localizer(), street.localizer()
    growth = memory_gained(_stepping(aged), stream, age)
    taken = in_turn({"aged": _stepping(aged), "fresh": _stepping(fresh)}, islice(stream, alternations), warm_up=20)
    yield Metric(f"lift {SMALL}: step after {age} / fresh", ratio(taken, "aged", "fresh"), "×", bound=1.1)
    yield Metric(f"lift {SMALL}: resident memory gained by {age} steps", growth, "MiB", bound=2)


def beside_a_thread(dim: int, windows: int) -> Iterator[Metric]:
    """What a Python thread keeps of its speed beside updates without a pause.

    Such a thread hands the GIL over only every 5 ms, so work that asks for it often runs seldom and looks harmless:
    what one update takes from the thread says more than the share. Where the thread queued for a core much of the
    time, others had the cores, and none of this says much.
    """
    sample = next(samples(dim, np.random.default_rng(0)))
    ours, blas, large = Ours(dim), SymmetricBlas(dim), np.ones(2**25)
    works: dict[str, Callable[[], object]] = {
        "updates": lambda: ours(sample),
        "3 (dsymv + dsyr)": lambda: blas(sample),
        "a compiled loop": lambda: read(large),
    }
    kept = speed_kept(works, windows)
    for name, thread in kept.items():
        yield Metric(f"d={dim}: beside {name}", thread.share, "", "higher", 0.8 if name == "updates" else None)
    for name in ("updates", "3 (dsymv + dsyr)"):
        yield Metric(f"d={dim}: the thread's time lost to each of {name}", kept[name].lost_ms, "ms")
    yield Metric(f"d={dim}: the thread's time in the queue for a core", kept["updates"].queued, "")


def step_cost(street: "Street", frames: int) -> Iterator[Metric]:
    """The cost of a frame's two verbs on a map of ordinary size, in processor time.

    A percept that is learned is recognised first, in its own drive's light. An estimate was, when it was observed.
    """
    localizer, other, floor = street.localizer(), street.localizer(), Floor(LIFT)
    verbs: dict[str, Callable[[Label], object]] = {
        "observe": lambda label: localizer.observe(label[0]),
        "learn": lambda label: localizer.learn(*label),
        "observe + learn of the same frame": lambda label: other.learn(other.observe(label[0]), label[1]),
        "floor": floor,
    }
    taken = in_turn(verbs, islice(street.drives(), frames + 20), warm_up=20)
    for verb in list(verbs)[:-1]:
        for percentile in (50, 95):
            yield Metric(f"{verb} p{percentile}", milliseconds(taken, verb, percentile), "ms")
        yield Metric(f"{verb} / floor of an update", ratio(taken, verb, "floor"), "×")


def shared_cost(street: "Street", frames: int) -> Iterator[Metric]:
    """What the place classifier costs where a frame is observed, learned, or both: then K and W are read once.

    Each contender has a classifier of its own. The first of them never learns, as most robots do; the others learn
    every frame, and "apart" learns another one than it observed, as it is where labels come late.
    """
    observing, learning, both, apart = (street.environment.classifier() for _ in range(4))
    earlier = deque([next(street.drives())])

    def observe_and_learn(label: Label) -> None:
        both.predict(label[0].descriptor)
        both.learn(label[0].descriptor, label[1])

    def learn_late(label: Label) -> None:
        earlier.append(label)
        percept, position = earlier.popleft()
        apart.predict(label[0].descriptor)
        apart.learn(percept.descriptor, position)

    contenders: dict[str, Callable[[Label], object]] = {
        "observe": lambda label: observing.predict(label[0].descriptor),
        "learn": lambda label: learning.learn(label[0].descriptor, label[1]),
        "observe + learn of the same frame": observe_and_learn,
        "observe + learn of the frame before": learn_late,
        "floor": Floor(LIFT),
    }
    taken = in_turn(contenders, islice(street.drives(), frames + 20), warm_up=20)
    for name in list(contenders)[:-1]:
        bound = _MOST_SHARED if name.endswith("same frame") else None
        yield Metric(f"places: {name} / floor of an update", ratio(taken, name, "floor"), "×", bound=bound)
    ends = [classifier.arrays() for classifier in (learning, both)]
    differing = sum(one.tobytes() != other.tobytes() for one, other in zip(*(e.values() for e in ends), strict=True))
    yield Metric("places: arrays that differ between observed and not", differing, "", bound=0)


def _stepping(localizer: Localizer) -> Callable[[Label], object]:
    def step(label: Label) -> None:
        localizer.observe(label[0])
        localizer.learn(*label)

    return step


@dataclass(frozen=True, slots=True)
class Street:
    """A simulated map, and its drive again as often as wanted.

    Later drives repeat its positions at its hour, so that a fresh and an aged state have the same places and a
    search takes the same branches with both.
    """

    system: System
    environment: Map
    recording: Recording

    @classmethod
    def simulated(cls, references: int, width: int, lift: int) -> "Street":
        """A reference every two metres, around a block."""
        rng = np.random.default_rng(1)
        length, speed = 2.0 * references, 20.0
        way = drive(block_loop(0.3 * length, 0.2 * length), speed, rng)
        truth, stamps = way.positions[:references], way.stamps[:references]
        waves, phases = 0.1 * rng.normal(size=(2, width)), rng.uniform(0.0, 2 * np.pi, width)
        seen = np.cos(truth @ waves + phases) + 0.3 * rng.normal(size=(len(truth), width))
        head = truth + 2.0 * rng.normal(size=truth.shape)
        recording = Recording.from_arrays("street", stamps, seen, truth=truth, positions=head)
        system = System(places=Places(projection=Projection(dimension=lift)))
        return cls(system, make_map(system, recording), recording)

    def localizer(self) -> Localizer:
        """A fresh one."""
        return build(self.system, self.environment)

    def drives(self) -> Iterator[Label]:
        """Percepts with noise of their own and their true positions, lap after lap, a frame every 0.1 s."""
        rng = np.random.default_rng(2)
        percepts = self.recording.percepts
        for frame in count():
            row = frame % len(percepts)
            seen = percepts[row].descriptor
            noisy = seen + 0.2 * rng.normal(size=seen.size) / np.sqrt(seen.size)
            stamp = percepts[-1].stamp + (frame + 1) * NANOSECONDS // 10
            percept = replace(percepts[row], stamp=stamp, descriptor=noisy / np.linalg.norm(noisy))
            yield percept, self.recording.truth[row]


def measured(dims: list[int], effort: Effort) -> Iterator[Metric]:
    """Everything, section by section."""
    for dim in dims:
        yield from show(f"One update of rank 3, {CLASSES} classes", against_others(dim, effort.rounds))
    aged = [*aged_update(SMALL, effort.aged_small, effort.alternations)]
    aged += aged_update(LIFT, effort.aged_large, effort.alternations)
    aged += aged_step(Street.simulated(300, 128, SMALL), effort.aged_steps, effort.alternations)
    yield from show("After a long stream", aged)
    yield from show("Share of its speed a Python thread keeps", beside_a_thread(LIFT, effort.windows))
    street = Street.simulated(1000, 768, LIFT)
    places = len(street.localizer().classifier.grid)
    title = f"One frame: 1000 references, {places} places, descriptor 768, lift {LIFT}, all extensions"
    yield from show(title, step_cost(street, effort.steps))
    longer = Street.simulated(1080, 768, LIFT)
    title = f"The place classifier's share of it, {len(longer.localizer().classifier.grid)} places"
    yield from show(title, shared_cost(longer, effort.steps))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what an update and a step cost.")
    parser.add_argument("--dims", default="2048,4096", help="dimensions of K, separated by commas")
    parser.add_argument("--rounds", type=int, help="rounds of the comparison with other ways")
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument("--quick", dest="effort", action="store_const", const="quick", help="about 20 s")
    effort.add_argument("--full", dest="effort", action="store_const", const="full", help="several minutes")
    parser.set_defaults(effort="default")
    given = parser.parse_args()
    chosen = EFFORTS[given.effort]
    chosen = replace(chosen, rounds=given.rounds or chosen.rounds)
    with threadpool_limits(limits=1):
        metrics = list(measured([int(dim) for dim in given.dims.split(",")], chosen))
    versions = {"python": platform.python_version()} | {m.__name__: m.__version__ for m in (np, scipy, numba)}
    conclude(
        "update", metrics, {"effort": given.effort, "processor": platform.machine(), "cores": os.cpu_count()} | versions
    )


if __name__ == "__main__":
    main()
