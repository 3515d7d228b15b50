"""What the update of K and W costs on a GPU: against the memory's floor, as the paper writes it, and beside the CPU.

`python benchmarks/device_update.py --out update.json` on a machine with a GPU, a minute; `--device cpu --dim 128` shows
that it runs. Times are the device's own, between events, of captured graphs. A part that fails says why, and the others
go on; the file is rewritten after every part.

W after 10 000 updates takes a CPU ten minutes at d = 8448. They need no GPU: `--write-reference weights.npz` on a
machine without one, then `--reference weights.npz` on the other.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import perf_counter
from traceback import format_exc

import numpy as np
import torch
from torch import Tensor

from device_bench import WEIGHTS, Bench, Frames
from device_reference import RIDGE, Lessons, compare_with_reference, write_reference
from measure import Metric, show
from tmapr.device.ridge import DeviceRidge
from tmapr.device.triangle import SLOTS, UPDATES, Triangle, Tuning
from tmapr.places.analytic import Ridge
from tmapr.places.triangle import RANK

POOL = 64
PATIENCE = 20.0
"""Seconds that the CPU may take of a machine that is paid for its GPU."""
TUNINGS = {
    "2 strips of 16, 4 stages": Tuning(),
    "2 strips of 16, 4 stages, chunks of 4": Tuning(chunk=4),
    "2 strips of 16, 4 stages, chunks of 8": Tuning(chunk=8),
    "2 strips of 16, 4 stages, chunks of 16": Tuning(chunk=16),
    "2 strips of 16, 3 stages": Tuning(stages=3),
    "1 strip of 16, 4 stages, 128 registers": Tuning(times=1, registers=128),
    "4 strips of 16, 4 stages, 240 registers": Tuning(times=4, registers=240),
    "2 strips of 8, 2 warps, 4 stages": Tuning(strip=8, warps=2),
}
FLUSHES = {
    "8 tiles, 2 stages": Tuning(),
    "4 tiles, 2 stages": Tuning(run=4),
    "16 tiles, 2 stages": Tuning(run=16),
    "8 tiles, 1 stage, 168 registers": Tuning(flush_stages=1, flush_registers=168),
    "2 tiles, 1 stage, 168 registers": Tuning(run=2, flush_stages=1, flush_registers=168),
}


def bandwidth(bench: Bench) -> float:
    """Bytes a second of a large copy, read and written."""
    size = 2**27 if bench.on_gpu else 2**22
    source, target = (torch.zeros(size, dtype=torch.float64, device=bench.device) for _ in range(2))
    taken = bench.time(lambda: target.copy_(source), 20)
    return 16 * size / (1e-3 * float(np.median(taken)))


def measure_floor(bench: Bench) -> Iterator[Metric]:
    speed = bandwidth(bench)
    yield Metric("copy bandwidth", speed / 1e9, "GB/s", "higher")
    read = 1e3 * bench.triangle / speed
    yield Metric("floor: the triangle read", read, "ms")
    yield Metric("floor: the triangle read and written", 2 * read, "ms")
    moved = bench.triangle * (1 + 2 / UPDATES) + 3 * 8 * bench.dim * bench.classes
    yield Metric("floor: read, a sixteenth of rewriting; W read twice, written", 1e3 * moved / speed, "ms")


def _make_triangle(bench: Bench) -> tuple[Tensor, Tensor, Tensor]:
    """Some tiles, symmetric where they are diagonal, and updates that wait, some of them to be added."""
    panels = -(-bench.dim // 64)
    make = partial(torch.randn, dtype=torch.float64, device=bench.device)
    blocks = make(panels * (panels + 1) // 2, 64, 64)
    diagonal = torch.arange(panels, device=bench.device) * torch.arange(3, panels + 3, device=bench.device) // 2
    blocks[diagonal] += blocks[diagonal].transpose(1, 2)
    signs = torch.tensor([1, 1, -1, 1, -1, 1, 1, 0] * (UPDATES // 8), dtype=torch.float64, device=bench.device)
    return blocks.view(-1), make(SLOTS, panels * 64), signs.repeat_interleave(RANK)


def measure_multiply(bench: Bench, ranking: dict[str, float]) -> Iterator[Metric]:
    tiles, pending, signs = _make_triangle(bench)
    rows = torch.randn_like(pending[:RANK])
    products = []
    for name, tuning in TUNINGS.items():
        product = torch.zeros_like(rows)
        passes = Triangle(bench.dim, bench.device, tuning)
        multiply = partial(passes.multiply, tiles, pending, signs, rows, product)
        try:
            taken = bench.time(bench.capture(multiply), 200 if bench.on_gpu else 5)
        except Exception:
            print(f"  {name}: {format_exc(limit=-2)}")
            continue
        again = product.clone()
        multiply()
        ranking[name] = float(np.median(taken))
        yield Metric(f"multiply: {name}", ranking[name], "ms")
        if not torch.equal(again, product):
            yield Metric(f"multiply: {name}: bits that differ between two runs", 1.0, "", bound=0.0)
        products.append(product)
    worst = max(float((other - products[0]).abs().max() / products[0].abs().max()) for other in products)
    yield Metric("multiply: largest difference between these", worst, "", bound=1e-12)
    expected = _multiply_densely(bench, tiles, pending, signs, rows)
    error = float((products[0] - expected).abs().max() / expected.abs().max())
    yield Metric("multiply: largest difference from a dense product", error, "", bound=1e-12)


def _multiply_densely(bench: Bench, tiles: Tensor, pending: Tensor, signs: Tensor, rows: Tensor) -> Tensor:
    width = pending.shape[1]
    panels = width // 64
    dense = torch.zeros(panels, 64, panels, 64, dtype=torch.float64, device=bench.device)
    lines, columns = torch.tril_indices(panels, panels, device=bench.device)
    blocks = tiles.view(-1, 64, 64)
    dense[columns, :, lines] = blocks.transpose(1, 2)
    dense[lines, :, columns] = blocks
    return rows @ dense.view(width, width) - (rows @ pending.T * signs) @ pending


def measure_flush(bench: Bench) -> Iterator[Metric]:
    tiles, pending, signs = _make_triangle(bench)
    counters = torch.zeros(3, dtype=torch.int32, device=bench.device)
    kept = signs.clone()

    def wait_again() -> None:
        signs.copy_(kept)
        counters.fill_(UPDATES)

    for name, tuning in FLUSHES.items():
        passes = Triangle(bench.dim, bench.device, tuning)
        flush = bench.capture(partial(passes.flush, tiles, pending, signs, counters, UPDATES))
        taken = bench.time(flush, 100 if bench.on_gpu else 3, wait_again)
        yield Metric(f"flush: {name}", float(np.median(taken)), "ms")
    counters.zero_()
    # The GPU is kept busy meanwhile, or the time would be that of the host's next call.
    taken = bench.time(flush, 100 if bench.on_gpu else 3, lambda: tiles.mul_(1.0))
    yield Metric("flush: nothing to do yet", float(np.median(taken)), "ms")


def measure_parts(bench: Bench) -> Iterator[Metric]:
    state, frames = DeviceRidge(bench.dim, RIDGE, bench.classes, bench.device), Frames(bench, bench.dim, 2)
    observe = bench.capture(lambda: state.observe(frames.rows))
    absorb = bench.capture(lambda: state.absorb_place(frames.place, frames.weights))
    times = 200 if bench.on_gpu else 5
    yield Metric("observe: X K, X W, leverage", float(np.median(bench.time(observe, times))), "ms")
    yield Metric("absorb", float(np.median(bench.time(absorb, times, state.flush))), "ms")


def measure_updates(bench: Bench, ranking: dict[str, float]) -> Iterator[Metric]:
    """With the tuning that is the default, and with the one that just read fastest."""
    default = next(iter(TUNINGS))
    for name in dict.fromkeys((default, min(ranking or [default], key=lambda name: ranking.get(name, 0.0)))):
        try:
            yield from _measure_stream(bench, name)
        except Exception:
            print(f"  {name}: FAILED {format_exc(limit=-2)}")


def _measure_stream(bench: Bench, name: str) -> Iterator[Metric]:
    state = DeviceRidge(bench.dim, RIDGE, bench.classes, bench.device, TUNINGS[name])
    frames = Frames(bench, bench.dim, POOL)
    update = bench.capture(partial(frames.learn, state))
    bench.time(update, 20, frames.advance)
    taken = bench.time(update, bench.updates, frames.advance)
    state.check()
    third = len(taken) // 3
    mean, worst = (0.15, 0.5) if bench.on_gpu and bench.dim == 8448 else (None, None)
    label = "update" if TUNINGS[name] == Tuning() else f"update ({name})"
    yield Metric(f"{label}: mean of {len(taken)}, flushes included", float(taken.mean()), "ms", bound=mean)
    yield Metric(f"{label}: median", float(np.median(taken)), "ms")
    yield Metric(f"{label}: P99", float(np.percentile(taken, 99)), "ms")
    yield Metric(f"{label}: worst", float(taken.max()), "ms", bound=worst)
    yield Metric(f"{label}: last third / first third", float(taken[-third:].mean() / taken[:third].mean()), "×")


def measure_paper(bench: Bench) -> Iterator[Metric]:
    """Eq. (2) in float64 as it is written, and with W updated recursively, by torch's own kernels."""
    K = torch.eye(bench.dim, dtype=torch.float64, device=bench.device) / RIDGE
    Q = torch.zeros(bench.dim, bench.classes, dtype=torch.float64, device=bench.device)
    frames, identity = Frames(bench, bench.dim, 2), torch.eye(RANK, dtype=torch.float64, device=bench.device)
    Y = torch.nn.functional.one_hot(frames.place, bench.classes).double().expand(RANK, -1)
    X, Y = frames.weights.sqrt()[:, None] * frames.rows, frames.weights.sqrt()[:, None] * Y

    def as_written() -> Tensor:
        gain = K @ X.T
        smaller = K - gain @ torch.linalg.inv(identity + X @ gain) @ (X @ K)
        return smaller @ (Q + X.T @ Y)

    def recursively() -> Tensor:
        gain = K @ X.T
        innovation = torch.linalg.inv(identity + X @ gain)
        K.addmm_(gain, innovation @ gain.T, alpha=-1)
        return Q.add_(gain @ (innovation @ (Y - X @ Q)))

    for name, work in (("as written, W = K Q", as_written), ("W recursive, K in place", recursively)):
        taken = bench.time(work, 30 if bench.on_gpu else 3)
        yield Metric(f"eq. (2) in eager torch, {name}", float(np.median(taken[1:])), "ms")


