"""What places cost a frame on a device beside K: each part under a CUDA graph, by kernels and by torch.

`python benchmarks/device_places.py --device cuda` on a GPU; without one it runs on the CPU, where it says nothing about
speed. The last line is JSON. Both ways are compared with each other before they are timed.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from device_timing import Clock, Row
from device_world import World
from tmapr.device import condition, places
from tmapr.device.condition import DeviceCondition
from tmapr.device.places import DevicePlaces, DeviceScores, Observed

HIGHEST_DIFFERENCE = 1e-9
IN_A_ROW = 20


@dataclass
class Ways:
    """Places and a condition of one kind, and the parts of a frame that concern them."""

    places: DevicePlaces
    condition: DeviceCondition
    view: Tensor
    observed: Observed
    place: Tensor
    share: Tensor

    def conclude(self) -> DeviceScores:
        """Scores and log-likelihoods."""
        return self.places.conclude(self.view, self.observed)

    def learn(self) -> Tensor:
        """H's weight, U, G."""
        return self.places.learn(self.view, self.place, self.observed).weights

    def note(self) -> None:
        """The drive's mean with one more view."""
        self.condition.note(self.view, self.share)

    def list_results(self) -> Iterator[Tensor]:
        """All that a frame and its lesson leave."""
        scores = self.conclude()
        yield from (each for each in (scores.scores, scores.log_likelihoods) if each is not None)
        for _ in range(3):
            yield self.learn()
            self.note()
        yield from (self.condition.mean, self.condition.state, self.places.step)
        yield from (torch.as_tensor(array) for array in self.places.arrays().values())


@contextmanager
def by_torch() -> Iterator[None]:
    """What is made here leaves the kernels alone."""
    kept = [module.runs_kernels for module in (condition, places)]
    try:
        for module in (condition, places):
            module.runs_kernels = lambda _: False
        yield
    finally:
        for module, runs in zip((condition, places), kept, strict=True):
            module.runs_kernels = runs


def make_ways(world: World, device: torch.device) -> Ways:
    """What the world's places and condition know by now, once more."""
    learned = world.classifier.continue_from(world.classifier.arrays() | world.places.arrays())
    copied = DevicePlaces(world.settings, learned, world.ridge, device)
    shared = DeviceCondition(world.queries.shape[1], device)
    shared.restore(world.condition.arrays())
    shared.turn_to(2)
    view = world.queries[0].clone()
    seen = copied.observe(copied.spread(view))
    seen = seen._replace(logits=seen.logits.clone())
    one = torch.ones((), dtype=torch.float64, device=device)
    return Ways(copied, shared, view, seen, torch.tensor([3], device=device), one)


def compare(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> float:
    """The highest difference between two ways' results, relative where numbers are above 1."""
    pairs = ((a.double().cpu(), b.double().cpu()) for a, b in zip(ours, theirs, strict=True))
    return max(float(((a - b).abs() / b.abs().clamp_min(1.0)).max()) for a, b in pairs)


def measure(ways: Ways, clock: Clock) -> dict[str, Row]:
    """Every part."""
    parts: dict[str, Callable[[], object]] = {
        "conclude": ways.conclude,
        "learn": ways.learn,
        "note": ways.note,
    }
    return {name: _time_one(part, clock) | {"launches": clock.count_launches(part)} for name, part in parts.items()}


def _time_one(part: Callable[[], object], clock: Clock) -> dict[str, float]:
    """One of many in a row: a graph takes longer to begin than any of them."""
    taken = clock.time(lambda: [part() for _ in range(IN_A_ROW)])
    return {name: time / IN_A_ROW for name, time in taken.items()}


def main(given: Sequence[str] | None = None) -> None:
    """Print a table, and it all as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, number in (("dimension", 8448), ("places", 125), ("references", 1000), ("rounds", 200)):
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args(given)
    device = torch.device(options.device)
    with torch.inference_mode():
        world = World.make(options.references, options.dimension, options.places, 40, device)
        clock, report = Clock(device, options.rounds), {"device": options.device, "dimension": options.dimension}
        with by_torch():
            wanted = list(make_ways(world, device).list_results())
            slow = measure(make_ways(world, device), clock)
        ours = list(make_ways(world, device).list_results())
        again = list(make_ways(world, device).list_results())
        fast = measure(make_ways(world, device), clock)
    same_bits = all(torch.equal(a, b) for a, b in zip(ours, again, strict=True))
    difference = compare(ours, wanted)
    for name in fast:
        print(f"{name:<10} kernels {json.dumps(fast[name])}  torch {json.dumps(slow[name])}")
    report |= {"kernels": fast, "torch": slow, "difference": difference, "same_bits": same_bits}
    print(json.dumps(report))
    if not same_bits or difference > HIGHEST_DIFFERENCE:
        raise SystemExit("the kernels do something else than torch, or something else each time")


if __name__ == "__main__":
    main()
