"""W after thousands of updates by the CPU, made where there is no GPU and compared where there is one.

Both machines must learn the same rows. So these are made of what has the same bits everywhere, uniform numbers and
single operations on them, and a checksum says whether they did. No triple is repeated: a pool of them is rolled by as
many columns as chance wants, which costs a copy, and in the end K has seen every direction.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from device_bench import WEIGHTS, Bench
from tmapr.device.ridge import DeviceRidge
from tmapr.device.triangle import UPDATES
from tmapr.places.analytic import Ridge
from tmapr.places.triangle import RANK

POOL = 256
RIDGE = 0.01
SEED = 22
KEPT_EVERY = 1_000
"""Updates after which what was learned is written down, for a run that goes on."""


@dataclass(frozen=True)
class Lessons:
    """So many lessons of three rows that show one place."""

    dim: int
    classes: int
    count: int

    @cached_property
    def pool(self) -> np.ndarray:
        """Triples of rectified rows of about unit length, alike among themselves."""
        rng = np.random.default_rng(SEED)
        rows = rng.random((POOL, 1, self.dim)) - 0.5 + 0.3 * (rng.random((POOL, RANK, self.dim)) - 0.5)
        return np.maximum(rows, 0.0) * np.sqrt(22.0 / self.dim)

    @cached_property
    def plan(self) -> np.ndarray:
        """Of each lesson the triple, the columns that it is rolled by, and the place."""
        return np.random.default_rng(SEED + 1).integers((POOL, self.dim, self.classes), size=(self.count, 3))

    @property
    def checksum(self) -> str:
        """Of all that is learned."""
        return hashlib.sha256(self.pool.tobytes() + self.plan.tobytes()).hexdigest()


def write_reference(path: Path, lessons: Lessons) -> None:
    """Learn the lessons on the CPU and keep W; an interrupted run goes on where it last wrote down its state."""
    kept = path.with_suffix(".state.npz")
    state, done = Ridge(lessons.dim, RIDGE, lessons.classes), 0
    if kept.exists():
        with np.load(kept) as arrays:
            state, done = Ridge.from_arrays(arrays), int(arrays["done"])
    identity, started, before = np.eye(lessons.classes), perf_counter(), done
    while done < lessons.count:
        triple, shift, place = lessons.plan[done]
        state.learn(np.roll(lessons.pool[triple], shift, axis=1), identity[[place] * RANK], np.array(WEIGHTS))
        done += 1
        if done % KEPT_EVERY == 0:
            np.savez(kept, **state.arrays(), done=done)
            print(f"{done} updates, {1e3 * (perf_counter() - started) / (done - before):.1f} ms each", flush=True)
    np.savez(path, weights=state.weights, count=lessons.count, checksum=lessons.checksum)
    kept.unlink(missing_ok=True)


def compare_with_reference(path: Path, bench: Bench) -> tuple[int, float]:
    """How many lessons the device learned of a reference's, and how far its W is from that of the CPU."""
    with np.load(path) as reference:
        expected, count, checksum = reference["weights"], int(reference["count"]), str(reference["checksum"])
    lessons = Lessons(*expected.shape, count)
    if lessons.checksum != checksum:
        raise ValueError(f"{path}: other rows were learned there ({checksum[:12]}, here {lessons.checksum[:12]})")
    pool, plan = torch.from_numpy(lessons.pool).to(bench.device), torch.from_numpy(lessons.plan).to(bench.device)
    state = DeviceRidge(lessons.dim, RIDGE, lessons.classes, bench.device)
    rows, place = pool[0].clone(), plan[0, 2].clone()
    weights = torch.zeros(RANK, dtype=torch.float64, device=bench.device)

    def learn() -> None:
        state.observe(rows)
        state.absorb_place(place, weights)
        state.flush(UPDATES)

    # Captured with rows of no weight, which teach nothing.
    update = bench.capture(learn)
    weights.copy_(torch.tensor(WEIGHTS, dtype=torch.float64))
    for turn, (triple, shift, _) in enumerate(lessons.plan.tolist()):
        rows.copy_(torch.roll(pool[triple], shift, 1))
        place.copy_(plan[turn, 2])
        update()
    state.check()
    return count, float(np.linalg.norm(state.weights - expected) / np.linalg.norm(expected))