def check_weights(bench: Bench, dim: int, count: int) -> Iterator[Metric]:
    """W beside the CPU's after so many updates of the same rows."""
    ours, theirs = DeviceRidge(dim, RIDGE, bench.classes, bench.device), Ridge(dim, RIDGE, bench.classes)
    given = bench.rows(min(count, 1_000 * 1024 // dim + 1), dim, seed=1)
    places = np.random.default_rng(2).integers(bench.classes, size=count)
    theirs.learn(given[0], np.eye(bench.classes)[[0] * RANK], np.zeros(RANK))  # compiled before it is timed
    started, done = perf_counter(), 0
    while done < count and perf_counter() - started < PATIENCE:
        theirs.learn(given[done % len(given)], np.eye(bench.classes)[[places[done]] * RANK], np.array(WEIGHTS))
        done += 1
    yield Metric(f"d={dim}: an update on one core", 1e3 * (perf_counter() - started) / done, "ms")
    rows, weights = torch.from_numpy(given).to(bench.device), torch.tensor(WEIGHTS, dtype=torch.float64)
    weights = weights.to(bench.device)
    for turn, place in enumerate(torch.from_numpy(places[:done]).to(bench.device)):
        ours.observe(rows[turn % len(rows)])
        ours.absorb_place(place, weights)
        ours.flush(UPDATES)
    ours.check()
    error = float(np.linalg.norm(ours.weights - theirs.weights) / np.linalg.norm(theirs.weights))
    yield Metric(f"d={dim}: W beside the CPU's after {done} updates", error, "", bound=1e-9)


def check_reference(bench: Bench, path: Path) -> Iterator[Metric]:
    count, error = compare_with_reference(path, bench)
    yield Metric(f"W beside the CPU's after {count} updates", error, "", bound=1e-9)


def measured(bench: Bench, wanted: list[str], out: Path | None, reference: Path | None = None) -> None:
    """Part by part."""
    ranking: dict[str, float] = {}
    parts: dict[str, tuple[str, Callable[[], Iterator[Metric]]]] = {
        "floor": ("The memory", partial(measure_floor, bench)),
        "multiply": (f"One read of the triangle, {SLOTS} rows pending", partial(measure_multiply, bench, ranking)),
        "flush": ("Rewriting the triangle", partial(measure_flush, bench)),
        "updates": ("The whole update, one graph", partial(measure_updates, bench, ranking)),
        "parts": ("Its parts", partial(measure_parts, bench)),
        "paper": ("As the paper writes it", partial(measure_paper, bench)),
        "long": ("Against the CPU, long", partial(check_weights, bench, bench.check_dim, bench.check_long)),
        "check": ("Against the CPU", partial(check_weights, bench, bench.dim, bench.check)),
    }
    if reference:
        parts["reference"] = (f"Against {reference.name}", partial(check_reference, bench, reference))
    found: dict[str, object] = {"benchmark": "device_update", "torch": torch.__version__, "dim": bench.dim}
    found |= {"classes": bench.classes, "device": str(bench.device)}
    if bench.on_gpu:
        found["gpu"] = torch.cuda.get_device_name(bench.device)
    metrics: list[Metric] = []
    for name in wanted or parts:
        title, part = parts[name]
        started = perf_counter()
        try:
            metrics += show(title, part())
        except Exception:
            print(f"{title}: FAILED\n{format_exc(limit=-4)}", flush=True)
        print(f"  ({perf_counter() - started:.1f} s)", flush=True)
        if out:
            found["metrics"] = [asdict(metric) | {"holds": metric.holds} for metric in metrics]
            out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the update of K and W on a GPU.")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dim", type=int, default=8448)
    parser.add_argument("--classes", type=int, default=125)
    parser.add_argument("--updates", type=int, default=4_000)
    parser.add_argument("--check", type=int, default=200, help="updates compared with the CPU's at --dim")
    parser.add_argument("--check-dim", type=int, default=1024)
    parser.add_argument("--check-long", type=int, default=10_000, help="updates compared with the CPU's at --check-dim")
    parser.add_argument("--out", type=Path, help="a JSON file")
    parser.add_argument("--reference", type=Path, help="W of the CPU after --check-long updates, to be compared with")
    parser.add_argument("--write-reference", type=Path, help="make that file, without a GPU, and do nothing else")
    names = "floor multiply flush updates parts paper long check reference"
    parser.add_argument("parts", nargs="*", help=f"of {names}; all by default")
    given = parser.parse_args()
    if given.write_reference:
        write_reference(given.write_reference, Lessons(given.dim, given.classes, given.check_long))
        return
    bench = Bench(
        torch.device(given.device),
        given.dim,
        given.classes,
        given.updates,
        given.check,
        given.check_dim,
        given.check_long,
    )
    with torch.inference_mode():
        measured(bench, given.parts, given.out, given.reference)


if __name__ == "__main__":
    main()
